"""Records of disagreement in a cluster: an opposition of two texts, and a dispute with its sides."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from clearwell.comparison import Features
from clearwell.comparison.lexicon import lexicon
from clearwell.comparison.polarity import NEGATION

MIN_BACKING: Final = 2
"""Minimum number of voices on one side. With fewer, texts that differ in wording may be about two subjects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opposition:
    """Two texts that contradict each other, by index, and the reason."""

    of: int
    against: int
    reason: str
    params: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """The texts on each side, by index, the side with the most voices first, and the pairs that contradict."""

    sides: tuple[tuple[int, ...], ...] = ()
    opposed: tuple[Opposition, ...] = ()
    sure: bool = False
    """Whether it is certainly a dispute and not a series, however few texts agree: half of the voices state one value,
    all texts are the same except for the value, or one denies what the other says. Most voices for a name do not
    suffice, because series of what people did are full of names."""
    strays: frozenset[int] = frozenset()
    """Texts that say the same about another subject, and do not belong to the cluster."""

    @property
    def denies(self) -> bool:
        """Whether one text denies what another says. Values and names vary within a series; a denial does not."""
        return any(one.reason == NEGATION for one in self.opposed)


def unite(places: Iterable[int], voices: Sequence[frozenset[str]]) -> frozenset[str]:
    """Return the voices of these texts, given by index."""
    return frozenset[str]().union(*(voices[at] for at in places))


def find_open_clauses(text: Features) -> frozenset[int]:
    """Return the clauses that leave open what they say: "the authority asked whether ducks are included"."""
    openers = lexicon().open_questions
    return frozenset(token.clause for token in text.tokens if token.key in openers)
