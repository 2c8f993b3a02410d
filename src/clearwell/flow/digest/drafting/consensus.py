"""Who departs from what most members of a cluster say: another date, amount or person, in whatever words and language.

Two texts of one cluster speak of the same matter even where their words differ too much to be compared as a pair. So a
value that most state is held against every member that states another one of the same kind in its place.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from clearwell.comparison import Features
from clearwell.comparison.tokens import Kind, Token

MOST_SAY: Final = 0.6
LEAST_SPEAKERS: Final = 2
_CALENDAR: Final = "date"
_PERSON: Final = "person"
_PERSON_LATIN: Final = "person in Latin script"
_NAMED: Final = "name in Latin script"
_REASONS: Final[Mapping[str, str]] = {
    _CALENDAR: "conflict_date",
    "time": "conflict_time",
    "version": "conflict_version",
    _PERSON: "conflict_name",
    _PERSON_LATIN: "conflict_name",
    _NAMED: "conflict_name",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """A text that says something else than a text of the majority, by a message code with its params."""

    of: int
    against: int
    reason: str
    new: str
    known: str


@dataclass(frozen=True, slots=True)
class _Said:
    """One value of a text: what kind it is, which, in which words, and the word beside it."""

    kind: str
    key: str
    surface: str
    beside: frozenset[str] = frozenset()


def find_departures(read: Sequence[Features], speakers: Sequence[frozenset[str]]) -> list[Departure]:
    """For each text that departs from the majority, the first text of the majority in the given order."""
    said = [[*_values(features), *_persons(features), *_names(features)] for features in read]
    kinds = sorted({one.kind for some in said for one in some})
    return [found for kind in kinds for found in _of_kind(kind, said, speakers)]


def _of_kind(kind: str, said: Sequence[Sequence[_Said]], speakers: Sequence[frozenset[str]]) -> list[Departure]:
    by_text = {at: [one for one in some if one.kind == kind] for at, some in enumerate(said)}
    stating = {at: some for at, some in by_text.items() if some}
    voices: dict[str, set[str]] = defaultdict(set)
    for at, some in stating.items():
        for one in some:
            voices[one.key] |= speakers[at]
    if not voices:
        return []
    counts = Counter(key for some in stating.values() for key in {one.key for one in some})
    top = max(counts, key=lambda key: (len(voices[key]), counts[key], key))
    vague = {at for at, some in stating.items() if all(one.key != top and _may_be(one.key, top) for one in some)}
    if len(voices[top]) < LEAST_SPEAKERS or counts[top] < MOST_SAY * (len(stating) - len(vague)):
        return []
    beside_top = {one.key for some in stating.values() if any(two.key == top for two in some) for one in some}
    beside_top |= {one.key for at in vague for one in stating[at]}
    first, known = next((at, one) for at, some in stating.items() for one in some if one.key == top)
    places = frozenset().union(*(one.beside for some in stating.values() for one in some if one.key == top))
    return [
        Departure(
            of=at, against=first, reason=_REASONS.get(kind, "conflict_number"), new=other.surface, known=known.surface
        )
        for at, some in stating.items()
        if (other := _instead(some, beside_top, places)) is not None
    ]


def _may_be(key: str, top: str) -> bool:
    """Whether a date without its day, or without its year, may be the one that most say."""
    parts = [one.removeprefix("date=").split("-") for one in (key, top)]
    return key.startswith("date=") and all(
        one == other or "*" in {one, other} for one, other in zip(*parts, strict=False)
    )


def _instead(some: Sequence[_Said], beside_top: set[str], places: frozenset[str]) -> _Said | None:
    """The value that a text states in the place of the majority's: none of its values are said beside that one."""
    if any(one.key in beside_top for one in some):
        return None
    return next((one for one in some if not one.beside or one.beside & places), None)


def _values(features: Features) -> Iterable[_Said]:
    """A bare number is of one kind with another only where the same word stands beside it."""
    tokens = features.tokens
    for at, token in enumerate(tokens):
        if token.value is None or not token.content:
            continue
        kind, key = token.value.dimension, token.key
        if kind == "time":
            key = _hour_of_half_a_day(token.value.amount)
        near = frozenset(one.key for one in tokens[max(0, at - 2) : at + 3] if one.value is None and one.content)
        bare = kind in {"count", "version"}
        yield _Said(kind, key, token.surface, near or frozenset({""}) if bare else frozenset())


def _hour_of_half_a_day(amount: str) -> str:
    """Many leave out whether it is morning or afternoon."""
    minutes = amount.rstrip("?")
    return str(int(minutes) % 720) if minutes.isdigit() else amount


def _persons(features: Features) -> Iterable[_Said]:
    tokens = features.tokens
    for at, token in enumerate(tokens):
        if token.kind is Kind.NAME and token.tag == "nr":
            yield _Said(_PERSON, token.key, token.surface)
        elif at and _given(tokens[at - 1]) and _family(token) and tokens[at - 1].clause == token.clause:
            full = f"{tokens[at - 1].surface} {token.surface}"
            yield _Said(_PERSON_LATIN, f"{tokens[at - 1].key} {token.key}", full)


def _names(features: Features) -> Iterable[_Said]:
    """Products, places and the like, in Latin letters: in Chinese they are no other words than others."""
    for token in features.tokens:
        if token.kind is Kind.NAME and token.surface.isascii() and len(token.surface) > 1:
            yield _Said(_NAMED, token.key, token.surface)


def _family(token: Token) -> bool:
    return token.kind is Kind.NAME and token.surface.istitle() and token.surface.isalpha()


def _given(token: Token) -> bool:
    return token.surface.istitle() and token.surface.isalpha() and (token.kind is Kind.NAME or token.tag == "opens")
