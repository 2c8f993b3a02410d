"""A pair of aligned statements, how much they share, and the change that was found between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from clearwell.comparison.alignment import Alignment
from clearwell.comparison.features import Features, shorten
from clearwell.comparison.tokens import Token

_SHORT: Final = 4


def count_shared_in_order(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, by the bit-parallel algorithm of Hyyrö."""
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
    """Return 1 for the same words in the same order, 0 for no common word. Short texts tolerate a changed word."""
    shared = count_shared_in_order(one, other)
    total = max(len(one) + len(other), 2 * _SHORT)
    return 2 * (shared + max(0, _SHORT - max(len(one), len(other)))) / total if shared else 0.0


def count_shared_start(one: str, other: str) -> int:
    """Return the length of the common beginning of two texts, by binary search."""
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
class FacetChange:
    """A difference between two texts: a message code, and the words that differ."""

    reason: str
    new: str = ""
    known: str = ""
    sure: bool = True
    """Whether it can be a conflict. A change that is not sure only means that the texts are not the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Two texts, their alignment, and how much they share."""

    new: Features
    known: Features
    match: Alignment
    frame: float
    """The share of all words that both texts have in the same order."""
    words: float
    """The share of content words that have a partner: the smaller of both texts."""

    @property
    def framed(self) -> bool:
        """Whether most words are the same and in the same order."""
        return self.frame >= _NEAR_FRAME

    @property
    def near(self) -> bool:
        """Whether the texts differ only in a few words."""
        return self.framed and self.words >= _NEAR_WORDS


def make_change(reason: str, new: Token, known: Token, *, sure: bool = True) -> FacetChange:
    return FacetChange(reason=reason, new=quote_token(new), known=quote_token(known), sure=sure)


def quote_token(token: Token) -> str:
    """Return a token as it is written in its text, with its negation."""
    return shorten(token.quoted if token.negated and token.quoted else token.surface)
