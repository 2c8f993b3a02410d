"""The words of a text, as the lexical side of retrieval counts them.

English words lose their endings and the words that say nothing; Chinese becomes words and pairs of characters, so that
a word the dictionary lacks is found all the same. What people type to find one exact thing (numbers, dates, versions,
identifiers, addresses, paths) is a term as it was typed, and so are its parts.

Whoever changes what a text becomes also changes ``TOKENIZER_VERSION``: stored terms and those of a query must be alike.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from typing import Final

from clearwell.text.dates import extract_dates
from clearwell.text.languages import CHINESE, ENGLISH
from clearwell.text.languages.english import stem

TOKENIZER_VERSION: Final = 4
DIMENSIONS: Final = 1 << 20
"""Terms are hashed to so many places. In a group of 30,000 terms, a term shares its place with a chance of 3 %."""
LONGEST: Final = 64
"""Characters of a term. What is longer is a blob that nobody types; its parts are terms."""
MOST_PARTS: Final = 4
SHORT_HASH: Final = 7
"""As git shows a commit."""
PAIR: Final = "~"
PAIR_WEIGHT: Final = 0.25
"""A pair of Chinese characters counts so much of a word in a query: most pairs say again what the words said."""

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
    """Each term of the text and how often it stands there."""
    return Counter(_terms(unicodedata.normalize("NFKC", text)))


def weigh_terms(query: str, *, dates: float = 1.0) -> dict[str, float]:
    """Each term of a query and how much it counts, before the group says how rare it is; 0 leaves its dates out."""
    said, written = extract_dates(unicodedata.normalize("NFKC", query))
    weights: dict[str, float] = {}
    for term in _of_words(said):
        weights[term] = weights.get(term, 0.0) + (PAIR_WEIGHT if term.startswith(PAIR) else 1.0)
    for term in written if dates > 0 else ():
        weights[term] = weights.get(term, 0.0) + dates
    return weights


@lru_cache(maxsize=1 << 16)
def dimension(term: str) -> int:
    """The term's place, from 1: the same in every process and on every machine."""
    return int.from_bytes(blake2b(term.encode(), digest_size=4).digest()) % DIMENSIONS + 1


def _terms(text: str) -> Iterator[str]:
    text, dates = extract_dates(text)
    yield from dates
    yield from _of_words(text)


def _of_words(text: str) -> Iterator[str]:
    for piece in _PIECE.finditer(text):
        if piece["cjk"]:
            yield from _chinese(piece["cjk"])
        else:
            yield from _typed(piece["typed"].replace("’", "'"))


def _chinese(run: str) -> Iterator[str]:
    """The words, and the pairs of neighbours, marked as such: they carry what the dictionary does not know."""
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
    """Naïve as it is typed by many. Other scripts keep their marks: there they make another letter."""
    if token.isascii():
        return token
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", token)))


def _without_clitic(word: str) -> str:
    """Caroline's is Caroline, and don't stays."""
    bare, _, ending = word.rpartition("'")
    return bare if ending.casefold() in ("s", "") else word


def _exact(token: str, folded: str) -> Iterator[str]:
    """Something typed exactly: the whole, and what people may remember of it."""
    if _GROUPED.fullmatch(folded):
        folded = folded.replace(",", "")
    if len(folded) <= LONGEST:
        yield stem(folded)
    if _NUMBER.fullmatch(folded):
        yield from _of_number(folded)
    elif not _CLOCK.fullmatch(folded):
        yield from _segments(folded)
        for run in _RUN.findall(token):
            yield from _of_run(run, folded)


def _of_number(folded: str) -> Iterator[str]:
    """1.2.3 of v1.2.3, 1.2 of 1.2.3, and 1200 of 1200.50."""
    bare = folded.removeprefix("v")
    if bare != folded:
        yield bare
    places = bare.split(".")
    if len(places) > 2:
        yield ".".join(places[:2])
    elif len(places) == 2 and len(places[0]) > 2:
        yield places[0]


def _segments(folded: str) -> Iterator[str]:
    """The steps of a path or an address that are typed by themselves, a release, and what hyphens hold together."""
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


def _of_run(run: str, whole: str) -> Iterator[str]:
    """The letters and the digits of an unbroken run. One that changes often is an id, and its crumbs mean nothing."""
    parts = _PART.findall(run)
    if _HASH.fullmatch(run):
        yield run[:SHORT_HASH].casefold()
    if len(parts) > MOST_PARTS:
        if run.casefold() != whole and len(run) <= LONGEST:
            yield run.casefold()
        return
    for part in parts:
        yield from _of_part(part, whole)


def _of_part(part: str, whole: str) -> Iterator[str]:
    folded = part.casefold()
    if folded != whole and folded not in ENGLISH.stop_words and len(folded) <= LONGEST:
        yield stem(folded)
    humps = _HUMP.findall(part)
    if len(humps) > 1:
        yield from (stem(hump.casefold()) for hump in humps if len(hump) > 1)
