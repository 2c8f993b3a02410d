"""What the members of a cluster make of each other: who agrees, who contradicts whom, or whether it is a mere series.

Texts of one frame that hardly ever agree ("finished step 4 of …", "finished step 9 of …") are a series: they look
alike, come from everybody, and nobody confirms anything. Agreement is measured among texts of one frame; texts in
different words, or in two languages, say nothing about it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

from clearwell.comparison import Features
from clearwell.flow.digest.drafting.consensus import MOST_SAY, Departure, find_departures
from clearwell.flow.digest.drafting.contradictions import (
    FRAMED,
    TERM,
    VALUES,
    Opposition,
    denies_outright,
    is_about_fact,
    is_about_progress,
    is_credible,
)
from clearwell.flow.digest.drafting.subjects import measure_frame, strays
from clearwell.ports import StatementComparison
from clearwell.records import Comparison, Relation

SERIES: Final = 0.3
"""Least share of agreement among pairs of one frame."""
MOST: Final = 40
"""Texts of a cluster that are compared pair by pair: 780 pairs take a quarter of a second."""
DISPUTED: Final = 0.5
"""Share of disagreement that is about a fact, from which a cluster without agreement is a dispute and no series."""
DISPUTANTS: Final = 4
"""Ways to fill one frame that can be a dispute: one against most, or nobody with anybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The sides of one cluster, as places in the texts given."""

    opposed: tuple[Opposition, ...] = ()
    dissent: frozenset[int] = frozenset()
    """Texts of the smaller sides."""
    loose: bool = False
    """Whether all that is opposed is one speaker against one, in a cluster in which no two speakers agree."""
    series: bool = False
    agreement: float = 0.5
    """Share of pairs of one frame that agree; a half where no two have a frame in common."""
    confirmed: float = 0.0
    """Share of speakers whose words another speaker says as well, be it in other words."""


@dataclass(slots=True)
class _Pairs:
    same: list[tuple[int, int]] = field(default_factory=list)
    opposed: list[Opposition] = field(default_factory=list)
    framed: list[tuple[int, int]] = field(default_factory=list)
    agreeing: int = 0
    compared: int = 0
    """Pairs of speakers who say something in one frame, and those of them who agree."""
    disputed: int = 0
    """Those of them who contradict each other about a fact."""


def find_agreement(
    read: Sequence[Features],
    speakers: Sequence[frozenset[str]],
    similarity: Callable[[int, int], float],
    comparison: StatementComparison,
) -> Agreement:
    """Compare texts, the most central first, with each other; ``similarity`` is the calibrated one of two of them."""
    alike = _alike(read)
    voices = {first: frozenset[str]().union(*(speakers[at] for at in some)) for first, some in alike.items()}
    pairs = _Pairs(same=[(first, at) for first, some in alike.items() for at in some[1:]])
    for one, other in combinations(_compared(read, sorted(alike)), 2):
        found = comparison.compare(read[one].raw, read[other].raw, similarity(one, other))
        _note(pairs, found, (one, other), read, (voices[one], voices[other]))
    alone = sum(len(some) * (len(some) - 1) // 2 for some in voices.values())
    share = (pairs.agreeing + alone) / (pairs.compared + alone) if pairs.compared + alone else 0.5
    groups = _groups(len(read), pairs.same, apart=pairs.opposed)
    filled = _most_stances(groups, _groups(len(read), [*pairs.same, *pairs.framed]))
    departing = [one for one in _departing(read, speakers) if not is_about_progress(one, read)]
    disputed = filled <= DISPUTANTS and pairs.disputed >= DISPUTED * (pairs.compared - pairs.agreeing)
    if share < SERIES and filled > 2 and not (disputed and (departing or not share)):
        return Agreement(series=True, agreement=share)
    united = _united([*pairs.opposed, *departing])
    opposed = [one for one in united if groups[one.of] != groups[one.against] and _usual(one, read, speakers)]
    opposed = [one for one in opposed if len(speakers[one.of] | speakers[one.against]) > 1]
    opposed = _of_one_subject(opposed, groups, read, speakers)
    sides = _Sides(opposed, groups, speakers)
    confirmed = sides.confirmed()
    if confirmed:
        agreed = {frozenset({one.of, one.against}) for one in departing}
        opposed = [
            one
            for one in opposed
            if sides.borne_out(one) or denies_outright(one, read) or frozenset({one.of, one.against}) in agreed
        ]
        sides = _Sides(opposed, groups, speakers)
    dissent = sides.smaller()
    told = tuple(_turned(one, dissent) for one in opposed)
    loose = bool(opposed) and not confirmed and len(united) == len(pairs.opposed)
    return Agreement(opposed=told, dissent=dissent, agreement=share, confirmed=confirmed, loose=loose)


def _alike(read: Sequence[Features]) -> dict[int, list[int]]:
    """Texts that read alike, under the first of them."""
    found: dict[tuple[str, ...], list[int]] = {}
    for at, features in enumerate(read):
        found.setdefault(features.signed, []).append(at)
    return {some[0]: some for some in found.values()}


def _compared(read: Sequence[Features], places: list[int]) -> list[int]:
    """Which texts: all, but where they are many, half of them the ones that stand out."""
    if len(places) <= MOST:
        return places
    usual = sorted(read[at].negations for at in places)[len(places) // 2]
    central, rest = places[: MOST // 2], places[MOST // 2 :]
    odd = sorted(rest, key=lambda at: (read[at].negations == usual, -at))
    return sorted([*central, *odd[: MOST - len(central)]])


def _note(
    pairs: _Pairs,
    found: Comparison,
    places: tuple[int, int],
    read: Sequence[Features],
    voices: tuple[frozenset[str], frozenset[str]],
) -> None:
    one, other = places
    weight = len(voices[0]) * len(voices[1])
    frame = measure_frame(read[one], read[other])
    if found.relation is Relation.SAME:
        pairs.same.append(places)
    if found.relation is Relation.SAME or (frame >= FRAMED and _another_fact(found)):
        pairs.framed.append(places)
        pairs.compared += weight
    if found.relation is Relation.SAME:
        pairs.agreeing += weight
    if found.relation is Relation.CONFLICT and is_credible(found, read[one], read[other]):
        opposed = Opposition(of=one, against=other, reason=found.reason, params=dict(found.params))
        if is_about_progress(opposed, read):
            return
        pairs.opposed.append(opposed)
        if frame >= FRAMED and voices[0].isdisjoint(voices[1]) and is_about_fact(opposed, read):
            pairs.disputed += weight


def _another_fact(found: Comparison) -> bool:
    """The same frame with something else in it, and not only with more in it."""
    return found.relation is Relation.CONFLICT or found.reason == "different_fact"


def _usual(one: Opposition, read: Sequence[Features], speakers: Sequence[frozenset[str]]) -> bool:
    """Whether a word that has another in its place is what most say: else the two are but two ways of saying it."""
    if one.reason != TERM:
        return True
    places = ((one.of, one.params["new"], one.against), (one.against, one.params["known"], one.of))
    if not all(_amid(read[place], word, read[other]) for place, word, other in places):
        return False
    peers = [at for at, features in enumerate(read) if features.language is read[one.of].language]
    return any(
        len(saying) >= MOST_SAY * len(peers) and len(frozenset[str]().union(*(speakers[at] for at in saying))) > 1
        for place, word, _ in places
        if (saying := [at for at in peers if _has(read[at], word, read[place])])
    )


def _amid(features: Features, surface: str, other: Features) -> bool:
    """Whether the clause of a word has another word in common with the other text: else it only leads up to it."""
    keys = {token.key for token in other.tokens if token.content}
    clause = next((token.clause for token in features.tokens if token.surface == surface), 0)
    return any(token.key in keys for token in features.tokens if token.clause == clause and token.content)


def _has(features: Features, surface: str, origin: Features) -> bool:
    key = next((token.key for token in origin.tokens if token.surface == surface), surface)
    return any(token.key == key for token in features.tokens)


def _departing(read: Sequence[Features], speakers: Sequence[frozenset[str]]) -> list[Opposition]:
    return [_told(one) for one in find_departures(read, speakers)]


def _told(one: Departure) -> Opposition:
    return Opposition(of=one.of, against=one.against, reason=one.reason, params={"new": one.new, "known": one.known})


def _of_one_subject(
    opposed: Sequence[Opposition], groups: Sequence[int], read: Sequence[Features], speakers: Sequence[frozenset[str]]
) -> list[Opposition]:
    """Without texts that speak of another thing than those they would contradict."""
    lesser = _Sides(opposed, groups, speakers).smaller()
    most = [read[at] for at in range(len(read)) if at not in lesser]
    astray = {at for at in lesser if strays(read[at], most)}
    return [one for one in opposed if one.reason not in VALUES or astray.isdisjoint({one.of, one.against})]


def _united(opposed: Sequence[Opposition]) -> list[Opposition]:
    """Each two texts once."""
    found: dict[frozenset[int], Opposition] = {}
    for one in opposed:
        found.setdefault(frozenset({one.of, one.against}), one)
    return list(found.values())


def _groups(count: int, same: Sequence[tuple[int, int]], apart: Sequence[Opposition] = ()) -> list[int]:
    """The first text of each text's group. Two that are opposed are never in one, though a third agrees with both."""
    parent = list(range(count))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    for one, other in same:
        first, second = sorted((root(one), root(other)))
        if not any({root(two.of), root(two.against)} == {first, second} for two in apart):
            parent[second] = first
    return [root(at) for at in range(count)]


def _most_stances(groups: Sequence[int], frames: Sequence[int]) -> int:
    """In how many ways, that do not agree, one frame is filled."""
    found: dict[int, set[int]] = {}
    for group, frame in zip(groups, frames, strict=True):
        found.setdefault(frame, set()).add(group)
    return max(map(len, found.values()), default=0)


class _Sides:
    """Groups of texts that agree, and which of them contradict each other."""

    def __init__(
        self, opposed: Sequence[Opposition], groups: Sequence[int], speakers: Sequence[frozenset[str]]
    ) -> None:
        self._groups = groups
        self._against: dict[int, set[int]] = {}
        for one in opposed:
            self._against.setdefault(groups[one.of], set()).add(groups[one.against])
            self._against.setdefault(groups[one.against], set()).add(groups[one.of])
        self.voices: dict[int, set[str]] = {group: set() for group in groups}
        for at, group in enumerate(groups):
            self.voices[group] |= speakers[at]

    def backing(self, group: int) -> int:
        """Speakers on the side of a group: groups that have an opponent in common are on one side."""
        allies = {group}.union(*(self._against[opponent] for opponent in self._against[group]))
        allies -= self._against[group]
        return len(set[str]().union(*(self.voices[ally] for ally in allies)))

    def borne_out(self, one: Opposition) -> bool:
        """Whether two speakers stand on one side: two who each say something of their own may both be right."""
        return max(self.backing(self._groups[one.of]), self.backing(self._groups[one.against])) > 1

    def confirmed(self) -> float:
        everybody = set[str]().union(*self.voices.values())
        together = set[str]().union(*(some for some in self.voices.values() if len(some) > 1))
        return len(together) / len(everybody) if everybody else 0.0

    def smaller(self) -> frozenset[int]:
        """The texts of the sides with fewer speakers."""
        lesser: set[int] = set()
        for group in sorted(self._against, key=lambda one: (self.backing(one), -one)):
            if not self._against[group] <= lesser:
                lesser.add(group)
        return frozenset(at for at, group in enumerate(self._groups) if group in lesser)


def _turned(one: Opposition, dissent: frozenset[int]) -> Opposition:
    """The side of the fewer first."""
    if one.of in dissent or one.against not in dissent:
        return one
    params = {"new": one.params.get("known", ""), "known": one.params.get("new", "")}
    return Opposition(of=one.against, against=one.of, reason=one.reason, params=params)
