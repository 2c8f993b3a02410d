"""What a rule for reading values is made of."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
    """One value: what it measures, how much, and the number that was written for it."""

    dimension: str
    amount: str
    number: float = 0.0
    weak: bool = False
    """It may be left out without a loss, like the "one" of "one of them"."""
    surface: str = ""

    @property
    def key(self) -> str:
        return f"{self.dimension}={self.amount}"


@dataclass(frozen=True, slots=True)
class ValueMatch:
    """A place where a rule's pattern matched, and the groups of the match."""

    groups: Sequence[str | None]
    text: str
    start: int
    end: int

    def follows(self, pattern: re.Pattern[str]) -> bool:
        """Whether the few words before match."""
        return pattern.search(self.text[max(0, self.start - 24) : self.start]) is not None


Reader: TypeAlias = Callable[[ValueMatch], Value | tuple[Value, int] | None]
"""The value that was found, with its end where that is not the end of the match."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern, what it means, and with what it may begin: d(igit), z(h), l(atin word), s(ign)."""

    begins: str
    pattern: str
    read: Reader


def shown(number: float) -> str:
    """A number such that equal numbers look the same."""
    return f"{number:.10g}"
