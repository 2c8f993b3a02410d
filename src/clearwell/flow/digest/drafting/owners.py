"""Find statements of a cluster that name different owners of one task: a person, a team, a department."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final

from clearwell.comparison import Features
from clearwell.flow.digest.drafting.oppositions import Dispute, Opposition, unite
from clearwell.text.words import words

SHARED_TOPIC: Final = 2
"""Minimum number of terms of the topic in a text that names an owner. With fewer, it may be about another task."""
TWO: Final = 2
"""Number of sides. Texts with more owners are about several tasks."""
_REASON: Final = "conflict_name"
_WHO: Final = {"en": r"(?:[\w'’&.-]+ ){0,4}[\w'’&-]+", "zh": r"[^\s,，。;；:：、“”（）()]{2,12}?"}


def find_owner_disputes(
    read: Sequence[Features], voices: Sequence[frozenset[str]], *, topic: frozenset[str]
) -> Iterable[Dispute]:
    """Yield the dispute about who is responsible for the subject of a cluster.

    Owners with a common word are one: "Ana Reyes", "Ana Reyes of the night shift". Words of all texts are not an owner.
    """
    common = frozenset[str].intersection(*(frozenset(token.key for token in text.tokens) for text in read))
    owners = {
        at: owner
        for at, text in enumerate(read)
        if len({token.key for token in text.tokens} & topic) >= SHARED_TOPIC
        and (owner := frozenset(_list_owner_words(text)) - common)
    }
    sides = sorted(_group(owners), key=lambda side: (-len(unite(side, voices)), side[0]))
    if len(sides) != TWO:
        return
    ours, theirs = (unite(side, voices) for side in sides)
    if ours & theirs:
        return
    known, new = sides[0][0], sides[1][0]
    params = {"new": _quote(read[new]), "known": _quote(read[known])}
    opposition = Opposition(of=new, against=known, reason=_REASON, params=params)
    yield Dispute(sides=(tuple(sides[0]), tuple(sides[1])), opposed=(opposition,))


def _list_owner_words(text: Features) -> Iterable[str]:
    """Yield the content words in the phrases of a text that name an owner."""
    spans = [match.span("who") for pattern in _patterns() for match in pattern.finditer(text.text)]
    for token in text.tokens:
        inside = any(start <= token.start and token.end <= end for start, end in spans)
        if inside and token.content and token.value is None:
            yield token.key


def _group(owners: Mapping[int, frozenset[str]]) -> list[list[int]]:
    """Group texts by owners that have a word in common."""
    groups: list[tuple[list[int], frozenset[str]]] = []
    for at, owner in owners.items():
        same = [group for group in groups if group[1] & owner]
        groups = [group for group in groups if group not in same]
        places = sorted([at, *(place for group in same for place in group[0])])
        groups.append((places, frozenset[str]().union(owner, *(group[1] for group in same))))
    return [places for places, _ in groups]


def _quote(text: Features) -> str:
    return next((match["who"].strip() for pattern in _patterns() for match in pattern.finditer(text.text)), "")


@cache
def _patterns() -> Sequence["re.Pattern[str]"]:
    """Return the phrases that name an owner. ``WHO`` in them is a few words."""
    return [
        re.compile(phrase.replace("WHO", f"(?P<who>{_WHO[language]})"))
        for language in ("en", "zh")
        for phrase in words(language)["owners"]
    ]
