"""The distinct texts of a span, in an order of their own, and who said each."""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import numpy as np

from clearwell.flow.digest.drafting.refrains import find_refrains
from clearwell.records import DigestCandidate, Vector
from clearwell.text.normalisation import normalise

UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One text and the rows that have it, but for case, spaces and marks."""

    rows: tuple[DigestCandidate, ...]
    said: Mapping[UUID, str]
    """Of each row what it says, as it stands there, without refrains."""
    embedding: Vector

    @property
    def content(self) -> str:
        return self.said[self.rows[0].log_id]

    @property
    def agents(self) -> frozenset[str]:
        return frozenset(map(speaker, self.rows))


def speaker(row: DigestCandidate) -> str:
    """Who said it, whatever the case and width of the name. Rows that name nobody may all be of one: one voice."""
    return UNKNOWN if row.agent_id is None else f"agent {_folded(row.agent_id)}"


def session(row: DigestCandidate) -> str:
    """Where it was said. Rows that name no session count as one."""
    return UNKNOWN if row.session_id is None else f"session {row.session_id}"


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().strip()


def collect_distinct(candidates: Sequence[DigestCandidate], similarity: Callable[[float], float]) -> list[Text]:
    """Texts in the order of their smallest row id, whatever the order of the candidates. Needs a vector a text."""
    found: dict[str, list[DigestCandidate]] = {}
    for row in sorted(candidates, key=lambda one: one.log_id):
        found.setdefault(normalise(row.content), []).append(row)
    having = [(rows, vector) for rows in found.values() if (vector := _vector(rows)) is not None and vector.any()]
    if not having:
        return []
    common = find_refrains([rows[0].content for rows, _ in having], unit([vector for _, vector in having]), similarity)
    return [
        Text(rows=tuple(rows), said={row.log_id: common.without(row.content) for row in rows}, embedding=vector)
        for rows, vector in having
    ]


def own_words(candidates: Sequence[DigestCandidate], similarity: Callable[[float], float]) -> dict[UUID, str]:
    """What those rows say that have a refrain: their vectors are of more than that."""
    return {
        row.log_id: text.said[row.log_id]
        for text in collect_distinct(candidates, similarity)
        for row in text.rows
        if text.said[row.log_id] != row.content.strip()
    }


def _vector(rows: Sequence[DigestCandidate]) -> Vector | None:
    return next((row.embedding for row in rows if row.embedding is not None), None)


def unit(vectors: Sequence[Vector]) -> Vector:
    """One row a vector, each of length 1."""
    rows = np.stack(vectors).astype(np.float32, copy=False)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return rows
