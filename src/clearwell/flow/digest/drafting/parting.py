"""One sentence about several things is no cluster: what is told of the orders cluster is not told of the mail cluster.

Texts of one frame that differ in a word and in what they say besides are about different things. Where a place of the
frame is filled in many ways, what fills it is the subject, and the texts with the subject that most speak of stay.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final

from clearwell.comparison import Features
from clearwell.comparison.tokens import Token
from clearwell.flow.digest.drafting.opposing import SIBLINGS, frame_of
from clearwell.flow.digest.drafting.subjects import misspelt
from clearwell.text.languages import LANGUAGES

MOST: Final = 40
"""Texts of one language that are compared, the most central."""
SLOTS: Final = 2
"""Words in which two texts of one frame differ at most."""
FILLED: Final = 3
"""Ways in which a place is filled that holds a subject: a dispute has two."""
OTHERS: Final = 0.7
"""Share of texts about others from which it is a series, in which nothing is told of one thing in particular."""


def about_others(read: Sequence[Features], speakers: Sequence[frozenset[str]]) -> frozenset[int]:
    """Places of the texts that tell the same of other things than most do."""
    return frozenset[int]().union(
        *(
            _others([at for at, text in enumerate(read) if text.language is language], read, speakers)
            for language in LANGUAGES
        )
    )


def _others(places: Sequence[int], read: Sequence[Features], speakers: Sequence[frozenset[str]]) -> frozenset[int]:
    fillers = _subjects(_alternatives([read[at] for at in places[:MOST]]), places, read, speakers)
    if not fillers:
        return frozenset()
    told = {at: {token.key for token in read[at].tokens} & fillers.keys() for at in places}
    voices = {word: _voices([at for at in places if word in told[at]], speakers) for word in fillers}
    main = max(sorted(fillers), key=lambda word: len(voices[word]))
    meant = {main, *(word for word in fillers if misspelt(word, main) or word in main or main in word)}
    others = frozenset(at for at in places if told[at] and not told[at] & meant)
    return others if len(others) <= OTHERS * len(places) else frozenset()


def _voices(places: Sequence[int], speakers: Sequence[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*(speakers[at] for at in places))


def _alternatives(texts: Sequence[Features]) -> list[tuple[str, str]]:
    """Words that stand in each other's place where something else differs as well."""
    distinct = list({text.signed: text for text in texts}.values())
    found = []
    for one, other in combinations(distinct, 2):
        if frame_of(one, other) < SIBLINGS:
            continue
        left = _only(one, other), _only(other, one)
        values = _values(one) != _values(other)
        if len(left[0]) == len(left[1]) and 0 < len(left[0]) <= SLOTS and (values or len(left[0]) > 1):
            found += [(mine.key, theirs.key) for mine, theirs in zip(*left, strict=True)]
    return found


def _only(one: Features, other: Features) -> list[Token]:
    keys = {token.key for token in other.tokens}
    return [token for token in one.tokens if token.content and token.value is None and token.key not in keys]


def _values(text: Features) -> Counter[str]:
    return Counter(token.key for token in text.tokens if token.value is not None and token.content)


def _subjects(
    alternatives: Sequence[tuple[str, str]],
    places: Sequence[int],
    read: Sequence[Features],
    speakers: Sequence[frozenset[str]],
) -> Mapping[str, int]:
    """The words that fill one place in many ways; of several such places, the one whose first word most speak of."""
    near: defaultdict[str, set[str]] = defaultdict(set)
    for one, other in alternatives:
        near[one].add(other)
        near[other].add(one)
    best: dict[str, int] = {}
    for slot in _joined(near):
        told = {word: len(_voices([at for at in places if word in read[at].keys], speakers)) for word in slot}
        if len(slot) >= FILLED and max(told.values()) > 1 and max(told.values()) > max(best.values(), default=0):
            best = told
    return best


def _joined(near: Mapping[str, set[str]]) -> list[set[str]]:
    left, slots = set(near), []
    while left:
        slot, edge = set[str](), {min(left)}
        while edge:
            slot |= edge
            edge = set[str]().union(*(near[word] for word in edge)) - slot
        slots.append(slot)
        left -= slot
    return slots
