"""English: words are separated and inflected, and abbreviations end with a full stop."""

import re
from functools import cache
from typing import Final

import snowballstemmer

from clearwell.caches import MIB, TextCache
from clearwell.text.languages.language import Language, read_signs
from clearwell.text.words import words

_STOP_WORDS: Final = frozenset(str(words("stop")["en"]).split())
_SNOWBALL: Final = snowballstemmer.stemmer("english")
_SHORTEST: Final = 3
_BRITISH: Final = re.compile(r"(\w{4,})is(e|ed|ing|ation)")
_AMERICAN: Final = {"centre": "center", "metre": "meter", "litre": "liter", "licence": "license"}
_LONGEST_OUR: Final = 5
"""Words up to this length, such as four and hour, have the same spelling everywhere."""
_SHORTENED: Final = re.compile(r"(?:\b(?:e\.\s?g|i\.\s?e|vs|cf|approx|Mr|Mrs|Ms|Dr|Prof))\.$")
"""An abbreviation after which the sentence always continues."""
_MAYBE_SHORTENED: Final = re.compile(r"(?:\b(?:[^\W\d_]\.){2,}|\b(?:etc|al|ca|Inc|Ltd|Corp|Co|St|min|max|hrs?|sec)\.)$")
"""An abbreviation after which the sentence continues unless a capital letter follows, as in 7 a.m. to 9 p.m."""
_BEFORE_NUMBER: Final = re.compile(
    r"\b(?:[Nn]os?|Nr|[Ff]igs?|[Ee]q|[Ss]ec|[Vv]ol|[Cc]h|pp?|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.$"
)
_INITIAL: Final = re.compile(r"(?:^|\b[A-Z][\w-]+ |\b[A-Z]\. ?|\b(?:in|by|of|and|from|to|with|see|for|the) )[A-Z]\.$")
"""An initial, as in George R. R. Martin, but not in "Plan B. It failed": no name begins with a stop word."""
_NUMBER_OF_ITEM: Final = re.compile(r"\(?\d{1,3}[.)]")


def stem(word: str) -> str:
    """Return the stem of a lower-case word. Irregular forms (went, children) are in a list."""
    return _stems[word]


def _find_stem(word: str) -> str:
    if len(word) < _SHORTEST or word in _unchanged() or not word.isascii() or not word.isalpha():
        return word
    stemmed: str = _SNOWBALL.stemWord(_american(_irregular().get(word, word)))
    return stemmed


_stems = TextCache(_find_stem, max_bytes=4 * MIB, bytes_per_character=8)


def _american(word: str) -> str:
    """Return the American spelling: organize for organise, color for colour."""
    british = _BRITISH.fullmatch(word)
    if british and f"{british[1]}ise" not in _never_american():
        return f"{british[1]}iz{british[2]}"
    if word.endswith("our") and len(word) > _LONGEST_OUR:
        return word[:-3] + "or"
    return _AMERICAN.get(word, word)


@cache
def _never_american() -> frozenset[str]:
    return frozenset(words("en")["ise"].split())


@cache
def _unchanged() -> frozenset[str]:
    return frozenset(words("en")["no_ending"].split())


@cache
def _irregular() -> dict[str, str]:
    return {form: line.split()[0] for line in words("en")["irregular"].splitlines() for form in line.split()}


_YEAR: Final = re.compile(r"\(\d{4}")
"""The year of a publication after its author: Tasan M. (2008)."""
_TITLE_END: Final = re.compile(r"[!?]$|[.!?][\"'”’)\]]{1,4}$")
"""The end of a title or a quotation inside a sentence, if a lower-case letter follows."""


def _goes_on(before: str, after: str) -> bool:
    if _SHORTENED.search(before) or _NUMBER_OF_ITEM.fullmatch(before):
        return True
    if _INITIAL.search(before):
        if after[0].isupper():
            return after.split()[0].casefold() not in _STOP_WORDS
        return after[0].islower() or _YEAR.match(after) is not None
    if _BEFORE_NUMBER.search(before):
        return after[0].isdigit()
    if after[0].islower() and _TITLE_END.search(before):
        return True
    return _MAYBE_SHORTENED.search(before) is not None and not after[0].isupper()


ENGLISH: Final = Language(
    code="en",
    separates_words=True,
    sentence_ends=".!?",
    stop_words=_STOP_WORDS,
    signs=read_signs("> more_than < less_than >= at_least <= at_most != not <> not -> to <- from + + - -"),
    segment=str.split,
    stem=stem,
    goes_on=_goes_on,
)
