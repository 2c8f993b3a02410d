"""English words without their endings: restarts, restarted and restarting are one word."""

import re
from functools import cache, lru_cache
from typing import Final

from clearwell.text.words import words

DENYING: Final = ("un", "in", "im", "ir", "il", "dis", "non")
SHORTEST_STEM: Final = 4
"""Letters that two words must share to be forms of one."""
_DOUBLED: Final = re.compile(r"(?<=..)([bdfgmnprt])\1$")
_LOST_E: Final = re.compile("[^aeiou][aeiou][^aeiouwxy]")


@cache
def _listed(name: str) -> frozenset[str]:
    return frozenset(words("en")[name].split())


@cache
def _irregular() -> dict[str, str]:
    return {form: line.split()[0] for line in words("en")["irregular"].splitlines() for form in line.split()}


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A word's stem, for comparing and not for showing."""
    if word in _irregular():
        return _irregular()[word]
    if len(word) <= 3 or word in _listed("no_ending"):
        return word
    singular = _singular(word)
    if singular in _irregular() or singular in _listed("no_ending"):
        return _irregular().get(singular, singular)
    return _without_e(_without_ending(_american(singular)))


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zzes", "oes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _american(word: str) -> str:
    british = re.fullmatch(r"(\w{4,})is(e|ed|ing|ation)", word)
    if british and f"{british[1]}ise" not in _listed("ise"):
        return f"{british[1]}iz{british[2]}"
    if word.endswith("our") and len(word) > 5:
        return word[:-3] + "or"
    return {"centre": "center", "metre": "meter", "litre": "liter", "licence": "license"}.get(word, word)


def _without_ending(word: str) -> str:
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    for ending, shortest in (("ing", 6), ("ed", 5)):
        bare = word.removesuffix(ending)
        if bare != word and len(word) >= shortest and re.search("[aeiouy]", bare):
            return f"{bare}e" if _LOST_E.fullmatch(bare) else _DOUBLED.sub(r"\1", bare)
    if word.endswith("ly") and len(word) > 5 and word[-3] not in "aeiou":
        return word[:-2]
    return word


def _without_e(word: str) -> str:
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def derived(one: str, other: str) -> bool:
    """Whether two stems are forms of one word: recommend and recommendation, Asia and Asian."""
    shorter = min(len(one), len(other))
    shared = 0
    while shared < shorter and one[shared] == other[shared]:
        shared += 1
    if shared < SHORTEST_STEM or shared < 0.6 * shorter:
        return False
    return all(not rest or rest in _listed("endings") for rest in (one[shared:], other[shared:]))


def denied(one: str, other: str) -> bool:
    """Whether one is the other with a prefix that denies it: reachable and unreachable."""
    prefix = one.removesuffix(other)
    return len(other) >= SHORTEST_STEM and prefix in DENYING and one not in _listed("no_denial")
