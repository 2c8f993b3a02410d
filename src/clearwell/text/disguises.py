"""Remove disguises that a reader sees through: signs between or around letters, and other forms of letters.

Nothing next to a digit is changed, so that different numbers stay different. Signs with a meaning of their own stay
too: operators, arrows, currencies, and ticks and crosses at the end of a text.
"""

import html
import re
import unicodedata
from functools import cache, lru_cache
from itertools import groupby
from typing import Final

LETTER: Final = r"[^\W\d_]"
_SIGN: Final = r"[-_/\\^~.+=&@%|,;:<>$*·•]"
_SUSPICIOUS: Final = re.compile(rf"[^\x00-\x7f]|&[#a-zA-Z]|<!--|\]\(|{_SIGN}(?={LETTER})|-\s")
_ENTITY: Final = re.compile(r"&#?[0-9A-Za-z]{1,32};")
_COMMENT: Final = re.compile(r"<!--(?:(?!-->).){0,300}-->", re.DOTALL)
_REVERSED: Final = re.compile("\u202e([^\u202c\u202d\u2066-\u2069\\n]{0,5000})\u202c?")
_LENGTHENING: Final = re.compile("[\u02d0\u02d1\u0640\u07fa]")
_SPELLED: Final = re.compile(rf"(?<!\w){LETTER}(?:{_SIGN}{LETTER}){{3,}}(?!\w)")
_SHORT_SPELLED: Final = re.compile(rf"(?<!\w){LETTER}(?:{_SIGN}{LETTER}){{1,2}}(?!\w)")
_MANY_SPELLED: Final = 3
"""So many long words that are spelled show that the short ones of the text are spelled too: a/b alone is a/b."""
_ALTERNATING: Final = re.compile(rf"[\s\S]({_SIGN})(?:[\s\S]\1){{11,}}[\s\S]?")
"""A text with the same sign after every character, also after spaces and digits: what was put in is known exactly."""
_BETWEEN_LETTERS: Final = re.compile(rf"(?<={LETTER})(?:\s*[-‐‑‒–—―_~·•‧∙]+\s*|\.(?={LETTER}{{2}}))(?={LETTER})")
_INSIDE_WORDS: Final = re.compile(
    rf"(?<={LETTER})[\u02b9\u02bc\u02bb\u02ca\u02cb\u2032\u2043\u2212\u22c5\u2e17\u058a\u05be\u30fb\uff65]+(?={LETTER})"
)
"""Signs that a reader overlooks between two letters. Next to a digit or a space they can be operators."""
_EMPTY_LINK: Final = re.compile(r"!?\[\s{0,20}\]\([^()\s]{0,500}\)")
_HAN_MARKS: Final = re.compile(
    "(?<=[\u3400-\u9fff])[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u064b-\u065f\u094d\u0e3a\u0f39\u20d0-\u20f0\u302a-\u302f\u3099\u309a]+"
)
"""Marks that no Chinese character has."""
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
    plain = _EMPTY_LINK.sub("", plain) if "](" in plain else plain
    if "&" in plain and _ENTITY.search(plain):
        # Twice, because an entity can be written with an entity.
        plain = html.unescape(html.unescape(plain))
    if not plain.isascii():
        plain = _REVERSED.sub(lambda found: found.group(1)[::-1], plain)
        plain = _HAN_MARKS.sub("", plain)
        plain = _find_marks().sub("", _LENGTHENING.sub("", _drop_signs(plain.translate(_OUTLINED))))
    joined = _join_spelled(_ALTERNATING.sub(_drop_alternating, plain))
    return _BETWEEN_LETTERS.sub(" ", _INSIDE_WORDS.sub("", joined))


def _drop_alternating(found: re.Match[str]) -> str:
    """Return the characters between the signs, unless they are a list of numbers or a ruled line."""
    kept = found.group()[::2]
    return kept if 2 * sum(one.isalpha() for one in kept) >= len(kept) else found.group()


def _join_spelled(text: str) -> str:
    joined, count = _SPELLED.subn(_keep_letters, text)
    return _SHORT_SPELLED.sub(_keep_letters, joined) if count >= _MANY_SPELLED else joined


def _keep_letters(word: re.Match[str]) -> str:
    return "".join(one for one in word.group() if one.isalpha())


@cache
def _find_marks() -> re.Pattern[str]:
    """Combining marks of every script on a Latin letter, a space, a digit or a sign. On other letters they are vowels
    and tones."""
    ranges = []
    for is_mark, codes in groupby(range(0x300, 0x20000), key=lambda code: unicodedata.category(chr(code))[0] == "M"):
        if is_mark:
            found = list(codes)
            ranges.append(f"{chr(found[0])}-{chr(found[-1])}")
    return re.compile(f"(?<=[\x00-\u02ff\u1e00-\u1eff\u2000-\u200a])[{''.join(ranges)}]+")


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
