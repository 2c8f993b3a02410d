"""Remove disguises that a reader sees through: signs between or around letters, and other forms of letters.

Nothing next to a digit is changed, so that different numbers stay different. Signs with a meaning of their own stay
too: operators, arrows, currencies, and ticks and crosses at the end of a text.
"""

import html
import re
import unicodedata
from functools import lru_cache
from typing import Final

LETTER: Final = r"[^\W\d_]"
_SUSPICIOUS: Final = re.compile(r"[^\x00-\x7f]|&[#a-zA-Z]|<!--|[-_/\\^~.+=&@%|,;:<>](?=[^\W\d_])|-\s")
_ENTITY: Final = re.compile(r"&#?[0-9A-Za-z]{1,32};")
_COMMENT: Final = re.compile(r"<!--(?:(?!-->).){0,300}-->", re.DOTALL)
_REVERSED: Final = re.compile("\u202e([^\u202c\u202d\u2066-\u2069\\n]{0,5000})\u202c?")
_LENGTHENING: Final = re.compile("[\u02d0\u02d1\u0640\u07fa]")
_MARKS: Final = re.compile(
    "(?<=[A-Za-z\u00c0-\u024f])[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f]+"
)
"""Combining marks on a Latin letter. In other scripts they are vowels and tones."""
_SPELLED: Final = re.compile(rf"(?<!\w){LETTER}(?:[-_/\\^~.+=&@%|,;:<>·•*]{LETTER}){{3,}}(?!\w)")
_BETWEEN_LETTERS: Final = re.compile(rf"(?<={LETTER})(?:\s*[-‐‑‒–—―_~·•‧∙]+\s*|\.(?={LETTER}{{2}}))(?={LETTER})")
_ANSWERS: Final = frozenset("✓✔✅☑✗✘❌❎✖☒🚫⛔👍👎⬆⬇")
"""Signs for yes or no, more or less. Between words they are decoration; at the end they can be the whole statement."""
_DROPPED: Final = frozenset({"Me", "Cf", "Co", "Cn", "Cs"})
_OUTLINED: Final = {
    **{0x1CCD6 + place: chr(ord("a") + place) for place in range(26)},
    **{0x1CCF0 + place: chr(ord("0") + place) for place in range(10)},
}
"""Outlined letters and digits of Unicode 16, which older tables do not have."""


def uncover(text: str) -> str:
    """Return the text without disguises, or unchanged if it has none."""
    if not _SUSPICIOUS.search(text):
        return text
    plain = _COMMENT.sub("", text) if "<!--" in text else text
    if "&" in plain and _ENTITY.search(plain):
        # Twice, because an entity can be written with an entity.
        plain = html.unescape(html.unescape(plain))
    if not plain.isascii():
        plain = _REVERSED.sub(lambda found: found.group(1)[::-1], plain)
        plain = _drop_signs(_LENGTHENING.sub("", _MARKS.sub("", plain.translate(_OUTLINED))))
    plain = _SPELLED.sub(lambda word: "".join(one for one in word.group() if one.isalpha()), plain)
    return _BETWEEN_LETTERS.sub(" ", plain)


def _drop_signs(text: str) -> str:
    """Return a text without symbols and unprintable characters, except signs by a number and answers at the end."""
    if text.isascii():
        return text
    kept = [one for place, one in enumerate(text) if one.isascii() or not _is_sign(one) or _counts(text, place)]
    return "".join(kept)


@lru_cache(maxsize=10_000)
def _is_sign(character: str) -> bool:
    category = unicodedata.category(character)
    is_arrow = "\u2190" <= character <= "\u21ff"
    return category in _DROPPED or (category in ("So", "Sk") and not is_arrow)


def _counts(text: str, place: int) -> bool:
    """Return whether a sign can have a meaning: it is next to a number, or is an answer at the end."""
    if unicodedata.category(text[place]) in _DROPPED:
        return False
    if (place and text[place - 1].isdigit()) or text[place + 1 : place + 2].isdigit():
        return True
    return text[place] in _ANSWERS and not any(one.isalnum() for one in text[place + 1 : place + 40])
