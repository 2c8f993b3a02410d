"""Find statements of a cluster that fill a slot of their subject differently: who owns it, or what caused it.

A statement can also deny what fills the slot: "the floor had nothing to do with it".
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from clearwell.comparison import Features
from clearwell.flow.digest.drafting.oppositions import Dispute, Opposition, unite
from clearwell.text.words import words

SHARED_TOPIC: Final = 2
"""Minimum number of terms of the topic in a text that fills a slot. With fewer, it may be about another subject."""
TWO: Final = 2
"""Number of sides. Texts with more fillers are about several subjects."""
_ENGLISH, _CHINESE = "en", "zh"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slot:
    """A slot: the name of its word lists, which have a placeholder for what fills it."""

    phrases: str
    reason: str
    fillers: Mapping[str, str]
    """What the placeholder stands for, by language."""
    may_be_common: bool
    """Whether words that all texts have can fill the slot."""
    denied: str | None = None
    """The name of the word lists with phrases that deny what fills the slot."""


_SLOTS: Final = (
    _Slot(
        phrases="owners",
        reason="conflict_name",
        fillers={
            _ENGLISH: r"(?:[\w'’&.-]{1,40} ){0,4}[\w'’&-]{1,40}",
            _CHINESE: r"[^\s,，。;；:：、“”（）()]{2,12}?",
        },
        may_be_common=False,
    ),
    _Slot(
        phrases="causes",
        reason="conflict_cause",
        fillers={_ENGLISH: r"[^\s,.;:()](?:[^,.;:()]{2,80})", _CHINESE: r"[^\n,，。;；:：“”（）()]{2,24}?"},
        may_be_common=True,
        denied="denied_causes",
    ),
)


def find_slot_disputes(
    read: Sequence[Features], voices: Sequence[frozenset[str]], *, topic: frozenset[str]
) -> Iterable[Dispute]:
    """Yield the disputes about who is responsible for the subject of a cluster, and about what caused it.

    Fillers with a common word are one: "Ana Reyes", "Ana Reyes of the night shift".
    """
    common = frozenset[str].intersection(*(frozenset(token.key for token in text.tokens) for text in read))
    for slot in _SLOTS:
        ignored = frozenset[str]() if slot.may_be_common else common
        about = [at for at, text in enumerate(read) if _is_about(text, topic)]
        filled = {at: filler for at in about if (filler := frozenset(_list_words(slot, read[at])) - ignored)}
        sides = sorted(_find_sides(slot, filled, read, about), key=lambda side: (-len(unite(side, voices)), side[0]))
        if len(sides) == TWO and not unite(sides[0], voices) & unite(sides[1], voices):
            known, new = sides[0][0], sides[1][0]
            params = {"new": _quote(slot, read[new]), "known": _quote(slot, read[known])}
            opposition = Opposition(of=new, against=known, reason=slot.reason, params=params)
            denied = any(at not in filled for side in sides for at in side)
            yield Dispute(sides=(tuple(sides[0]), tuple(sides[1])), opposed=(opposition,), sure=denied)


def _is_about(text: Features, topic: frozenset[str]) -> bool:
    return len({token.key for token in text.tokens} & topic) >= SHARED_TOPIC


def _find_sides(
    slot: _Slot, filled: Mapping[int, frozenset[str]], read: Sequence[Features], about: Iterable[int]
) -> list[list[int]]:
    """Return the texts with the same filler, and those that deny the filler of others and have none themselves."""
    sides = _group(filled)
    denied = {at: frozenset(_list_denied(slot, read[at])) for at in about if at not in filled}
    fillers = [frozenset[str]().union(*(filled[at] for at in side)) for side in sides]
    deniers: list[int] = []
    for at, refused in denied.items():
        against = [number for number, stated in enumerate(fillers) if stated & refused]
        if len(against) == 1 and len(sides) == TWO:
            sides[1 - against[0]].append(at)
        elif len(against) == 1 == len(sides):
            deniers.append(at)
    return [*sides, deniers] if deniers else sides


def _list_words(slot: _Slot, text: Features) -> Iterable[str]:
    """Return the content words in the phrases of a text that fill a slot, without those that it denies."""
    return set(_read_fillers(slot.phrases, text)) - set(_list_denied(slot, text))


def _list_denied(slot: _Slot, text: Features) -> Iterable[str]:
    return _read_fillers(slot.denied, text) if slot.denied else ()


def _read_fillers(phrases: str, text: Features) -> Iterable[str]:
    """Yield the content words of a text in the place of ``WHO`` in these phrases."""
    spans = [match.span("filler") for pattern in _patterns(phrases) for match in pattern.finditer(text.text)]
    for token in text.tokens:
        inside = any(start <= token.start and token.end <= end for start, end in spans)
        if inside and token.content and token.value is None:
            yield token.key


def _group(filled: Mapping[int, frozenset[str]]) -> list[list[int]]:
    """Group texts by fillers that have a word in common."""
    groups: list[tuple[list[int], frozenset[str]]] = []
    for at, filler in filled.items():
        same = [group for group in groups if group[1] & filler]
        groups = [group for group in groups if group not in same]
        places = sorted([at, *(place for group in same for place in group[0])])
        groups.append((places, frozenset[str]().union(filler, *(group[1] for group in same))))
    return [places for places, _ in groups]


def _quote(slot: _Slot, text: Features) -> str:
    lists = [slot.phrases, slot.denied] if slot.denied else [slot.phrases]
    patterns = [pattern for phrases in lists for pattern in _patterns(phrases)]
    found = (match["filler"].strip() for pattern in patterns for match in pattern.finditer(text.text))
    return next(found, "")


@cache
def _patterns(phrases: str) -> Sequence["re.Pattern[str]"]:
    """Return the phrases of a slot. ``WHO`` in them stands for what fills it."""
    slot = next(one for one in _SLOTS if phrases in {one.phrases, one.denied})
    return [
        re.compile(phrase.replace("WHO", f"(?P<filler>{filler})"), re.IGNORECASE)
        for language, filler in slot.fillers.items()
        for phrase in words(language)[phrases]
    ]
