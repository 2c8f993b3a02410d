"""Map letters that look like Latin letters to these, and remove invisible characters: both disguise values.

The pairs come from the Unicode confusables, which the package ``confusable-homoglyphs`` ships as data. They do not name
letters of the Latin script itself, such as small capitals and letters with a stroke; those are read from their Unicode
names. Tombstones were made with these pairs. Letters that are turned, reversed or used for their sound or shape are
read otherwise in addition (``read_letters``), so that the hashes that are stored stay what they are.
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
TURNED: Final = re.compile(
    r"LATIN (?:SMALL |CAPITAL )*LETTER (?:SMALL CAPITAL )?"
    r"(?:(?:(?:TURNED|REVERSED|INVERTED|SIDEWAYS|BARRED|CLOSED) )+(?:OPEN )?([A-Z])|([A-Z]) BAR)(?: WITH .+)?"
)
"""The Unicode names of Latin letters that are turned or have a bar."""
TURNED_BLOCKS: Final = (*NAMED_BLOCKS, (0x2183, 0x2184))
_FOREIGN_LETTERS: Final = re.compile(r"[^\W\d_]+")


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


def read_letters(text: str) -> str:
    """Return the text with turned and reversed letters, and others that stand for a Latin one, as the Latin letters.

    Letters of another script are replaced only in words that have plain Latin letters too.
    """
    if text.isascii() or _reading_set().isdisjoint(text):
        return text
    return _FOREIGN_LETTERS.sub(lambda word: _read_word(word.group()), text)


def _read_word(word: str) -> str:
    if word.isascii() or _reading_set().isdisjoint(word):
        return word
    is_mixed = any(letter.isascii() for letter in word)
    return word.translate(_readings() if is_mixed else _latin_readings())


@cache
def _readings() -> dict[int, str]:
    """Return the Latin letter of each letter that is turned, or that the data say is used for another one."""
    text = files("clearwell.text").joinpath("words/letter_readings.toml").read_text(encoding="utf-8")
    listed = {ord(one): latin for latin, others in tomllib.loads(text)["latin"].items() for one in others}
    turned = dict(_read_turned())
    confused, known = {}, dict(_read_confusables()) | first_letters()
    for character, others in _load_confusables().items():
        if len(character) == 1 and not character.isascii() and ord(character) not in known:
            plain = (turned.get(ord(other["c"])) for other in others if len(other["c"]) == 1)
            if latin := next((one for one in plain if one), None):
                confused[ord(character)] = latin
    return {**confused, **turned, **listed}


@cache
def _latin_readings() -> dict[int, str]:
    return {code: latin for code, latin in _readings().items() if _name(code).startswith("LATIN")}


@cache
def _reading_set() -> frozenset[str]:
    return frozenset(map(chr, _readings()))


def _read_turned() -> Iterator[tuple[int, str]]:
    for first, last in TURNED_BLOCKS:
        for code in range(first, last + 1):
            if found := TURNED.fullmatch(_name(code)):
                yield code, (found.group(1) or found.group(2)).lower()


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
    named = dict(_read_names())
    for character, others in _load_confusables().items():
        if len(character) == 1 and not character.isascii() and unicodedata.category(character)[0] in "LS":
            plain = (_make_latin(other["c"], named) for other in others)
            if latin := next((one for one in plain if one), None):
                yield ord(character), latin


@cache
def _load_confusables() -> dict[str, list[dict[str, str]]]:
    text = files("confusable_homoglyphs").joinpath("confusables.json").read_text(encoding="utf-8")
    loaded: dict[str, list[dict[str, str]]] = json.loads(text)
    return loaded


def _make_latin(text: str, named: dict[int, str]) -> str | None:
    """Return the text in plain Latin letters, or None if it is anything else."""
    bare = "".join(one for one in normalise_form("NFKD", text) if not unicodedata.combining(one))
    latin = "".join(named.get(ord(one), one) for one in bare).lower()
    return latin if latin.isascii() and latin.isalpha() and len(latin) <= LONGEST else None


def _name(code: int) -> str:
    return unicodedata.name(chr(code), "")
