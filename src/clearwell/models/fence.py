"""Text of others, shown to a language model as data: it can neither end its fence nor hide anything."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

READABLE_SPACE: Final = "\u3000"
UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
"""Characters that count as printable and show nothing: fillers, joiners, variation selectors."""
CONTROL_WORD: Final = re.compile(r"\[(?=/?[A-Za-z_]+\])")
"""The beginning of [INST] and its like, which some servers read as an order even inside a message."""


class _Visible(dict[int, str]):
    """For str.translate: what does not print is written as JSON writes it."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        shows = (char.isprintable() or char == READABLE_SPACE) and not UNSEEN.match(char)
        return char if shows else escape(char)


def escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


VISIBLE: Final = _Visible()
QUOTED: Final = _Visible({ord(char): escape(char) for char in "<>"})
QUOTED.update({ord('"'): '\\"', ord("\\"): "\\\\", ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"})


def visible(text: str) -> str:
    """The text in one line, with hidden characters shown."""
    return " ".join(text.split()).translate(VISIBLE)


def quoted(text: str) -> str:
    """The text as a JSON string without tags and without anything that does not show."""
    return '"' + CONTROL_WORD.sub(escape("[").replace("\\", r"\\"), text.translate(QUOTED)) + '"'


@dataclass(frozen=True, slots=True)
class Fenced:
    """Fenced text, and how many characters of its middle were left out."""

    text: str
    left_out: int


def fenced(content: str, *, nonce: str, max_chars: int) -> Fenced:
    """The content between tags that carry the nonce; of long content the start and the end."""
    if _fitting(content, max_chars) == len(content):
        return Fenced(f'<output id="{nonce}">\n{quoted(content)}\n</output>', 0)
    half = max_chars // 2
    start = content[: _fitting(content, half)]
    kept = _fitting(reversed(content[-half:]), half)
    end = content[len(content) - kept :]
    parts = [
        f'<output id="{nonce}" part="{name}">\n{quoted(text)}\n</output>'
        for name, text in (("start", start), ("end", end))
    ]
    return Fenced("\n".join(parts), len(content) - len(start) - len(end))


def _fitting(text: Iterable[str], room: int) -> int:
    """How many of the first characters fit into the room once they are escaped."""
    count = 0
    for char in text:
        room -= len(QUOTED[ord(char)])
        if room < 0:
            break
        count += 1
    return count
