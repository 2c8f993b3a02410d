"""The definition of a language."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

GoesOn: TypeAlias = Callable[[str, str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """One language. To add one, add a module next to ``english`` and ``chinese``, and list it in ``LANGUAGES``."""

    code: str
    separates_words: bool
    """Whether words are separated by spaces. If not, a sentence can also end without a space after it."""
    sentence_ends: str
    """The marks that end a sentence."""
    stop_words: frozenset[str]
    """Words that occur in almost every text and do not indicate its subject."""
    signs: Mapping[str, str]
    """The words for mathematical signs and arrows."""
    segment: Callable[[str], Sequence[str]]
    """Returns the words of a run of letters of this language."""
    stem: Callable[[str], str]
    """Returns the stem of a lower-case word, for comparing words, not for showing them."""
    goes_on: GoesOn
    """Returns whether a sentence continues after a mark that can end it, given the text before and after the mark."""

    def __repr__(self) -> str:
        return f"Language({self.code})"


def read_signs(words: str) -> Mapping[str, str]:
    """Return the word of each sign, from a text such as ``> more_than < less_than``."""
    parts = words.split()
    return dict(zip(parts[::2], parts[1::2], strict=True))
