"""Compare the texts of a cluster pair by pair: which of them say the same, and which contradict each other.

Two texts have the same frame if they share most words in the same order. Texts with one frame that hardly ever agree
("finished step 4 of …", "finished step 9 of …") are a series: they look alike and come from many agents, but none
confirms another. Agreement is measured only among texts with the same frame; texts in different words or languages do
not count for or against it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from clearwell.comparison import Features
from clearwell.flow.digest.drafting.disputes import FRAMED, SIBLINGS, VALUES, measure_frame
from clearwell.flow.digest.drafting.oppositions import Opposition
from clearwell.ports import StatementComparison
from clearwell.records import Comparison, Relation

SERIES: Final = 0.3
"""A cluster in which a smaller share of the pairs with one frame agrees can be a series."""
MOST: Final = 40
"""Number of texts, the most central of a cluster, that are compared pair by pair. 780 pairs take 0.25 seconds."""
_NAME: Final = "conflict_name"
_TERM: Final = "conflict_term"
"""Not counted as opposition: where two texts differ in one word, often both are right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The result of comparing the texts of a cluster. Texts are given by index."""

    groups: tuple[int, ...]
    """For each text, the index of the first text that says the same: its own index if it is the first."""
    opposed: tuple[Opposition, ...]
    share: float
    """Share of the pairs with one frame that agree; 0.5 if no two texts have the same frame."""
    confirmed: bool
    """Whether two voices say the same, possibly in different words."""
    ways: int
    """The largest number of different statements with one frame."""

    @property
    def is_series(self) -> bool:
        """Whether the texts fill one frame in more than two ways, and few of them agree."""
        return self.share < SERIES and self.ways > 2


def find_agreement(
    read: Sequence[Features],
    voices: Sequence[frozenset[str]],
    similarity: Callable[[int, int], float],
    comparison: StatementComparison,
) -> Agreement:
    """Compare the texts of a cluster, given the most central first.

    ``similarity`` returns the calibrated similarity of two texts, given by index.
    """
    same: list[tuple[int, int]] = []
    framed: list[tuple[int, int]] = []
    opposed: list[Opposition] = []
    alone = sum(len(some) * (len(some) - 1) // 2 for some in voices)
    agreeing = compared = alone
    for one, other in combinations(range(min(MOST, len(read))), 2):
        found = comparison.compare(read[one].raw, read[other].raw, similarity(one, other))
        frame = measure_frame(read[one], read[other])
        if frame >= SIBLINGS and found.relation is Relation.DIFFERENT:
            found = _compare_framed(read[one], read[other], comparison) or found
        conflict = found.relation is Relation.CONFLICT
        weight = len(voices[one]) * len(voices[other])
        if found.relation is Relation.SAME:
            # Texts with different numbers of negations can agree, but do not decide which texts are on one side.
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
    """Yield the conflict of a less central text with the central text whose frame is most like its own, if any."""
    frames = [measure_frame(read[one], read[other]) for other in range(MOST)]
    nearest = max(range(MOST), key=lambda other: frames[other])
    if frames[nearest] < FRAMED or read[one].keys == read[nearest].keys:
        return
    found = comparison.compare(read[one].raw, read[nearest].raw, similarity(one, nearest))
    if found.relation is Relation.CONFLICT and found.reason != _TERM:
        yield Opposition(of=one, against=nearest, reason=found.reason, params=dict(found.params))


def _compare_framed(one: Features, other: Features, comparison: StatementComparison) -> Comparison | None:
    """Return the conflict of two texts of a cluster that are alike but for a name, whatever their vectors say."""
    found = comparison.compare(one.raw, other.raw, 1.0)
    return found if found.relation is Relation.CONFLICT and found.reason == _NAME else None


def _join(count: int, pairs: Sequence[tuple[int, int]], *, apart: Sequence[tuple[int, int]] = ()) -> tuple[int, ...]:
    """Group indexes by pairs, and return the first member of the group of each index.

    A pair is skipped if it would put two texts of ``apart`` into one group: one text that agrees with two opposed sides
    does not unite them.
    """
    first = list(range(count))
    for one, other in pairs:
        low, high = sorted((first[one], first[other]))
        if low != high and not any({first[left], first[right]} == {low, high} for left, right in apart):
            first = [low if place == high else place for place in first]
    return tuple(first)


def _count_ways(groups: Sequence[int], frames: Sequence[int]) -> int:
    """Return the largest number of groups that have the same frame."""
    found: dict[int, set[int]] = {}
    for group, frame in zip(groups, frames, strict=True):
        found.setdefault(frame, set()).add(group)
    return max(map(len, found.values()), default=0)
