"""Quotation: text shown to a language model as data, which can neither end its fence nor hide characters.

Memories in a prompt for an agent are fenced by ``flow.context.fencing``; this is for outputs that a model judges.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

READABLE_SPACE: Final = "\u3000"
UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
"""Characters that count as printable but are invisible: fillers, joiners, variation selectors."""
CONTROL_WORD: Final = re.compile(r"\[(?=/?[A-Za-z_]+\])")
"""The beginning of [INST] and similar words, which some servers interpret even inside a message."""


class _HiddenEscapes(dict[int, str]):
    """A table for str.translate that escapes unprintable characters as JSON does."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        shows = (char.isprintable() or char == READABLE_SPACE) and not UNSEEN.match(char)
        return char if shows else escape(char)


def escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


ESCAPES: Final = _HiddenEscapes()
QUOTE_ESCAPES: Final = _HiddenEscapes({ord(char): escape(char) for char in "<>"})
QUOTE_ESCAPES.update({ord('"'): '\\"', ord("\\"): "\\\\", ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"})


def escape_hidden(text: str) -> str:
    """Return the text in one line, with hidden characters escaped."""
    return " ".join(text.split()).translate(ESCAPES)


def quote(text: str) -> str:
    """Return the text as a JSON string without tags and hidden characters."""
    return '"' + CONTROL_WORD.sub(escape("[").replace("\\", r"\\"), text.translate(QUOTE_ESCAPES)) + '"'


@dataclass(frozen=True, slots=True)
class FencedText:
    """Fenced text, and how many characters of its middle were left out."""

    text: str
    left_out: int


def fence(content: str, *, nonce: str, max_chars: int) -> FencedText:
    """Put the content between tags that carry the nonce; of long content only the start and the end."""
    if _count_fitting(content, max_chars) == len(content):
        return FencedText(f'<output id="{nonce}">\n{quote(content)}\n</output>', 0)
    half = max_chars // 2
    start = content[: _count_fitting(content, half)]
    kept = _count_fitting(reversed(content[-half:]), half)
    end = content[len(content) - kept :]
    parts = [
        f'<output id="{nonce}" part="{name}">\n{quote(text)}\n</output>'
        for name, text in (("start", start), ("end", end))
    ]
    return FencedText("\n".join(parts), len(content) - len(start) - len(end))


def _count_fitting(text: Iterable[str], room: int) -> int:
    """Return how many of the first characters fit into ``room`` characters when they are escaped."""
    count = 0
    for char in text:
        room -= len(QUOTE_ESCAPES[ord(char)])
        if room < 0:
            break
        count += 1
    return count
