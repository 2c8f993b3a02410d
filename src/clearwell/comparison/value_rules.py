"""The building blocks of rules that read values."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from clearwell.text.numerals import SCALES, WORDS

_LARGE: Final = ("hundred", "thousand", "million", "billion")
WORD: Final = f"(?:{'|'.join(sorted([*WORDS, *_LARGE], key=len, reverse=True))})"
EN: Final = rf"(?:an? (?=hundred|thousand|million|billion))?{WORD}(?:(?: and |[ -]){WORD}\b){{0,8}}\b"
ZH: Final = (
    r"[零〇一二两三四五六七八九十廿卅][零〇一二两三四五六七八九十百千万亿]{0,15}(?:点[零一二三四五六七八九]{1,6})?"
)
DIGITS: Final = r"(?:\d{1,3}(?:,\d{3}){1,6}(?:\.\d{1,9})?|\d{1,18}(?:\.\d{1,9})?)(?!\d)"
MONEY: Final = frozenset({"usd", "eur", "gbp", "cny", "jpy", "hkd", "chf", "inr", "krw", "aud", "cad"})
SCALE: Final = (
    f"(?:[ -]?(?:{'|'.join(name for name in SCALES if name.isascii() and len(name) > 3)})\\b"
    r"|(?:k|mn|mio|bn)\b| ?[百千万]?[万亿]| ?[百千])"
)


@dataclass(frozen=True, slots=True)
class Value:
    """One value: its dimension, its amount in the base unit, and the number as it was written."""

    dimension: str
    amount: str
    number: float = 0.0
    weak: bool = False
    """Whether it can be omitted without loss, like "one" in "one of them"."""
    surface: str = ""
    about: bool = field(default=False, compare=False)
    """Whether the text says that the number is not exact: "almost two seconds"."""

    @property
    def key(self) -> str:
        return f"{self.dimension}={self.amount}"


@dataclass(frozen=True, slots=True)
class ValueMatch:
    """A match of the pattern of a rule: its groups and its position in the text."""

    groups: Sequence[str | None]
    text: str
    start: int
    end: int

    def follows(self, pattern: re.Pattern[str]) -> bool:
        """Return whether the 24 characters before the match match a pattern."""
        return pattern.search(self.text[max(0, self.start - 24) : self.start]) is not None


Reader: TypeAlias = Callable[[ValueMatch], Value | tuple[Value, int] | None]
"""Returns the value of a match, with its end if that is not the end of the match, or None."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern, the function that reads a match, and how a match can begin: d(igit), z(h), l(atin word), s(ign)."""

    begins: str
    pattern: str
    read: Reader


def format_number(number: float) -> str:
    """Return a number as text, so that equal numbers have equal texts."""
    return f"{number:.10g}"
