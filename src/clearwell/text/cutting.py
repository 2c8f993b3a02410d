"""Text shortened for a reader: whole sentences where that is possible, and never half a character."""

import re
import unicodedata
from typing import Final

_END: Final = re.compile(r"[。！？；…]+[”’」』）》]*|[.!?;]+[\"')\]”’]*(?=\s)|\n+")
_JOINS: Final = "\u200d\ufe0e\ufe0f"


def cut(text: str, most: int) -> str:
    """The text, or its longest beginning of whole sentences within ``most`` characters; 0: the text.

    Where a sentence ends only in the first half, it is cut after a word instead: half of what was asked for would be
    lost for a full stop.
    """
    if most == 0 or len(text) <= most:
        return text
    ends = [match.end() for match in _END.finditer(text, 0, most + 1) if match.end() <= most]
    if ends and ends[-1] * 2 > most:
        return text[: ends[-1]].rstrip()
    space = max(text.rfind(" ", 0, most + 1), text.rfind("\n", 0, most + 1))
    if space * 2 > most:
        return text[:space].rstrip()
    return text[: _whole_character(text, most)]


def _whole_character(text: str, end: int) -> int:
    """The place, or one before it, that does not part a letter from its marks or an emoji from its parts."""
    place = end
    while place > 0 and (unicodedata.combining(text[place]) or text[place] in _JOINS or text[place - 1] == "\u200d"):
        place -= 1
    return place or end
