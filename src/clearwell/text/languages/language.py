"""What has to be known of a language to read texts in it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

GoesOn: TypeAlias = Callable[[str, str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """One language. Another language is another module beside ``english`` and ``chinese``, listed in ``LANGUAGES``."""

    code: str
    separates_words: bool
    """Whether words stand apart. Where they do not, a sentence also ends without a space behind it."""
    sentence_ends: str
    """The marks that end a sentence."""
    stop_words: frozenset[str]
    """Words that stand in almost every text and tell nothing of what it is about."""
    signs: Mapping[str, str]
    """The words that mathematical signs and arrows stand for."""
    segment: Callable[[str], Sequence[str]]
    """The words of a run of letters of this language."""
    stem: Callable[[str], str]
    """A lower-case word without its endings: for comparing words, not for showing them."""
    goes_on: GoesOn
    """Whether a sentence goes on from one part to the next, though a mark that may end one stands between them."""

    def __repr__(self) -> str:
        return f"Language({self.code})"


def read_signs(words: str) -> Mapping[str, str]:
    """Signs with their words, from ``> more_than < less_than``."""
    parts = words.split()
    return dict(zip(parts[::2], parts[1::2], strict=True))
