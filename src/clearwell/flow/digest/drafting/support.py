"""Who stands behind a cluster, one author's near-copies counted once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from clearwell.flow.digest.drafting.texts import Text, session, speaker
from clearwell.records import DigestCandidate, Support, Vector

FLOOD_ROWS: Final = 3
FLOOD_SHARE: Final = 0.7
"""Rows of one speaker, and their share of a cluster, from which it is a flood."""
UNSTATED: Final = 0.5
"""The confidence of a row that states none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSupport:
    """The support of a cluster, by whom, and how sure they were."""

    support: Support
    speakers: Mapping[str, int]
    """Voices of each speaker: what it said in words that are not near-copies of each other."""
    rows: Mapping[str, int]
    confidence: float

    @property
    def main(self) -> str | None:
        """Whose rows are more than half of it."""
        total = sum(self.rows.values())
        return next((name for name, count in self.rows.items() if 2 * count > total), None)

    @property
    def flooded(self) -> bool:
        """Whether one speaker said nearly all of it, many times."""
        most = max(self.rows.values(), default=0)
        return most >= FLOOD_ROWS and most >= FLOOD_SHARE * sum(self.rows.values())


def measure_standing(
    texts: Sequence[Text],
    vectors: Vector,
    *,
    copy: float,
    reliability: Mapping[str, float] | None = None,
) -> ClusterSupport:
    """Count voices; ``copy`` is the cosine from which two texts of one author are copies."""
    said: dict[str, list[tuple[int, DigestCandidate]]] = {}
    for at, text in enumerate(texts):
        for row in text.rows:
            said.setdefault(speaker(row), []).append((at, row))
    voices = {name: _voices(rows, vectors, copy) for name, rows in sorted(said.items())}
    heard = [row for rows in voices.values() for row in rows]
    support = Support(
        agents=len(voices),
        sessions=len(set(map(session, heard))),
        days=len({row.occurred_at.date() for row in heard}),
        rows=sum(len(rows) for rows in said.values()),
    )
    sure = [_confidence((row for _, row in rows), (reliability or {}).get(_agent(rows), 1.0)) for rows in said.values()]
    return ClusterSupport(
        support=support,
        speakers={name: len(rows) for name, rows in voices.items()},
        rows={name: len(rows) for name, rows in sorted(said.items())},
        confidence=float(np.mean(sure)) if sure else 0.0,
    )


def _voices(rows: Sequence[tuple[int, DigestCandidate]], vectors: Vector, copy: float) -> list[DigestCandidate]:
    """The first row of each thing that is not a near-copy of what the same author said before."""
    kept: list[tuple[int, DigestCandidate]] = []
    for at, row in sorted(rows, key=lambda one: (one[1].occurred_at, one[1].log_id)):
        if not kept or float((vectors[[place for place, _ in kept]] @ vectors[at]).max()) < copy:
            kept.append((at, row))
    return [row for _, row in kept]


def _agent(rows: Sequence[tuple[int, DigestCandidate]]) -> str:
    return rows[0][1].agent_id or ""


def _confidence(rows: Iterable[DigestCandidate], reliability: float) -> float:
    stated = [UNSTATED if row.confidence is None else min(1.0, max(0.0, row.confidence)) for row in rows]
    return reliability * sum(stated) / len(stated)
