"""Who stands behind statements, one author's near-copies counted once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from clearwell.flow.digest.drafting.texts import Text, session, speaker
from clearwell.records import DigestCandidate, Support, Vector, count_keys

FLOOD_ROWS: Final = 3
FLOOD_SHARE: Final = 0.7
"""Statements of one speaker, and their share of a cluster, from which it is a flood."""
UNSTATED: Final = 0.5
"""The confidence of a row that states none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSupport:
    """The support of a cluster, and by whom."""

    support: Support
    voices: Mapping[str, int]
    """What each speaker said in words that are not near-copies of each other."""
    rows: Mapping[str, int]

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


def measure_support(texts: Sequence[Text], vectors: Vector, *, copy: float) -> ClusterSupport:
    """Count voices; ``copy`` is the cosine from which two texts of one author are copies.

    A fact check that only repeats the claim is not counted.
    """
    said: dict[str, list[tuple[int, DigestCandidate]]] = {}
    for at, text in enumerate(texts):
        for one in text.said:
            if one.repeats:
                continue
            said.setdefault(speaker(one), []).append((at, one))
    voices = {name: _find_voices(statements, vectors, copy) for name, statements in sorted(said.items())}
    heard = [one for statements in voices.values() for one in statements]
    support = Support(
        agents=len(voices),
        sessions=len(set(map(session, heard))),
        days=len({one.occurred_at.date() for one in heard}),
        rows=len({one.log_id for statements in said.values() for _, one in statements}),
        keys=count_keys(one.captured_by for one in heard),
    )
    return ClusterSupport(
        support=support,
        voices={name: len(statements) for name, statements in voices.items()},
        rows={name: len({one.log_id for _, one in statements}) for name, statements in sorted(said.items())},
    )


def count_support(statements: Iterable[DigestCandidate]) -> Support:
    """The support of statements that are taken as they are."""
    heard = [one for one in statements if not one.repeats]
    return Support(
        agents=len(set(map(speaker, heard))),
        sessions=len(set(map(session, heard))),
        days=len({one.occurred_at.date() for one in heard}),
        rows=len({one.log_id for one in heard}),
        keys=count_keys(one.captured_by for one in heard),
    )


def measure_confidence(statements: Iterable[DigestCandidate], reliability: Mapping[str, float]) -> float:
    """How sure those agents were whose statements people have decided on before; 1 where there are none.

    What an agent states of its own confidence says nothing as long as nobody has checked it.
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
    """The first statement of each thing that is not a near-copy of what the same author said before."""
    kept: list[tuple[int, DigestCandidate]] = []
    for at, one in sorted(statements, key=lambda pair: (pair[1].occurred_at, pair[1].place)):
        if not kept or float((vectors[[place for place, _ in kept]] @ vectors[at]).max()) < copy:
            kept.append((at, one))
    return [one for _, one in kept]
