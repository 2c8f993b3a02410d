"""Count who supports statements. Near-copies by one author count once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from clearwell.flow.digest.drafting.texts import Text, session, speaker
from clearwell.records import DigestCandidate, Support, Vector, count_keys

FLOOD_ROWS: Final = 3
FLOOD_SHARE: Final = 0.7
"""Minimum number of rows of one speaker, and their minimum share of a cluster, that make the cluster repetitive.

The floods of ``bench/results/digest.md`` and ``bench/results/flood.md`` measure them."""
UNSTATED: Final = 0.5
"""The confidence of a row that does not state one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSupport:
    """The support of a cluster, in total and by speaker."""

    counts: Support
    voices: Mapping[str, int]
    """The number of statements of each speaker that are not near-copies of each other."""
    rows: Mapping[str, int]
    """The number of rows of each speaker."""

    @property
    def dominant_agent(self) -> str | None:
        """The agent with more than half of the rows, or None."""
        total = sum(self.rows.values())
        return next((name for name, count in self.rows.items() if 2 * count > total), None)

    @property
    def is_repetitive(self) -> bool:
        """Whether nearly all rows are repetitions by one speaker."""
        most = max(self.rows.values(), default=0)
        return most >= FLOOD_ROWS and most >= FLOOD_SHARE * sum(self.rows.values())


def measure_support(texts: Sequence[Text], vectors: Vector, *, copy: float) -> ClusterSupport:
    """Measure the support of texts. Two texts of one author with a cosine of at least ``copy`` are near-copies.

    A fact check that only repeats the claim does not count.
    """
    said: dict[str, list[tuple[int, DigestCandidate]]] = {}
    for at, text in enumerate(texts):
        for one in text.said:
            if one.repeats:
                continue
            said.setdefault(speaker(one), []).append((at, one))
    voices = {name: _find_voices(statements, vectors, copy) for name, statements in sorted(said.items())}
    heard = [one for statements in voices.values() for one in statements]
    counts = Support(
        agents=len(voices),
        sessions=len(set(map(session, heard))),
        days=len({one.occurred_at.date() for one in heard}),
        rows=len({one.log_id for statements in said.values() for _, one in statements}),
        keys=count_keys(one.captured_by for one in heard),
    )
    return ClusterSupport(
        counts=counts,
        voices={name: len(statements) for name, statements in voices.items()},
        rows={name: len({one.log_id for _, one in statements}) for name, statements in sorted(said.items())},
    )


def count_support(statements: Iterable[DigestCandidate]) -> Support:
    """Return the support of statements, near-copies included."""
    heard = [one for one in statements if not one.repeats]
    return Support(
        agents=len(set(map(speaker, heard))),
        sessions=len(set(map(session, heard))),
        days=len({one.occurred_at.date() for one in heard}),
        rows=len({one.log_id for one in heard}),
        keys=count_keys(one.captured_by for one in heard),
    )


def measure_confidence(statements: Iterable[DigestCandidate], reliability: Mapping[str, float]) -> float:
    """Return the mean confidence of the agents with known reliability, weighted by it; 1 if there are none.

    The stated confidence of an agent is ignored until a reviewer has decided on insights based on its outputs.
    """
    stated: dict[str, list[float]] = {}
    for one in statements:
        if one.agent_id is not None and one.agent_id in reliability:
            confidence = UNSTATED if one.confidence is None else min(1.0, max(0.0, one.confidence))
            stated.setdefault(one.agent_id, []).append(confidence * reliability[one.agent_id])
    return float(np.mean([np.mean(some) for some in stated.values()])) if stated else 1.0


def _find_voices(
    statements: Sequence[tuple[int, DigestCandidate]], vectors: Vector, copy: float
) -> list[DigestCandidate]:
    """Return the statements of one author that are not near-copies of an earlier one."""
    kept: list[tuple[int, DigestCandidate]] = []
    for at, one in sorted(statements, key=lambda pair: (pair[1].occurred_at, pair[1].place)):
        if not kept or float((vectors[[place for place, _ in kept]] @ vectors[at]).max()) < copy:
            kept.append((at, one))
    return [one for _, one in kept]
