"""The distinct texts of a span, in an order of their own, and who said each."""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

import numpy as np

from clearwell.flow.digest.drafting.refrains import Refrains, find_refrains
from clearwell.records import DigestCandidate, Vector
from clearwell.text.normalisation import normalise

UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One text and the statements that have it, but for case, spaces and marks, in the order of time."""

    said: tuple[DigestCandidate, ...]
    content: str
    """What it says, without refrains."""
    embedding: Vector

    @property
    def agents(self) -> frozenset[str]:
        return frozenset(map(speaker, self.said))

    @property
    def voices(self) -> frozenset[str]:
        """Who said it of their own accord: whoever repeats a text word for word in one session quotes it.

        A fact check that only repeats the claim is no voice.
        """
        first: dict[str, str] = {}
        for statement in self.said:
            if statement.repeats:
                continue
            first.setdefault(session(statement), speaker(statement))
        return frozenset(first.values())


def speaker(statement: DigestCandidate) -> str:
    """Who said it, whatever the case and width of the name. Rows that name nobody may all be of one: one voice."""
    return UNKNOWN if statement.agent_id is None else f"agent {_fold(statement.agent_id)}"


def session(statement: DigestCandidate) -> str:
    """Where it was said. Rows that name no session count as one."""
    return UNKNOWN if statement.session_id is None else f"session {statement.session_id}"


def _fold(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().strip()


def collect_distinct(candidates: Sequence[DigestCandidate], similarity: Callable[[float], float]) -> list[Text]:
    """Texts in the order of their first statements, whatever the order of the candidates. Needs a vector a text."""
    found: dict[str, list[DigestCandidate]] = {}
    for one in sorted(candidates, key=lambda one: (one.occurred_at, one.place)):
        found.setdefault(normalise(one.text), []).append(one)
    having = [(said, vector) for said in found.values() if (vector := _vector(said)) is not None and vector.any()]
    if not having:
        return []
    common = find_refrains([said[0].text for said, _ in having], unit([vector for _, vector in having]), similarity)
    return [_make_text(_mark_repeats(said), vector, common) for said, vector in having]


def _mark_repeats(said: Sequence[DigestCandidate]) -> Sequence[DigestCandidate]:
    """The statements of one text. Evidence in the words of an agent repeats what the agent claims."""
    if all(one.evidence for one in said):
        return said
    return [replace(one, repeats=True) if one.evidence else one for one in said]


def _make_text(said: Sequence[DigestCandidate], vector: Vector, common: Refrains) -> Text:
    content = common.without(said[0].text)
    if content != said[0].text:
        said = [replace(one, headline=common.without(one.headline)) for one in said]
    return Text(said=tuple(said), content=content, embedding=vector)


def find_own_words(
    candidates: Sequence[DigestCandidate], similarity: Callable[[float], float]
) -> dict[tuple[UUID, int], str]:
    """What those statements say that have a refrain, by their places: their vectors are of more than that."""
    return {
        one.place: text.content
        for text in collect_distinct(candidates, similarity)
        for one in text.said
        if text.content != one.text
    }


def _vector(said: Sequence[DigestCandidate]) -> Vector | None:
    return next((one.embedding for one in said if one.embedding is not None), None)


def unit(vectors: Sequence[Vector]) -> Vector:
    """One row a vector, each of length 1."""
    rows = np.stack(vectors).astype(np.float32, copy=False)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return rows
