"""What is said against each other in a cluster: two texts, and the sides of a dispute."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

LEAST_BACKING: Final = 2
"""Voices on one side without which what differs in other words may be about two things."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opposition:
    """Two places of texts that contradict each other, and why."""

    of: int
    against: int
    reason: str
    params: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """Places of the texts on each side, the side with the most voices first, and who contradicts whom."""

    sides: tuple[tuple[int, ...], ...] = ()
    opposed: tuple[Opposition, ...] = ()
    sure: bool = False
    """It is a dispute and no series, however few wordings agree: half of the voices state one value, all use the same
    words but for the value, or one denies what the other says. Names are in every series of what people did."""
    strays: frozenset[int] = frozenset()
    """Texts that tell the same of other things, and are no part of the matter."""


def unite(places: Iterable[int], voices: Sequence[frozenset[str]]) -> frozenset[str]:
    """The voices of the texts at these places."""
    return frozenset[str]().union(*(voices[at] for at in places))
