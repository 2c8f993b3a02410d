"""The distinct texts of a span, in an order of their own, and who said each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clearwell.flow.normal import normalised
from clearwell.records import DigestCandidate, Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One text and the rows that say it, but for case, spaces and marks."""

    rows: tuple[DigestCandidate, ...]
    embedding: Vector

    @property
    def content(self) -> str:
        return self.rows[0].content

    @property
    def agents(self) -> frozenset[str]:
        return frozenset(map(speaker, self.rows))


def speaker(row: DigestCandidate) -> str:
    """Who said it. A row that names no agent speaks for its session: two such rows of one session are one voice."""
    return f"agent {row.agent_id}" if row.agent_id is not None else f"session {row.session_id}"


def distinct(candidates: Sequence[DigestCandidate]) -> list[Text]:
    """Texts in the order of their smallest row id, whatever the order of the candidates. Needs a vector a text."""
    found: dict[str, list[DigestCandidate]] = {}
    for row in sorted(candidates, key=lambda one: one.log_id):
        found.setdefault(normalised(row.content), []).append(row)
    texts = (
        (rows, next((row.embedding for row in rows if row.embedding is not None), None)) for rows in found.values()
    )
    return [Text(rows=tuple(rows), embedding=vector) for rows, vector in texts if vector is not None and vector.any()]


def unit(vectors: Sequence[Vector]) -> Vector:
    """One row a vector, each of length 1."""
    rows = np.stack(vectors).astype(np.float32, copy=False)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return rows
