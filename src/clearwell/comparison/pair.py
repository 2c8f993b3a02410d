"""Two statements side by side: how much of one stands in the other, and what was found to differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from clearwell.comparison.alignment import Alignment
from clearwell.comparison.features import Features, shorten
from clearwell.comparison.tokens import Token

_SHORT: Final = 4


def shared_in_order(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence, by the bit-parallel method of Hyyrö: one step a word."""
    places: dict[str, int] = {}
    for at, key in enumerate(one):
        places[key] = places.get(key, 0) | 1 << at
    everywhere = (1 << len(one)) - 1
    row = everywhere
    for key in other:
        hits = row & places.get(key, 0)
        row = ((row + hits) | (row - hits)) & everywhere
    return len(one) - row.bit_count()


def likeness(one: Sequence[str], other: Sequence[str]) -> float:
    """1 for the same words in the same order, 0 for no word in common. One changed word counts little in short text."""
    shared = shared_in_order(one, other)
    total = max(len(one) + len(other), 2 * _SHORT)
    return 2 * (shared + max(0, _SHORT - max(len(one), len(other)))) / total if shared else 0.0


def shared_start(one: str, other: str) -> int:
    """How many characters two texts begin with in common, by halving."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


_NEAR_FRAME: Final = 0.7
_NEAR_WORDS: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What differs, by a message code, and the words that differ."""

    reason: str
    new: str = ""
    known: str = ""
    sure: bool = True
    """Not sure: it tells against "the same", and is no conflict by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Two texts, how they match, and how much of each the other has."""

    new: Features
    known: Features
    match: Alignment
    frame: float
    """The share of words, fillers too, that both have in the same order."""
    words: float
    """The share of words with content that both have, on the side where it is smaller."""

    @property
    def framed(self) -> bool:
        return self.frame >= _NEAR_FRAME

    @property
    def near(self) -> bool:
        """Whether one is the other with few words changed."""
        return self.framed and self.words >= _NEAR_WORDS


def between(reason: str, new: Token, known: Token, *, sure: bool = True) -> Change:
    return Change(reason=reason, new=shown(new), known=shown(known), sure=sure)


def shown(token: Token) -> str:
    """A word as it stands in its text, with what denies it."""
    return shorten(token.quoted if token.negated and token.quoted else token.surface)
