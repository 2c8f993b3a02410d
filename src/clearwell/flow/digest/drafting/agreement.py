"""What the members of a cluster make of each other, pair by pair: who says the same, and who contradicts whom.

Texts of one frame that hardly ever agree ("finished step 4 of …", "finished step 9 of …") are a series: they look
alike, come from everybody, and nobody confirms anything. Agreement is measured among texts of one frame; texts in
different words, or in two languages, say nothing about it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from clearwell.comparison import Features
from clearwell.flow.digest.drafting.disputes import VALUES, measure_frame
from clearwell.flow.digest.drafting.oppositions import Opposition
from clearwell.ports import StatementComparison
from clearwell.records import Relation

SERIES: Final = 0.3
"""Least share of agreement among pairs of one frame."""
FRAMED: Final = 0.5
"""Share of words in the same order from which two texts have one frame."""
MOST: Final = 40
"""Texts of a cluster that are compared pair by pair, the most central: 780 pairs take a quarter of a second."""
_TERM: Final = "conflict_term"
"""Of two words in one place, often both are right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The pairs of a cluster, as places in the texts given."""

    groups: tuple[int, ...]
    """For each text the first text that says the same, its own place where it is the first."""
    opposed: tuple[Opposition, ...]
    share: float
    """Share of pairs of one frame that agree; a half where no two have a frame in common."""
    confirmed: bool
    """Whether two voices say the same, be it in other words."""
    ways: int
    """In how many ways, that do not agree, one frame is filled."""

    @property
    def series(self) -> bool:
        return self.share < SERIES and self.ways > 2


def find_agreement(
    read: Sequence[Features],
    voices: Sequence[frozenset[str]],
    similarity: Callable[[int, int], float],
    comparison: StatementComparison,
) -> Agreement:
    """Compare texts, the most central first; ``similarity`` is the calibrated one of two of them."""
    same: list[tuple[int, int]] = []
    framed: list[tuple[int, int]] = []
    opposed: list[Opposition] = []
    alone = sum(len(some) * (len(some) - 1) // 2 for some in voices)
    agreeing = compared = alone
    for one, other in combinations(range(min(MOST, len(read))), 2):
        found = comparison.compare(read[one].raw, read[other].raw, similarity(one, other))
        frame = measure_frame(read[one], read[other])
        conflict = found.relation is Relation.CONFLICT
        weight = len(voices[one]) * len(voices[other])
        if found.relation is Relation.SAME:
            # A text that denies and one that denies in other words may agree; neither decides who stands on a side.
            same += [(one, other)] if read[one].negations == read[other].negations else []
            agreeing += weight
        if found.relation is Relation.SAME or (frame >= FRAMED and (conflict or found.reason == "different_fact")):
            framed.append((one, other))
            compared += weight
        if conflict and found.reason != _TERM and (frame >= FRAMED or found.reason in VALUES):
            opposed.append(Opposition(of=one, against=other, reason=found.reason, params=dict(found.params)))
    for one in range(MOST, len(read)):
        opposed += _find_opposed(one, read, similarity, comparison)
    groups = _join(len(read), same, apart=[(one.of, one.against) for one in opposed])
    return Agreement(
        groups=groups,
        opposed=tuple(one for one in opposed if groups[one.of] != groups[one.against]),
        share=agreeing / compared if compared else 0.5,
        confirmed=agreeing > 0,
        ways=_count_ways(groups, _join(len(read), [*same, *framed])),
    )


def _find_opposed(
    one: int,
    read: Sequence[Features],
    similarity: Callable[[int, int], float],
    comparison: StatementComparison,
) -> Iterable[Opposition]:
    """What a text that is less central says against the central text whose frame is nearest to its own."""
    frames = [measure_frame(read[one], read[other]) for other in range(MOST)]
    nearest = max(range(MOST), key=lambda other: frames[other])
    if frames[nearest] < FRAMED or read[one].keys == read[nearest].keys:
        return
    found = comparison.compare(read[one].raw, read[nearest].raw, similarity(one, nearest))
    if found.relation is Relation.CONFLICT and found.reason != _TERM:
        yield Opposition(of=one, against=nearest, reason=found.reason, params=dict(found.params))


def _join(count: int, pairs: Sequence[tuple[int, int]], *, apart: Sequence[tuple[int, int]] = ()) -> tuple[int, ...]:
    """The first member of the group of each place. Pairs in one group are joined, unless that joins two that are apart.

    One text that two sides seem to agree with does not make them one.
    """
    first = list(range(count))
    for one, other in pairs:
        low, high = sorted((first[one], first[other]))
        if low != high and not any({first[left], first[right]} == {low, high} for left, right in apart):
            first = [low if place == high else place for place in first]
    return tuple(first)


def _count_ways(groups: Sequence[int], frames: Sequence[int]) -> int:
    found: dict[int, set[int]] = {}
    for group, frame in zip(groups, frames, strict=True):
        found.setdefault(frame, set()).add(group)
    return max(map(len, found.values()), default=0)
