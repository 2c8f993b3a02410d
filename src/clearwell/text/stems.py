"""English words without their endings, after Porter (1980): restarts, restarted and restarting are one word.

For finding and not for showing. It is our own because the rules fit on a page, and a package would bring no more.
Forms that no rule finds (went, bought, children) are listed with the words that sameness compares. Its own stemmer is
more careful, since there a wrong match costs a fact; here it found a little less (recall@5 .712 against .718).
"""

import re
from functools import cache, lru_cache
from typing import Final

from clearwell.text.words import words

KEPT: Final = frozenset({"news", "species", "always", "gas", "bus", "this", "us"})
_SHORTEST: Final = 3
_VOWELS: Final = "aeiou"
_STEP_2: Final = (
    "ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent eli:e ousli:ous ization:ize "
    "ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble logi:log"
)
_STEP_3: Final = "icate:ic ative: alize:al iciti:ic ical:ic ful: ness:"
_STEP_4: Final = "al ance ence er ic able ible ant ement ment ent sion tion ou ism ate iti ous ive ize"


def _rules(text: str) -> list[tuple[str, str]]:
    pairs = [(ending, new) for ending, _, new in (rule.partition(":") for rule in text.split())]
    return sorted(pairs, key=lambda pair: -len(pair[0]))


_RULES_2, _RULES_3, _RULES_4 = _rules(_STEP_2), _rules(_STEP_3), _rules(_STEP_4)


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """The stem of a lower-case word."""
    if len(word) < _SHORTEST or word in KEPT or not word.isascii() or not word.isalpha():
        return word
    word = _tense(_plural(_irregular().get(word, word)))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(_replaced(word, _RULES_2, 1), _RULES_3, 1)
    return _last_e(_replaced(word, _RULES_4, 2))


@cache
def _irregular() -> dict[str, str]:
    return {form: line.split()[0] for line in words("en")["irregular"].splitlines() for form in line.split()}


def _shape(word: str) -> str:
    """c or v for each letter; y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in _VOWELS or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """How often a consonant follows a vowel."""
    return len(re.findall("v+c+", _shape(word)))


def _has_vowel(word: str) -> bool:
    return "v" in _shape(word)


def _short_end(word: str) -> bool:
    """Ends consonant, vowel, consonant, as in hop; the last is not w, x or y."""
    return _shape(word)[-3:] == "cvc" and word[-1] not in "wxy"


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _tense(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        bare = word.removesuffix(ending)
        if bare != word and _has_vowel(bare):
            return _mended(bare)
    return word


def _mended(bare: str) -> str:
    """What is left of hopping is hop, of filing file."""
    if bare.endswith(("at", "bl", "iz")):
        return bare + "e"
    if len(bare) > 1 and bare[-1] == bare[-2] and bare[-1] not in "aeioulsz":
        return bare[:-1]
    return bare + "e" if _measure(bare) == 1 and _short_end(bare) else bare


def _replaced(word: str, rules: list[tuple[str, str]], least: int) -> str:
    for ending, new in rules:
        if word.endswith(ending):
            keep = 1 if ending in ("sion", "tion") else 0
            bare = word[: len(word) - len(ending) + keep]
            return bare + new if _measure(bare) >= least else word
    return word


def _last_e(word: str) -> str:
    if word.endswith("e"):
        size = _measure(word[:-1])
        if size > 1 or (size == 1 and not _short_end(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word
