"""Sentences: a text in its sentences, and a text cut after one. The languages say which marks end them."""

import re
import unicodedata
from typing import Final

from clearwell.text.languages import LANGUAGES

_BETWEEN: Final = re.compile(
    "|".join(rf"(?<=[{re.escape(one.sentence_ends)}])\s{'+' if one.separates_words else '*'}" for one in LANGUAGES)
)
_END: Final = re.compile(r"[。！？；…]+[”’」』）》]*|[.!?;]+[\"')\]”’]*(?=\s)|\n+")
"""Where a text may be cut: also after a semicolon, an ellipsis, and the quotation mark behind either."""
_SPACE: Final = re.compile(r"\s+")
_JOINS: Final = "\u200d\ufe0e\ufe0f"


def split_sentences(text: str) -> list[str]:
    """Return the sentences, each as one line, with nothing else changed. A shortened word ends no sentence."""
    found: list[str] = []
    for line in text.split("\n"):
        parts = [part for part in (_SPACE.sub(" ", one).strip() for one in _BETWEEN.split(line)) if part]
        for place, part in enumerate(parts):
            if place and any(one.goes_on(found[-1], part) for one in LANGUAGES):
                found[-1] = f"{found[-1]} {part}"
            else:
                found.append(part)
    return found


def cut_at_sentence(text: str, most: int) -> str:
    """Return the text, or its longest beginning of whole sentences within ``most`` characters; 0 returns the text.

    Where a sentence ends only in the first half, the text is cut after a word instead: half of what was asked for would
    be lost for a full stop. A letter is never separated from its marks, nor an emoji from its parts.
    """
    if most == 0 or len(text) <= most:
        return text
    ends = [match.end() for match in _END.finditer(text, 0, most + 1) if match.end() <= most]
    if ends and ends[-1] * 2 > most:
        return text[: ends[-1]].rstrip()
    space = max(text.rfind(" ", 0, most + 1), text.rfind("\n", 0, most + 1))
    if space * 2 > most:
        return text[:space].rstrip()
    return text[: _find_character_end(text, most)]


def _find_character_end(text: str, end: int) -> int:
    place = end
    while place > 0 and (unicodedata.combining(text[place]) or text[place] in _JOINS or text[place - 1] == "\u200d"):
        place -= 1
    return place or end
