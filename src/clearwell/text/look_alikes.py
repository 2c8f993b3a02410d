"""Letters that look like Latin ones, and characters that nobody sees: what a disguised value is made of.

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

IGNORED: Final = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Control characters, what Unicode calls default ignorable, the blank Braille pattern, and colours of a terminal."""
LATIN: Final = re.compile(
    r"(?:NEGATIVE (?:CIRCLED|SQUARED) |CROSSED NEGATIVE SQUARED |MODIFIER LETTER |REGIONAL INDICATOR SYMBOL )?"
    r"(?:LATIN )?(?:SMALL |CAPITAL )?LETTER (?:SMALL CAPITAL |DOTLESS |LONG |SCRIPT |INSULAR |OPEN )?([A-Z])"
    r"(?: WITH .+)?"
)
"""The names of characters that are a Latin letter in another form."""
NAMED_BLOCKS: Final = ((0x00C0, 0x02FF), (0x1D00, 0x1EFF), (0x2C60, 0x2C7F), (0xA720, 0xAB6F), (0x1F100, 0x1F1FF))
LONGEST: Final = 3


def fold(text: str) -> str:
    """The text in compatibility form, without what nobody sees, and with look-alikes as the Latin letter."""
    seen = unicodedata.normalize("NFKC", IGNORED.sub("", text))
    return seen if seen.isascii() or _letter_set().isdisjoint(seen) else seen.translate(letters())


@cache
def letters() -> dict[int, str]:
    """The Latin letters, in lower case, that each character stands for, but for those of ``first_letters``."""
    found = {**dict(_read_confusables()), **dict(_read_names())}
    return {code: latin for code, latin in found.items() if code not in first_letters()}


@cache
def first_letters() -> dict[int, str]:
    """The look-alikes of the first version of the normalisation, in lower case."""
    text = files("clearwell.text").joinpath("words/look_alikes.toml").read_text(encoding="utf-8")
    return {ord(one): latin for latin, others in tomllib.loads(text)["latin"].items() for one in others}


@cache
def foreign_letters() -> dict[int, str]:
    """The same without letters of the Latin script: those belong into the words of many languages."""
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
    """The letters whose look-alike is Latin, at once or through a Latin letter in another form."""
    text = files("confusable_homoglyphs").joinpath("confusables.json").read_text(encoding="utf-8")
    named = dict(_read_names())
    for character, others in json.loads(text).items():
        if len(character) == 1 and not character.isascii() and unicodedata.category(character)[0] in "LS":
            plain = (_make_latin(other["c"], named) for other in others)
            if latin := next((one for one in plain if one), None):
                yield ord(character), latin


def _make_latin(text: str, named: dict[int, str]) -> str | None:
    """The text in plain Latin letters; None if it is anything else."""
    bare = "".join(one for one in unicodedata.normalize("NFKD", text) if not unicodedata.combining(one))
    latin = "".join(named.get(ord(one), one) for one in bare).lower()
    return latin if latin.isascii() and latin.isalpha() and len(latin) <= LONGEST else None


def _name(code: int) -> str:
    return unicodedata.name(chr(code), "")
