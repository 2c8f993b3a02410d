"""Text that a reader does not see, and text that speaks to the reader's machine.

Nothing is removed: what is found is flagged on the entry and shown escaped.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearwell.records import Metadata

HIDDEN_TEXT, INSTRUCTION_LIKE, CLAIMS_AUTHORITY = "hidden_text", "instruction_like", "claims_authority"

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_ESCAPES = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]|\x9b[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?")
"""What a terminal takes as a command: colours, movements, titles."""
_ESCAPE_STARTS = re.compile("[\x1b\x9b]")
_BLANK_SYMBOL = "\u2800"
_EMOJI_JOIN = re.compile(
    "(?<=[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff])\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff])"
)
_FLAG_TAGS = re.compile("\U0001f3f4[\U000e0061-\U000e007a]{2,6}\U000e007f")
_NEEDS_JOINERS = re.compile("(?<=[\u0600-\u08ff\u0900-\u0dff])[\u200c\u200d](?=[\u0600-\u08ff\u0900-\u0dff])")
_AUTHORITY_KEYS = {"verified", "promoted", "human", "human_verified", "is_human", "approved", "label", "layer"}
_TAGS = {0xE0000 + code: chr(code) for code in range(0x20, 0x7F)}
_LONGEST = 20_000


def flags_of(content: str, metadata: Metadata) -> tuple[str, ...]:
    """What a reader must be told of this text before reading it."""
    seen = readable(content)
    found = {
        HIDDEN_TEXT: has_hidden_text(content),
        INSTRUCTION_LIKE: _speaks("instructions", seen),
        CLAIMS_AUTHORITY: _claims(metadata) or _speaks("authority", seen),
    }
    return tuple(flag for flag, there in found.items() if there)


def has_hidden_text(text: str) -> bool:
    """Zero-width, bidirectional, tag and control characters, but for those that emoji and some scripts need."""
    if text.isascii() and not _CONTROL.search(text):
        return False
    needed = _NEEDS_JOINERS.sub("", _EMOJI_JOIN.sub("", _FLAG_TAGS.sub("", text)))
    return bool(_INVISIBLE.search(needed) or _CONTROL.search(needed))


def can_be_read(text: str) -> bool:
    """Whether a person sees any letter, digit or symbol. What a terminal takes as a command is none."""
    shown = _ESCAPES.sub("", text) if _ESCAPE_STARTS.search(text) else text
    return any(map(_is_seen, shown))


def _is_seen(character: str) -> bool:
    if unicodedata.category(character)[0] not in "LNS":
        return False
    return character != _BLANK_SYMBOL and not _INVISIBLE.match(character)


def _speaks(kind: str, seen: str) -> bool:
    """Whether text speaks to an agent, a judge or a reviewer instead of about the matter, or claims authority."""
    return any(pattern.search(seen) for pattern in _patterns(kind))


def _claims(metadata: Mapping[str, object]) -> bool:
    return any(key.casefold() in _AUTHORITY_KEYS and bool(value) for key, value in metadata.items())


def readable(text: str) -> str:
    """The text as a model would read it: compatibility forms folded, hidden characters gone, tags made visible."""
    seen = text[:_LONGEST]
    if seen.isascii():
        return seen
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", seen.translate(_TAGS)))


def escaped(text: str) -> str:
    """The text with every hidden character written out, for people."""
    return _CONTROL.sub(_written, _INVISIBLE.sub(_written, text))


def _written(found: re.Match[str]) -> str:
    return f"⟦U+{ord(found.group()):04X}⟧"


@cache
def _patterns(kind: str) -> tuple[re.Pattern[str], ...]:
    text = files("clearwell.text").joinpath("words/addressed.toml").read_text(encoding="utf-8")
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in tomllib.loads(text)[kind]["patterns"])
