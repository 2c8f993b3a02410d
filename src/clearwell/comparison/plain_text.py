"""Normalise a text for comparison: remove marks, width variants, white space, fillers and attributions."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from clearwell.text.unicode_forms import normalise_form
from clearwell.text.words import words

LONGEST: Final = 4_000
"""Maximum number of characters that are read. Of longer texts, only the parts that differ are compared."""
_ROUNDS: Final = 4
_SHORTEST_REST: Final = 4
_TAIL: Final = 80

_PLAIN: Final = str.maketrans(dict(zip("’‘⁄－–—−", "''/--,-", strict=True)) | {"`": None, "*": None})
_HIDDEN: Final = re.compile(r"[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u00ad\U000e0000-\U000e007f]")
_MARKS: Final = re.compile(r"(?m)^[ \t]{0,8}(?:#{1,6} |>{1,3} ?|[-+•·] |\d{1,2}[.)] (?=\D))")
_SPACE: Final = re.compile(r"\s+")
_INFIX: Final = re.compile(
    "([^要是会能可并就也都还又才从绝永毫决很太最,。;、不 a-z0-9])不(?!\\1)(?=[到开了见着出起上住掉清完下动成])"
)
_SAFE_NUMERAL: Final = re.compile("[壹贰叁肆伍陆柒捌玖拾佰仟零万亿]{2,24}")
_LEAD: Final = r"[\s,.;:!?\-…]{0,8}"
_REFERENCE: Final = re.compile("<([a-z_]+)>")


def normalise_marks(text: str) -> str:
    """Return a text with uniform width, quotes, marks and white space. Case is kept."""
    plain = _HIDDEN.sub("", normalise_form("NFKC", text).translate(_PLAIN))
    return _SPACE.sub(" ", _MARKS.sub("", plain)).strip()


def simplify(text: str) -> str:
    """Return Chinese text in simplified characters, one for one, so that positions do not change."""
    return text if text.isascii() else text.translate(_forms("simplified"))


def make_comparable(text: str) -> str:
    """Return a text in lower case, with plain numerals, and with negations inside a word moved before it.

    看不到 becomes 没看到.
    """
    lower = text.lower()
    if lower.isascii():
        return lower
    return _INFIX.sub(r"没\1", _SAFE_NUMERAL.sub(lambda found: found[0].translate(_forms("numerals")), lower))


@cache
def _forms(name: str) -> dict[int, str]:
    return {ord(pair[0]): pair[1] for pair in words("forms")[name].split()}


def trim(text: str) -> slice:
    """Return the part of a normalised text without fillers and attributions: who reported it, in which session."""
    kept = slice(0, len(text))
    for _ in range(_ROUNDS):
        part = text[kept]
        begin = _opening(part)
        end = begin + _source_at(part[begin:])
        if (begin, end) == (0, len(part)) or end - begin < _SHORTEST_REST:
            break
        kept = slice(kept.start + begin, kept.start + end)
    return kept


def _opening(text: str) -> int:
    """Return the position after the filler at the beginning of a text."""
    for pattern in _openings("en") if text.isascii() else (*_openings("en"), *_openings("zh")):
        match = pattern.match(text)
        if match is not None and match.end() < len(text):
            return match.end()
    return 0


def _source_at(text: str) -> int:
    """Return the position of the attribution at the end of a text, or its length."""
    tail = text[-_TAIL:]
    match = _source().search(tail)
    start = len(text) - len(tail) + match.start() if match else 0
    return start if start > _TAIL // 4 else len(text)


@cache
def _openings(language: str) -> tuple[re.Pattern[str], ...]:
    lists = words(language)
    return tuple(re.compile(_LEAD + _fill(pattern, lists), re.IGNORECASE) for pattern in lists["attributions"])


@cache
def _source() -> re.Pattern[str]:
    patterns = [_fill(pattern, words(language)) for language in ("en", "zh") for pattern in words(language)["sources"]]
    return re.compile(rf"(?:{'|'.join(patterns)})\s*[.。!]?\s*$", re.IGNORECASE)


def _fill(pattern: str, lists: Mapping[str, Any]) -> str:
    """Return a pattern of the word lists with its references resolved: a list becomes alternatives, longest first."""

    def resolve(match: re.Match[str]) -> str:
        listed = lists[match[1]]
        if isinstance(listed, str) and "\n" not in listed:
            return _fill(listed, lists)
        entries = listed.split() if isinstance(listed, str) else listed
        return f"(?:{'|'.join(re.escape(entry) for entry in sorted(entries, key=len, reverse=True))})"

    return _REFERENCE.sub(resolve, pattern)
