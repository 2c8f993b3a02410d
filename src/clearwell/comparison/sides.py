"""Two texts side by side, and what was found to differ between them."""

from dataclasses import dataclass
from typing import Final

from clearwell.comparison.alignment import Matching
from clearwell.comparison.features import Features, shortened
from clearwell.comparison.tokens import Token

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
    match: Matching
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
    return shortened(token.quoted if token.negated and token.quoted else token.surface)
