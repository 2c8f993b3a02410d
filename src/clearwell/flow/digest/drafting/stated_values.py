"""Read the values that statements state, by kind: dates, amounts, numbers of things, and names of persons."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

from clearwell.comparison import Features, Kind
from clearwell.comparison.lexicon import lexicon
from clearwell.comparison.tokens import Token
from clearwell.comparison.value_rules import Value

_LOOSE: Final = frozenset({"ordinal", "relative"})
"""Kinds of values that statements often mention in passing. They are compared only in pairs with the same frame."""
COUNT: Final = "count"
"""A number without a unit. It is in dispute only if most texts have one, and there are two of them."""
COUNTED_NOUN: Final = "count of "
"""The beginning of the kind of a number with what it counts."""
DATE: Final = "date"
SEASON: Final = "season"
PERSON: Final = "person"
CHINESE_PERSON: Final = "person in Chinese"
"""Two kinds, because a name cannot be compared with its form in another script."""
_POSSESSIVE: Final = re.compile(r"['’]s?$")
_NAME_CHARACTERS: Final = range(2, 4)


@dataclass(frozen=True, slots=True)
class StatedValue:
    """A value or a name as a text states it."""

    key: str
    surface: str
    value: Value | None = None


StatedValues: TypeAlias = Mapping[str, Sequence[StatedValue]]
"""The values of a text, by kind."""


def read_values(text: Features) -> dict[str, list[StatedValue]]:
    """Return the values of a text by kind. One that it denies counts only if it states no other one of the kind."""
    found: defaultdict[str, list[StatedValue]] = defaultdict(list)
    denied: defaultdict[str, list[StatedValue]] = defaultdict(list)
    for token in text.tokens:
        if token.value is not None and token.content and token.value.dimension not in _LOOSE:
            kind = DATE if token.value.dimension == SEASON else token.value.dimension
            (denied if token.negated else found)[kind].append(StatedValue(token.key, token.surface, token.value))
    for kind, values in denied.items():
        # "Ten, not seven" states one value, but "not more than seven" is a bound.
        found[kind] = found[kind] or values
    for noun, one in _read_counted(text):
        found[f"{COUNTED_NOUN}{noun}"].append(one)
    if len(found[COUNT]) != 1:
        del found[COUNT]
    for name in _read_persons(text):
        found[PERSON if name.isascii() else CHINESE_PERSON].append(StatedValue(name.casefold(), name))
    return found


def _read_counted(text: Features) -> Iterable[tuple[str, StatedValue]]:
    """Yield each number without a unit with the word right after it: 168 and lockers in "168 lockers"."""
    for token, after in pairwise(text.tokens):
        counted = token.value is not None and token.value.dimension == COUNT and not token.value.weak
        near = token.clause == after.clause and after.start - token.end <= 1
        if counted and near and after.content and after.kind is Kind.WORD:
            yield after.key, StatedValue(token.key, token.surface, token.value)


def _read_persons(text: Features) -> Iterable[str]:
    """Yield names of persons: a given and a family name in Latin letters, or a Chinese name with a known surname.

    The Chinese dictionary alone is not enough: it has 安保 and 迎客 as names.
    """
    surnames = lexicon().surnames
    for at, token in enumerate(text.tokens):
        before = text.tokens[at - 1] if at else None
        named = token.kind is Kind.NAME and token.tag.startswith("nr")
        if named and token.surface[0] in surnames and len(token.surface) in _NAME_CHARACTERS:
            yield token.surface
        elif before is not None and before.surface in surnames and before.end == token.start:
            if named or _may_be_chinese_given(before, token):
                yield before.surface + token.surface
        elif before is not None and _may_be_given(before) and _may_be_family(token):
            between = text.text[before.end : token.start]
            if between == " ":
                yield f"{before.surface} {_POSSESSIVE.sub('', token.surface)}"


def _may_be_chinese_given(surname: Token, token: Token) -> bool:
    """Return whether a noun after a word that is a surname here is a given name: 邱建平, but not 陈主任."""
    given = len(token.surface) == max(_NAME_CHARACTERS) - 1 and token.surface not in lexicon().titles
    return given and surname.tag.startswith("nr") and token.tag.startswith("n")


def _may_be_given(token: Token) -> bool:
    named = token.kind is Kind.NAME or (token.tag == "opens" and token.content)
    return named and token.surface.istitle() and token.surface.isalpha()


def _may_be_family(token: Token) -> bool:
    bare = _POSSESSIVE.sub("", token.surface)
    return token.kind is Kind.NAME and bare.istitle() and bare.isalpha()
