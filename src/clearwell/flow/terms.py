"""The words of a text, as the lexical side of retrieval counts them.

English words lose their endings and the words that say nothing; Chinese becomes words and pairs of characters, so that
a word the dictionary lacks is found all the same. What people type to find one exact thing (numbers, dates, versions,
identifiers, addresses, paths) is a term as it was typed, and so are its parts.

Whoever changes what a text becomes also changes ``TOKENIZER_VERSION``: stored terms and those of a query must be alike.
"""

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache
from hashlib import blake2b
from importlib.resources import files
from itertools import pairwise
from typing import Final

import rjieba

from clearwell.flow.dates import without_dates
from clearwell.flow.stems import stem

TOKENIZER_VERSION: Final = 1
DIMENSIONS: Final = 1 << 20
"""Terms are hashed to so many places. In a group of 30,000 terms, a term shares its place with a chance of 3 %."""
LONGEST: Final = 64
"""Characters of a term. What is longer is a blob that nobody types; its parts are terms."""
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
_PART: Final = re.compile(rf"[^\W\d_{_HAN}]+|\d+")
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+|\d+")


@cache
def _stop_words(language: str) -> frozenset[str]:
    text = files("clearwell.flow").joinpath("words/stop.toml").read_text(encoding="utf-8")
    return frozenset(str(tomllib.loads(text)[language]).split())


def terms(text: str) -> Counter[str]:
    """Each term of the text and how often it stands there."""
    return Counter(_terms(unicodedata.normalize("NFKC", text)))


def weights(query: str) -> dict[str, float]:
    """Each term of a query and how much it counts, before the group says how rare it is."""
    return {term: count * (PAIR_WEIGHT if term.startswith(PAIR) else 1.0) for term, count in terms(query).items()}


@lru_cache(maxsize=1 << 16)
def dimension(term: str) -> int:
    """The term's place, from 1: the same in every process and on every machine."""
    return int.from_bytes(blake2b(term.encode(), digest_size=4).digest()) % DIMENSIONS + 1


def _terms(text: str) -> Iterator[str]:
    text, dates = without_dates(text)
    yield from dates
    for piece in _PIECE.finditer(text):
        if piece["cjk"]:
            yield from _chinese(piece["cjk"])
        else:
            yield from _typed(piece["typed"].replace("’", "'"))


def _chinese(run: str) -> Iterator[str]:
    """The words, and the pairs of neighbours, marked as such: they carry what the dictionary does not know."""
    stop = _stop_words("zh")
    for word in rjieba.cut(run):
        if not stop.issuperset(word):
            yield word
    for first, second in pairwise(run):
        if first not in stop and second not in stop:
            yield PAIR + first + second


def _typed(token: str) -> Iterator[str]:
    folded = token.casefold()
    if "'" in folded:
        folded, token = _without_clitic(folded), _without_clitic(token)
    if folded in _stop_words("en") or not folded:
        return
    if folded.isalpha() and (folded == token or token.istitle() or token.isupper()):
        yield stem(folded)
        return
    if folded.isdigit():
        yield str(int(folded)) if len(folded) <= 2 else folded
        return
    yield from _exact(token, folded)


def _without_clitic(word: str) -> str:
    """Caroline's is Caroline, and don't stays."""
    bare, _, ending = word.rpartition("'")
    return bare if ending.casefold() in ("s", "") else word


def _exact(token: str, folded: str) -> Iterator[str]:
    """Something typed exactly: the whole, and what people may remember of it."""
    if _GROUPED.fullmatch(folded):
        folded = folded.replace(",", "")
    if len(folded) <= LONGEST:
        yield folded
    if _NUMBER.fullmatch(folded):
        if folded.startswith("v"):
            yield folded[1:]
    elif not _CLOCK.fullmatch(folded):
        for part in _PART.findall(token):
            yield from _of_part(part, folded)


def _of_part(part: str, whole: str) -> Iterator[str]:
    folded = part.casefold()
    if folded != whole and folded not in _stop_words("en") and len(folded) <= LONGEST:
        yield stem(folded)
    humps = _HUMP.findall(part)
    if len(humps) > 1:
        yield from (stem(hump.casefold()) for hump in humps if len(hump) > 1)
