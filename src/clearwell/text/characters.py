"""Characters as they are displayed: which are drawn as one, and how wide they are."""

import unicodedata
from functools import cache
from typing import Final

ZERO_WIDTH_JOINER: Final = "\u200d"


def are_joined(text: str, at: int) -> bool:
    """Return whether the characters before and after ``at`` are drawn as one."""
    if at >= len(text):
        return False
    before, after = text[at - 1], text[at]
    return (
        unicodedata.category(after) in {"Mn", "Mc", "Me"}
        or ZERO_WIDTH_JOINER in (before, after)
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # the skin tone of an emoji
        or ("\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff")  # flags
        or (before, after) == ("\r", "\n")
        or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")
    )


def measure_width(text: str) -> int:
    """Return the number of columns of a text: 2 for a wide character, 0 for a mark or an invisible character."""
    return sum(map(_measure_character, text))


@cache
def _measure_character(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf", "Cc"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
