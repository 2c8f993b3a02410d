"""Find, remove and escape invisible text. Quarantine keeps such text, flags it and shows it escaped.

Prompts never contain it, and memories contain it only if the person who promoted them said so.
"""

import re
import unicodedata

from clearwell.text.unicode_forms import normalise_form

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SELECTOR = re.compile(
    "(?<![\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030-\u303d\u3297\u3299\U0001f000-\U0001faff0-9#*])"
    "[\ufe00-\ufe0f]|\u2800"
)
"""Variation selectors without effect, and the blank Braille pattern."""
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_ESCAPES = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]|\x9b[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?")
"""Escape sequences that a terminal interprets: colours, cursor movements, titles."""
_ESCAPE_STARTS = re.compile("[\x1b\x9b]")
_BLANK_SYMBOL = "\u2800"
_EMOJI_JOIN = re.compile(
    "(?<=[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff])\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff])"
)
_FLAG_TAGS = re.compile("\U0001f3f4[\U000e0061-\U000e007a]{2,6}\U000e007f")
_NEEDS_JOINERS = re.compile("(?<=[\u0600-\u08ff\u0900-\u0dff])[\u200c\u200d](?=[\u0600-\u08ff\u0900-\u0dff])")
_TAG = re.compile("[\U000e0020-\U000e007e]")
_TAGS = {0xE0000 + code: chr(code) for code in range(0x20, 0x7F)}
_LONGEST = 1 << 20
_EMOJI = "\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_SCRIPTS = "\u0600-\u08ff\u0900-\u0dff"
_UNSEEN = re.compile(
    "(?P<needed>"
    "\U0001f3f4[\U000e0061-\U000e007a]{2,6}\U000e007f"  # the flags of Scotland, Wales and the like
    f"|(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])"
    f"|(?<=[{_SCRIPTS}])[\u200c\u200d](?=[{_SCRIPTS}])"
    f"|(?<=[{_EMOJI}0-9#*\u00a9\u00ae\u203c\u2049\u2122\u2139])\ufe0f"
    ")|(?P<space>[\x0b\x0c\x1c-\x1f\x85])"
    "|[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Invisible characters, except those that emoji and some scripts need. Some control characters separate words."""
_AROUND = 40
"""Number of characters shown before and after a hidden one."""


def has_hidden_text(text: str) -> bool:
    """Return whether a text has zero-width, bidirectional, tag or control characters that no emoji or script needs."""
    if text.isascii() and not _CONTROL.search(text):
        return False
    needed = _NEEDS_JOINERS.sub("", _EMOJI_JOIN.sub("", _FLAG_TAGS.sub("", text)))
    return bool(_INVISIBLE.search(needed) or _CONTROL.search(needed) or _SELECTOR.search(needed))


def strip_hidden(text: str) -> str:
    """Remove invisible characters and escape sequences, except what emoji and some scripts need."""
    if text.isascii() and not _CONTROL.search(text):
        return text
    plain = _ESCAPES.sub("", text) if _ESCAPE_STARTS.search(text) else text
    return _UNSEEN.sub(lambda found: found.group("needed") or (" " if found.group("space") else ""), plain)


def show_hidden(text: str) -> str:
    """Return the first passage with hidden characters, with these escaped, or an empty string."""
    if not has_hidden_text(text):
        return ""
    hidden = (found.start() for found in _UNSEEN.finditer(text) if not found.group("needed"))
    place = next(hidden, 0)
    before, after = max(0, place - _AROUND), place + _AROUND
    return ("…" if before else "") + escape_hidden(text[before:after]) + ("…" if after < len(text) else "")


def can_be_read(text: str) -> bool:
    """Return whether a text has a visible letter, digit or symbol outside of escape sequences."""
    shown = _ESCAPES.sub("", text) if _ESCAPE_STARTS.search(text) else text
    return any(map(_is_seen, shown))


def _is_seen(character: str) -> bool:
    if unicodedata.category(character)[0] not in "LNS":
        return False
    return character != _BLANK_SYMBOL and not _INVISIBLE.match(character)


def make_readable(text: str) -> str:
    """Return the text as a model reads it: in NFKC, without hidden characters, with tag characters as letters."""
    seen = text[:_LONGEST]
    if seen.isascii():
        return seen
    shown = seen.translate(_TAGS) if _TAG.search(seen) else seen
    return _INVISIBLE.sub("", normalise_form("NFKC", shown))


def escape_hidden(text: str) -> str:
    """Return the text for people, with every hidden character escaped."""
    if text.isascii() and not _CONTROL.search(text):
        return text
    return _SELECTOR.sub(_escape, _CONTROL.sub(_escape, _INVISIBLE.sub(_escape, text)))


def _escape(found: re.Match[str]) -> str:
    return f"⟦U+{ord(found.group()):04X}⟧"
