"""Recognise English imperatives: sentences that begin with a verb."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from clearwell.text.words import words

_LONGEST: Final = 240
_MARKS: Final = ".,;:!?'\"()“”‘’"
_CONDITION: Final = re.compile(
    r"(?:if|when|once|before|after|to|in order to|for|in case|using|with|as needed|where|from there"
    r"|(?:in|from|at) (?:your|each|every))\b"
)
_MAX_CLAUSES: Final = 4
_FINITE_WITHIN: Final = 6
"""A word that can be a noun or a verb is a noun if a finite verb is among this many words after it."""
_FEWEST_TOKENS: Final = 3
_ENDING: Final = re.compile(r"\w{2,}(?:ed|s|es|ing)$")


def is_imperative(lower: str) -> bool:
    """Return whether a sentence in lower case begins with a verb, possibly after a condition."""
    if _opens_with_verb(lower[:_LONGEST]):
        return True
    if not _CONDITION.match(lower):
        return False
    clauses = lower[:_LONGEST].split(", ", _MAX_CLAUSES)[1:]
    return any(_opens_with_verb(clause, certain=True) for clause in clauses)


def has_verb(lower: str) -> bool:
    """Return whether a line in lower case has a word that can be a finite verb."""
    verbs = _words("verbs")
    tokens = (token.strip(_MARKS) for token in lower.split())
    return any(token in verbs or _ENDING.match(token) or token.endswith("n't") for token in tokens)


def _opens_with_verb(clause: str, *, certain: bool = False) -> bool:
    """Return whether a clause begins with a verb. With ``certain``, it must have an object if it can be a noun.

    The object can have no article: use WebSurfer to follow the path.
    """
    raw = clause.split()
    tokens = [token.strip(_MARKS) for token in raw]
    place = 0
    while place < len(tokens) - 1 and (tokens[place] in _words("adverbs") or tokens[place].endswith("ly")):
        place += 1
    if not tokens or raw[place].endswith(":"):
        return False
    verb, rest = tokens[place], tokens[place + 1 :]
    if verb == "don't" or (verb in {"do", "be"} and rest[:1] in (["not"], ["sure"], ["careful"])):
        return True
    if verb not in _words("imperatives"):
        return False
    if _has_object(rest):
        return True
    if verb not in _words("noun_like"):
        return bool(rest) or not certain
    if certain:
        return rest[1:2] == ["to"]
    return not any(token in _words("verbs") or token.endswith("ed") for token in rest[:_FINITE_WITHIN])


def _has_object(rest: Sequence[str]) -> bool:
    """Return whether a verb is followed by its object or another verb: the page, to the next one, and run it."""
    before, after = (*rest[:2], "", "")[:2]
    return before in _words("before_object") or (before == "and" and after in _words("imperatives"))


def continues_instruction(lower: str) -> bool:
    """Return whether a sentence continues the instruction before it: its first word has an object, and is unknown."""
    tokens = [token.strip(_MARKS) for token in lower[:_LONGEST].split()[:3]]
    if len(tokens) < _FEWEST_TOKENS:
        return False
    first, second = tokens[:2]
    known = first in _words("verbs") or first in _words("before_object") or first in _words("adverbs")
    return first.isalpha() and not known and not _ENDING.match(first) and second in _words("before_object")


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(words("kinds_en")[name].split())
