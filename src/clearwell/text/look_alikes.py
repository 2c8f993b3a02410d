"""Map letters that look like Latin letters to these, and remove invisible characters: both disguise values.

The pairs come from the Unicode confusables, which the package ``confusable-homoglyphs`` ships as data. They do not name
letters of the Latin script itself, such as small capitals and letters with a stroke; those are read from their Unicode
names.
"""

import json
import re
import sys
import tomllib
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Final

from clearwell.text.unicode_forms import normalise_form

IGNORED: Final = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Control characters, default ignorable characters of Unicode, the blank Braille pattern, and terminal colours."""
LATIN: Final = re.compile(
    r"(?:NEGATIVE (?:CIRCLED|SQUARED) |CROSSED NEGATIVE SQUARED |MODIFIER LETTER |REGIONAL INDICATOR SYMBOL )?"
    r"(?:LATIN )?(?:SMALL |CAPITAL )?LETTER (?:SMALL CAPITAL |DOTLESS |LONG |SCRIPT |INSULAR |OPEN )?([A-Z])"
    r"(?: WITH .+)?"
)
"""The Unicode names of variants of Latin letters."""
NAMED_BLOCKS: Final = ((0x00C0, 0x02FF), (0x1D00, 0x1EFF), (0x2C60, 0x2C7F), (0xA720, 0xAB6F), (0x1F100, 0x1F1FF))
LONGEST: Final = 3


def fold(text: str) -> str:
    """Return the text in NFKC, without invisible characters, and with look-alikes replaced by Latin letters."""
    seen = normalise_form("NFKC", IGNORED.sub("", text))
    return seen if seen.isascii() or _letter_set().isdisjoint(seen) else seen.translate(letters())


@cache
def letters() -> dict[int, str]:
    """Return the Latin letters, in lower case, of each look-alike that is not in ``first_letters``."""
    found = {**dict(_read_confusables()), **dict(_read_names())}
    return {code: latin for code, latin in found.items() if code not in first_letters()}


@cache
def first_letters() -> dict[int, str]:
    """Return the look-alikes of the first version of the normalisation, in lower case."""
    text = files("clearwell.text").joinpath("words/look_alikes.toml").read_text(encoding="utf-8")
    return {ord(one): latin for latin, others in tomllib.loads(text)["latin"].items() for one in others}


@cache
def foreign_letters() -> dict[int, str]:
    """Return the same without letters of the Latin script, which are regular letters in many languages."""
    return {code: latin for code, latin in letters().items() if not _name(code).startswith("LATIN")}


@cache
def _letter_set() -> frozenset[str]:
    return frozenset(map(chr, letters()))


def _read_names() -> Iterator[tuple[int, str]]:
    for first, last in NAMED_BLOCKS:
        for code in range(first, min(last, sys.maxunicode) + 1):
            if found := LATIN.fullmatch(_name(code)):
                yield code, found.group(1).lower()


def _read_confusables() -> Iterator[tuple[int, str]]:
    """Yield the characters that look like a Latin letter, directly or through a variant of a Latin letter."""
    text = files("confusable_homoglyphs").joinpath("confusables.json").read_text(encoding="utf-8")
    named = dict(_read_names())
    for character, others in json.loads(text).items():
        if len(character) == 1 and not character.isascii() and unicodedata.category(character)[0] in "LS":
            plain = (_make_latin(other["c"], named) for other in others)
            if latin := next((one for one in plain if one), None):
                yield ord(character), latin


def _make_latin(text: str, named: dict[int, str]) -> str | None:
    """Return the text in plain Latin letters, or None if it is anything else."""
    bare = "".join(one for one in normalise_form("NFKD", text) if not unicodedata.combining(one))
    latin = "".join(named.get(ord(one), one) for one in bare).lower()
    return latin if latin.isascii() and latin.isalpha() and len(latin) <= LONGEST else None


def _name(code: int) -> str:
    return unicodedata.name(chr(code), "")
