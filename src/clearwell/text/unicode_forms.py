"""Unicode normal forms of untrusted text.

Normalisation sorts the combining marks after a letter in quadratic time, and blocks the process meanwhile. No language
uses more than a few marks, so only the first ones of a long run are kept, as in the stream-safe format of Unicode
(UAX #15).
"""

import re
import unicodedata
from functools import cache
from itertools import groupby
from typing import Final, Literal, TypeAlias

Form: TypeAlias = Literal["NFC", "NFD", "NFKC", "NFKD"]
MAX_MARKS: Final = 30
_FIRST, _LAST = 0x300, 0x1FFFF
"""The range of the marks that are sorted."""
_MAY_BE_MARKS: Final = re.compile(
    "[^\x00-\u02ff\u2000-\u20cf\u2e80-\u3029\u3030-\u3098\u309b-\ua66e\uac00-\ufb1d\ufb1f-\ufe1f\ufe30-\uffff"
    f"\U0001f000-\U0010ffff]{{{MAX_MARKS + 1}}}"
)
"""A run of characters that can be marks: no space, Latin letter or Chinese character. This search is fast."""


def normalise_form(form: Form, text: str) -> str:
    """Return the text in a normal form, with at most ``MAX_MARKS`` combining marks in a row."""
    if text.isascii():
        return text
    return unicodedata.normalize(form, limit_marks(text))


def limit_marks(text: str) -> str:
    """Return the text with at most ``MAX_MARKS`` combining marks in a row."""
    return _find_surplus().sub(r"\1", text) if _MAY_BE_MARKS.search(text) else text


@cache
def _find_surplus() -> re.Pattern[str]:
    ranges = []
    for is_mark, codes in groupby(range(_FIRST, _LAST + 1), key=lambda code: unicodedata.combining(chr(code)) > 0):
        found = list(codes)
        if is_mark:
            ranges.append(f"{chr(found[0])}-{chr(found[-1])}")
    marks = "".join(ranges)
    return re.compile(f"([{marks}]{{{MAX_MARKS}}})[{marks}]+")
