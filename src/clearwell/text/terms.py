"""Extract the terms of a text for lexical retrieval.

English words are stemmed, and stop words are dropped. Chinese becomes words and pairs of characters, so that words
missing from the dictionary are found too. What people type to find one exact thing (numbers, dates, versions,
identifiers, addresses, paths) is a term as it was typed, and so are its parts.

Change ``TOKENIZER_VERSION`` with every change of the terms: stored terms and those of a query must be comparable.
"""

import re
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from itertools import pairwise
from typing import Final

from clearwell.caches import MIB, TextCache
from clearwell.text.dates import extract_dates
from clearwell.text.languages import CHINESE, ENGLISH
from clearwell.text.languages.english import stem
from clearwell.text.unicode_forms import normalise_form

TOKENIZER_VERSION: Final = 4
DIMENSIONS: Final = 1 << 20
"""Number of dimensions that terms are hashed to. With 30,000 terms, the chance of a collision is 3 % per term."""
LONGEST: Final = 64
"""Maximum number of characters of a term. Nobody types longer ones; only their parts are terms."""
MAX_PARTS: Final = 4
SHORT_HASH: Final = 7
"""Length of a short hash, as git displays it."""
PAIR: Final = "~"
PAIR_WEIGHT: Final = 0.25
"""Weight of a pair of Chinese characters in a query, relative to a word: most pairs only repeat the words."""

_HAN: Final = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_KANA_HANGUL: Final = "\u3041-\u30ff\uac00-\ud7af"
_WORD: Final = rf"[^\W_{_HAN}{_KANA_HANGUL}]"
_JOINT: Final = r"(?:['’.:/\\@_+\-]+|(?<=\d),(?=\d{3}(?!\d)))"
_PIECE: Final = re.compile(rf"(?P<cjk>[{_HAN}{_KANA_HANGUL}]+)|(?P<typed>{_WORD}+(?:{_JOINT}{_WORD}+)*(?:\+\+|\#)?)")
_CLOCK: Final = re.compile(r"\d{1,2}(?::\d{2}){1,2}")
_GROUPED: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_NUMBER: Final = re.compile(r"v?\d+(?:\.\d+)*")
_VERSION: Final = re.compile(r"v?(?P<release>\d+(?:\.\d+)+)[-+].*|v(?P<bare>\d.*)")
_APART: Final = re.compile(r"[:/\\@]+")
_HASH: Final = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{10,64}", re.IGNORECASE)
_RUN: Final = re.compile(rf"{_WORD}+")
_HYPHEN: Final = re.compile(r"[-_']+")
_ACCENTS: Final = re.compile(r"(?<=[a-z])[\u0300-\u036f]+", re.IGNORECASE)
_PART: Final = re.compile(rf"[^\W\d_{_HAN}]+|\d+")
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+|\d+")


def count_terms(text: str) -> Counter[str]:
    """Return each term of the text and how often it occurs."""
    return Counter(_terms(normalise_form("NFKC", text)))


def weigh_terms(query: str, *, dates: float = 1.0) -> dict[str, float]:
    """Return the weight of each term of a query, before its rarity in the group. ``dates=0`` leaves out dates."""
    said, written = extract_dates(normalise_form("NFKC", query))
    weights: dict[str, float] = {}
    for term in _split_words(said):
        weights[term] = weights.get(term, 0.0) + (PAIR_WEIGHT if term.startswith(PAIR) else 1.0)
    for term in written if dates > 0 else ():
        weights[term] = weights.get(term, 0.0) + dates
    return weights


def dimension(term: str) -> int:
    """Return the dimension of a term, from 1. It is the same in every process and on every machine."""
    return _dimensions[term]


def _hash_term(term: str) -> int:
    return int.from_bytes(blake2b(term.encode(), digest_size=4).digest()) % DIMENSIONS + 1


_dimensions = TextCache(_hash_term, max_bytes=16 * MIB, bytes_per_character=4)


def _terms(text: str) -> Iterator[str]:
    text, dates = extract_dates(text)
    yield from dates
    yield from _split_words(text)


def _split_words(text: str) -> Iterator[str]:
    for piece in _PIECE.finditer(text):
        if piece["cjk"]:
            yield from _chinese(piece["cjk"])
        else:
            yield from _typed(piece["typed"].replace("’", "'"))


def _chinese(run: str) -> Iterator[str]:
    """Yield the words, and marked pairs of adjacent characters, which cover words missing from the dictionary."""
    stop = CHINESE.stop_words
    for word in CHINESE.segment(run):
        if not stop.issuperset(word):
            yield word
    for first, second in pairwise(run):
        if first not in stop and second not in stop:
            yield PAIR + first + second


def _typed(token: str) -> Iterator[str]:
    token = _without_accents(token)
    folded = token.casefold()
    if "'" in folded:
        folded, token = _without_clitic(folded), _without_clitic(token)
    if folded in ENGLISH.stop_words or not folded:
        return
    if folded.isalpha() and (folded == token or token.istitle() or token.isupper()):
        yield stem(folded)
        return
    if folded.isdigit():
        yield str(int(folded)) if len(folded) <= 2 else folded
        return
    yield from _exact(token, folded)


def _without_accents(token: str) -> str:
    """Return a token without accents on Latin letters: naïve becomes naive. In other scripts, marks are kept."""
    if token.isascii():
        return token
    return normalise_form("NFC", _ACCENTS.sub("", normalise_form("NFD", token)))


def _without_clitic(word: str) -> str:
    """Return a word without a possessive ending: Caroline's becomes Caroline, don't is unchanged."""
    bare, _, ending = word.rpartition("'")
    return bare if ending.casefold() in ("s", "") else word


def _exact(token: str, folded: str) -> Iterator[str]:
    """Yield the terms of an identifier or number: the whole, and the parts that people may search for."""
    if _GROUPED.fullmatch(folded):
        folded = folded.replace(",", "")
    if len(folded) <= LONGEST:
        yield stem(folded)
    if _NUMBER.fullmatch(folded):
        yield from _split_number(folded)
    elif not _CLOCK.fullmatch(folded):
        yield from _segments(folded)
        for run in _RUN.findall(token):
            yield from _split_run(run, folded)


def _split_number(folded: str) -> Iterator[str]:
    """Yield shorter forms of a number: 1.2.3 of v1.2.3, 1.2 of 1.2.3, and 1200 of 1200.50."""
    bare = folded.removeprefix("v")
    if bare != folded:
        yield bare
    places = bare.split(".")
    if len(places) > 2:
        yield ".".join(places[:2])
    elif len(places) == 2 and len(places[0]) > 2:
        yield places[0]


def _segments(folded: str) -> Iterator[str]:
    """Yield the segments of a path or an address, the release of a version, and hyphenated words joined."""
    steps = _APART.split(folded)
    for step in steps if len(steps) > 1 else ():
        if not step.isalnum() and len(step) <= LONGEST:
            yield step
    version = _VERSION.fullmatch(folded)
    if version:
        yield version["release"] or version["bare"]
    joined = _HYPHEN.sub("", folded)
    if joined != folded and joined.isalnum() and len(joined) <= LONGEST:
        yield stem(joined)


def _split_run(run: str, whole: str) -> Iterator[str]:
    """Yield the parts of letters and of digits in a run. A run with many parts is an id, and its parts are skipped."""
    parts = _PART.findall(run)
    if _HASH.fullmatch(run):
        yield run[:SHORT_HASH].casefold()
    if len(parts) > MAX_PARTS:
        if run.casefold() != whole and len(run) <= LONGEST:
            yield run.casefold()
        return
    for part in parts:
        yield from _split_part(part, whole)


def _split_part(part: str, whole: str) -> Iterator[str]:
    folded = part.casefold()
    if folded != whole and folded not in ENGLISH.stop_words and len(folded) <= LONGEST:
        yield stem(folded)
    humps = _HUMP.findall(part)
    if len(humps) > 1:
        yield from (stem(hump.casefold()) for hump in humps if len(hump) > 1)
