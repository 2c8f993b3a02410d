"""Sentences: a text in its sentences, and a text cut after one. The languages say which marks end them."""

import re
from typing import Final

from clearwell.text.characters import are_joined
from clearwell.text.languages import LANGUAGES

_BETWEEN: Final = re.compile(
    "|".join(rf"(?<=[{re.escape(one.sentence_ends)}])\s{'+' if one.separates_words else '*'}" for one in LANGUAGES)
)
_END: Final = re.compile(r"[。！？；…]+[”’」』）》]*|[.!?;]+[\"')\]”’]*(?=\s)|\n+")
"""Where a text may be cut: also after a semicolon, an ellipsis, and the quotation mark behind either."""
_CUT_MARKS: Final = "".join(one.sentence_ends for one in LANGUAGES) + ";"
_SPACE: Final = re.compile(r"\s+")


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
    end = next((place for place in range(most, 0, -1) if not are_joined(text, place)), most)
    return text[:end]


def ends_sentence(text: str) -> bool:
    """Whether a text ends where one may be cut."""
    return text.endswith(tuple(_CUT_MARKS))
