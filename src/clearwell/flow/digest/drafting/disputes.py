"""Find the sides of a dispute: statements of a cluster with opposing values or names, or that deny each other.

The statements of a cluster are about the same subject even if their wordings differ too much for a comparison in pairs.
So their values of one kind (dates, amounts, persons) are compared across the cluster. Two values that occur in one
statement, or that may be the same, are compatible: "1,180 kWh instead of 1,035 kWh" is not a dispute. Two sentences
with one frame that also name different things are not a dispute either: each can be true of its own subject.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import combinations
from typing import Final

from clearwell.comparison import Features, Kind
from clearwell.comparison.pair import likeness
from clearwell.comparison.polarity import NEGATION
from clearwell.comparison.tokens import Token
from clearwell.comparison.values import agree
from clearwell.flow.digest.drafting.denials import deny_parts, find_denials
from clearwell.flow.digest.drafting.opposites import find_opposites
from clearwell.flow.digest.drafting.oppositions import MIN_BACKING, Dispute, Opposition, unite
from clearwell.flow.digest.drafting.slots import find_slot_disputes
from clearwell.flow.digest.drafting.stated_values import (
    CHINESE_PERSON,
    COUNT,
    COUNTED_NOUN,
    DATE,
    PERSON,
    SEASON,
    StatedValue,
    StatedValues,
    read_values,
)
from clearwell.flow.digest.drafting.states import find_state_disputes

VALUES: Final = frozenset({"conflict_number", "conflict_date", "conflict_time", "conflict_unit", "conflict_version"})
COUNTED: Final = 0.75
"""Minimum share of texts with a number for a dispute about it."""
_WEEKDAY: Final = "weekday"
_TIME: Final = "time"
_NAMES: Final = frozenset({PERSON, CHINESE_PERSON})
_BACKED: Final = _NAMES | {_WEEKDAY, COUNT}
"""Kinds whose values are in dispute only if several voices support one side: two single voices may talk about different
subjects."""
_REASONS: Final[Mapping[str, str]] = {
    DATE: "conflict_date",
    _WEEKDAY: "conflict_date",
    _TIME: "conflict_time",
    "version": "conflict_version",
    PERSON: "conflict_name",
    CHINESE_PERSON: "conflict_name",
}
_FIRST_OF_SPRING: Final = 3
_NOUN_TAGS: Final = ("n", "vn", "j", "l", "s")
"""Tags of Chinese words that can name a subject: 现有 and 共有 do not."""
STATED: Final = 0.5
"""Share of the texts of a cluster with a value of one kind. With fewer, the values are mentioned in passing; with as
many, only values of texts in the same frame are compared."""
TWO: Final = 2
FRAMED: Final = 0.5
"""Minimum share of words in the same order for two texts to have the same frame."""
MAX_SIDES: Final = 4
"""Maximum number of sides of a dispute. A cluster with more is a series."""
SIBLINGS: Final = 0.6
"""Minimum share of words in the same order for two texts to be one sentence about two subjects."""


def find_dispute(
    read: Sequence[Features],
    voices: Sequence[frozenset[str]],
    *,
    topic: frozenset[str],
    groups: Sequence[int],
    opposed: Sequence[Opposition],
    times: Sequence[Mapping[str, datetime]] = (),
) -> Dispute:
    """Return the dispute of a cluster; it has no sides if the texts do not disagree.

    ``topic`` has the terms of most texts. ``groups`` and ``opposed`` are the result of the comparison in pairs.
    ``times`` says when each voice said each text last: a voice that changed its mind is on the side of its latest text.
    """
    stated = [read_values(text) for text in read]
    sides_by_kind = {
        kind: _group_by_kind(kind, stated, voices) for kind in sorted({kind for some in stated for kind in some})
    }
    exact = {kind: sides for kind, sides in sides_by_kind.items() if not kind.startswith(COUNT)}
    strays = frozenset(at for kind, sides in exact.items() for at in _find_strays(sides, kind, read, stated))
    found = [
        *_by_values(sides_by_kind, strays, read, voices, stated),
        *find_denials(read, voices, topic=topic),
        *find_opposites(read, voices, topic=topic),
        *find_slot_disputes(read, voices, topic=topic),
        *find_state_disputes(read, voices, topic=topic),
        *_by_pairs(read, groups, [one for one in opposed if not _is_settled(one, read, sides_by_kind, strays, stated)]),
    ]
    latest = _keep_latest(voices, times)
    credible = [
        one
        for one in found
        if _is_between_speakers(one, voices) or (_is_framed(one, read) and _is_between_speakers(one, latest(one)))
    ]
    ranked = sorted(credible, key=lambda one: (-_count_dissent(one, voices), not one.sure))
    if not ranked:
        return Dispute(strays=strays)
    best = ranked[0]
    order = sorted(best.sides, key=lambda side: (-len(unite(side, voices)), side[0]))
    return Dispute(sides=tuple(order), opposed=_collect(ranked), sure=best.sure, strays=strays)


def _is_settled(
    one: Opposition,
    read: Sequence[Features],
    sides_by_kind: Mapping[str, Sequence[Sequence[int]]],
    strays: Collection[int],
    stated: Sequence[StatedValues],
) -> bool:
    """Return whether two texts are about different subjects, or are compatible, as a third text shows."""
    if one.of in strays or one.against in strays:
        return True
    if one.reason == NEGATION:
        return deny_parts(read[one.of], read[one.against], read)
    if measure_frame(read[one.of], read[one.against]) < SIBLINGS and _states_only_seasons(
        [one.of, one.against], stated
    ):
        return True
    if one.reason in VALUES and _mention_in_passing(
        (stated[one.of].keys() & stated[one.against].keys()) - _NAMES, stated
    ):
        return True
    return one.reason in VALUES and any(
        one.of in side and one.against in side and _is_about(one, kind, stated)
        for kind, sides in sides_by_kind.items()
        for side in sides
    )


def _mention_in_passing(kinds: Collection[str], stated: Sequence[StatedValues]) -> bool:
    """Return whether few texts have values of these kinds."""
    return bool(kinds) and all(_measure_share(kind, stated) < STATED for kind in kinds)


def _measure_share(kind: str, stated: Sequence[StatedValues]) -> float:
    """Return the share of texts that have a value of this kind."""
    return sum(kind in some for some in stated) / len(stated)


def _is_about(one: Opposition, kind: str, stated: Sequence[StatedValues]) -> bool:
    """Return whether the opposed values are of this kind: a common date does not settle a dispute about an amount."""
    places = {"new": one.of, "known": one.against}
    return all(
        not _words_of(kind, at, stated).isdisjoint(one.params.get(name, "").casefold().split())
        for name, at in places.items()
    )


def measure_frame(one: Features, other: Features) -> float:
    """Return the share of words in the same order: 1 if only the order differs, 0 if the languages differ."""
    if one.language is not other.language:
        return 0.0
    return 1.0 if sorted(one.keys) == sorted(other.keys) else likeness(one.keys, other.keys)


def _collect(disputes: Iterable[Dispute]) -> tuple[Opposition, ...]:
    """Return the oppositions of all disputes, one for each pair of texts."""
    found: dict[frozenset[int], Opposition] = {}
    for dispute in disputes:
        for one in dispute.opposed:
            found.setdefault(frozenset({one.of, one.against}), one)
    return tuple(found.values())


def _count_dissent(dispute: Dispute, voices: Sequence[frozenset[str]]) -> int:
    """Return the number of voices that are not on the largest side."""
    sizes = sorted(len(unite(side, voices)) for side in dispute.sides)
    return sum(sizes[:-1])


def _is_framed(dispute: Dispute, read: Sequence[Features]) -> bool:
    """Return whether opposed texts are one sentence with another value: only then is it certain that a voice that said
    both changed its mind."""
    return all(measure_frame(read[one.of], read[one.against]) >= FRAMED for one in dispute.opposed)


def _keep_latest(
    voices: Sequence[frozenset[str]], times: Sequence[Mapping[str, datetime]]
) -> Callable[[Dispute], Sequence[frozenset[str]]]:
    """Return a function that leaves each voice only on its latest text among those of a dispute."""

    def keep(dispute: Dispute) -> Sequence[frozenset[str]]:
        said = [(when, voice, at) for side in dispute.sides for at in side for voice, when in times[at].items()]
        last = {voice: at for _, voice, at in sorted(said, key=lambda one: one[0])}
        return [frozenset(voice for voice in some if last.get(voice, at) == at) for at, some in enumerate(voices)]

    return keep if times else lambda _: voices


def _is_between_speakers(dispute: Dispute, voices: Sequence[frozenset[str]]) -> bool:
    """Return whether two sides each have a voice that is not on the other. One voice may have changed its mind."""
    sides = [unite(side, voices) for side in dispute.sides]
    return any(one - other and other - one for one, other in combinations(sides, 2))


# values and names


def _group_by_kind(kind: str, stated: Sequence[StatedValues], voices: Sequence[frozenset[str]]) -> list[list[int]]:
    """Return the texts with a value of this kind, grouped into sides, the side with the most voices first."""
    sides = _group_compatible({at: some[kind] for at, some in enumerate(stated) if kind in some})
    return sorted(sides, key=lambda side: (-len(unite(side, voices)), side[0]))


def _by_values(
    sides_by_kind: Mapping[str, Sequence[Sequence[int]]],
    strays: Collection[int],
    read: Sequence[Features],
    voices: Sequence[frozenset[str]],
    stated: Sequence[StatedValues],
) -> Iterable[Dispute]:
    for kind, all_sides in sides_by_kind.items():
        sides = [own for side in all_sides if (own := [at for at in side if at not in strays])]
        places = [at for side in sides for at in side]
        if not 1 < len(sides) <= MAX_SIDES or _measure_share(kind, stated) <= STATED:
            continue
        if kind.startswith(COUNT) and len(sides) > TWO:
            continue
        if kind == COUNT and len(places) < COUNTED * len(read):
            continue
        backing, everybody = len(unite(sides[0], voices)), len(unite(places, voices))
        exact = kind != _WEEKDAY and _are_same_but_for(kind, places, read, stated)
        most = backing >= max(MIN_BACKING, everybody / 2)
        passing = kind == DATE and any(_states_only_seasons([side[0]], stated) for side in sides)
        backed = kind in _BACKED or kind.startswith(COUNTED_NOUN)
        if (backed or passing) and not (exact or most):
            continue
        yield Dispute(
            sides=tuple(tuple(side) for side in sides),
            opposed=tuple(_oppose(kind, side[0], sides[0][0], stated) for side in sides[1:]),
            sure=exact or (most and kind not in _NAMES),
        )


def _states_only_seasons(places: Iterable[int], stated: Sequence[StatedValues]) -> bool:
    """Return whether the dates of one of these texts are seasons, often mentioned in passing: "in summer it is hot"."""
    dates = [stated[at].get(DATE, ()) for at in places]
    return any(some and all(one.value and one.value.dimension == SEASON for one in some) for some in dates)


def _oppose(kind: str, of: int, against: int, stated: Sequence[StatedValues]) -> Opposition:
    params = {"new": stated[of][kind][0].surface, "known": stated[against][kind][0].surface}
    return Opposition(of=of, against=against, reason=_REASONS.get(kind, "conflict_number"), params=params)


def _group_compatible(stated: Mapping[int, Sequence[StatedValue]]) -> list[list[int]]:
    """Group texts so that the values of a group are compatible.

    A less exact value, such as a month among days of that month, joins the side that it is compatible with. If there
    are several such sides, it joins none.
    """
    sides: list[tuple[list[int], list[StatedValue]]] = []
    for at in sorted(stated, key=lambda at: (-max(map(_count_parts, stated[at])), at)):
        values = _select_exact(stated[at])
        near = [side for side in sides if _are_compatible(values, side[1])]
        same = [side for side in near if {one.key for one in values} & {other.key for other in side[1]}]
        if not near or same:
            sides = [side for side in sides if side not in same]
            places = [place for side in same for place in side[0]]
            sides.append(([*places, at], [*(one for side in same for one in side[1]), *values]))
        elif len(near) == 1:
            near[0][0].append(at)
    return [sorted(places) for places, _ in sides]


def _are_compatible(values: Sequence[StatedValue], others: Sequence[StatedValue]) -> bool:
    """Return whether values may be the same, or lie in a range: noon, and between 11:30 and 12:30."""
    if any(_may_agree(one, other) for one in values for other in others):
        return True
    return _lie_between(values, others) or _lie_between(others, values)


def _lie_between(values: Sequence[StatedValue], ends: Sequence[StatedValue]) -> bool:
    minutes, limits = ([_read_minutes(one) for one in some] for some in (values, ends))
    known = [limit for limit in limits if limit is not None]
    return len(known) > 1 and all(one is not None and min(known) <= one <= max(known) for one in minutes)


def _read_minutes(one: StatedValue) -> int | None:
    """Return a time of the day in minutes, or None for another kind of value."""
    if one.value is None or one.value.dimension != _TIME:
        return None
    minutes = one.value.amount.rstrip("?")
    return int(minutes) if minutes.isdigit() else None


def _select_exact(values: Sequence[StatedValue]) -> list[StatedValue]:
    """Return the most exact values of a text: next to a day, a season is only mentioned in passing."""
    most = max(map(_count_parts, values))
    return [one for one in values if _count_parts(one) == most]


def _count_parts(one: StatedValue) -> int:
    """Return how exact a value is, as the number of its parts: a day has more parts than a month."""
    return sum(part != "*" for part in one.key.split("=")[-1].split("-"))


def _may_agree(one: StatedValue, other: StatedValue) -> bool:
    if one.value is None or other.value is None:
        return one.key in other.key or other.key in one.key
    if {one.value.dimension, other.value.dimension} == {DATE, SEASON}:
        season, date = (one.value, other.value) if one.value.dimension == SEASON else (other.value, one.value)
        return _is_in_season(date.amount, season.amount)
    return agree(one.value, other.value)


def _is_in_season(date: str, season: str) -> bool:
    """Return whether a date can be in a season. Season 1 is spring, from March on. Without a month, any date can."""
    month = date.split("-")[1] if "-" in date else "*"
    return not month.isdigit() or (int(month) - _FIRST_OF_SPRING) // 3 % 4 + 1 == int(season)


def _find_strays(
    sides: Sequence[Sequence[int]], kind: str, read: Sequence[Features], stated: Sequence[StatedValues]
) -> Iterable[int]:
    """Yield the texts that say the same as the largest side, but about another subject."""
    for side in sides[1:]:
        for at in side:
            framed = [other for other in sides[0] if measure_frame(read[at], read[other]) >= SIBLINGS]
            disputed = {place: _words_of(kind, place, stated) for place in (at, *framed)}
            if framed and all(
                are_siblings((read[at], disputed[at]), (read[other], disputed[other])) for other in framed
            ):
                yield at


def _words_of(kind: str, at: int, stated: Sequence[StatedValues]) -> frozenset[str]:
    return frozenset(word for one in stated[at][kind] for word in one.surface.casefold().split())


def are_siblings(one: tuple[Features, Collection[str]], other: tuple[Features, Collection[str]]) -> bool:
    """Return whether each of two texts with one frame has words of its own in the clauses of the disputed words."""
    own, others = _read_context(*one), _read_context(*other)
    everything = [{token.key for token in text.tokens} for text, _ in (one, other)]
    return bool(own - everything[1]) and bool(others - everything[0])


def _read_context(text: Features, disputed: Collection[str]) -> frozenset[str]:
    """Return the content words in the clauses of the disputed words, without these, values and names."""
    clauses = {token.clause for token in text.tokens if _is_disputed(token, disputed)}
    return frozenset(
        token.key
        for token in text.tokens
        if token.clause in clauses
        and token.content
        and (token.key.isascii() or token.tag.startswith(_NOUN_TAGS))
        and token.value is None
        and token.kind is not Kind.NAME
        and not _is_disputed(token, disputed)
    )


def _is_disputed(token: Token, disputed: Collection[str]) -> bool:
    surface = token.surface.casefold()
    return any(surface in quoted or quoted in surface for quoted in disputed if quoted)


def _are_same_but_for(
    kind: str, places: Sequence[int], read: Sequence[Features], stated: Sequence[StatedValues]
) -> bool:
    """Return whether texts have the same content except for the values of one kind."""
    rests = set()
    for at in places:
        own = {one.key for one in stated[at][kind]}
        words = _words_of(kind, at, stated)
        rest = {
            (token.key, token.negated)
            for token in read[at].tokens
            if token.content and token.key not in own and token.surface.casefold() not in words
        }
        rests.add(frozenset(rest))
    return len(rests) == 1


# pairs


def _by_pairs(read: Sequence[Features], groups: Sequence[int], opposed: Sequence[Opposition]) -> Iterable[Dispute]:
    """Yield a dispute for each opposed pair. Texts that say the same as one of the pair are on its side."""
    for one in opposed:
        new, known = (one.params.get(name, "").casefold().split() for name in ("new", "known"))
        framed = measure_frame(read[one.of], read[one.against]) >= SIBLINGS
        if framed and are_siblings((read[one.of], new), (read[one.against], known)):
            continue
        of, against = (
            tuple(at for at, group in enumerate(groups) if group == groups[place]) for place in (one.of, one.against)
        )
        yield Dispute(sides=(of, against), opposed=(one,), sure=framed and one.reason == NEGATION)
