"""Find statements of a cluster that differ in the state of its subject: whether it was done, whether it is allowed."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

from clearwell.comparison import Features
from clearwell.comparison.polarity import NEGATION
from clearwell.flow.digest.drafting.oppositions import Dispute, Opposition, find_open_clauses, unite
from clearwell.text.words import words

SHARED_TOPIC: Final = 2
"""Minimum number of terms of the topic around a phrase. With fewer, it may be about something else."""
_SENTENCE_END: Final = re.compile("[.;!?。；！？]")
_LANGUAGES: Final = ("en", "zh")
_GAP: Final = {"en": r"(?:[\w'’-]{1,40} ){0,3}?", "zh": r"[^\s,，。;；:：]{0,4}?"}
"""What can stand between a negation and the word that it denies."""

_Span: TypeAlias = tuple[int, int, bool]
"""The place of a phrase, and whether it says that a state holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """Two states that exclude each other, by the names of the word lists with their phrases."""

    holds: str
    denied: str
    planned: str | None = None
    """Phrases in which the first state is only planned or required."""
    before: int = 0
    """How many clauses before that of a phrase can name its subject: "the audit of the vault, not done"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """Whether a state holds, and the words that say so."""

    holds: bool
    quote: str


_AXES: Final = (
    _Axis(holds="finished", denied="unfinished", planned="planned", before=1),
    _Axis(holds="allowed", denied="forbidden"),
    _Axis(holds="required", denied="not_required"),
    _Axis(holds="no_approval", denied="needs_approval", before=2),
)


def find_state_disputes(
    read: Sequence[Features], voices: Sequence[frozenset[str]], *, topic: frozenset[str]
) -> Iterable[Dispute]:
    """Yield the disputes about whether the subject of a cluster was done, and whether it is allowed.

    A text that says both is on neither side. There is no dispute if a voice is on both sides.
    """
    for axis in _AXES:
        states = {at: state for at, text in enumerate(read) if (state := _read_state(text, axis, topic)) is not None}
        holds, denied = ([at for at, state in states.items() if state.holds is side] for side in (True, False))
        if holds and denied and not unite(holds, voices) & unite(denied, voices):
            params = {"new": states[denied[0]].quote, "known": states[holds[0]].quote}
            opposition = Opposition(of=denied[0], against=holds[0], reason=NEGATION, params=params)
            yield Dispute(sides=(tuple(holds), tuple(denied)), opposed=(opposition,), sure=True)


def differ_in_state(one: Features, other: Features) -> bool:
    """Return whether two texts disagree on whether their common subject was done, or whether it is allowed."""
    topic = frozenset({token.key for token in one.tokens if token.content} & {token.key for token in other.tokens})
    for axis in _AXES:
        first, second = _read_state(one, axis, topic), _read_state(other, axis, topic)
        if first is not None and second is not None and first.holds is not second.holds:
            return True
    return False


def _read_state(text: Features, axis: _Axis, topic: frozenset[str]) -> _State | None:
    """Return whether a text says that a state holds, or None if it says neither or both."""
    found = [
        _State(holds=holds, quote=text.text[start:end].strip())
        for start, end, holds in _read_axis(text.text, axis)
        if len(_list_around(text, start, end, axis.before) & topic) >= SHARED_TOPIC
        and find_open_clauses(text).isdisjoint(_find_clauses(text, start, end))
    ]
    return found[0] if len({state.holds for state in found}) == 1 else None


def _list_around(text: Features, start: int, end: int, before: int) -> frozenset[str]:
    """Return the terms of the clause of a phrase, and of clauses before it in the same sentence."""
    clauses = _find_clauses(text, start, end)
    first, last = min(clauses, default=0), max(clauses, default=0)
    own = [token for token in text.tokens if first <= token.clause <= last]
    earlier = [token for token in text.tokens if own and first - before <= token.clause < first]
    if earlier and _SENTENCE_END.search(text.text, earlier[-1].end, own[0].start):
        earlier = []
    return frozenset(token.key for token in (*earlier, *own))


def _find_clauses(text: Features, start: int, end: int) -> list[int]:
    return [token.clause for token in text.tokens if token.start < end and start < token.end]


def _read_axis(text: str, axis: _Axis) -> Iterator[_Span]:
    denied = list(_find_spans(text, axis.denied))
    planned = list(_find_spans(text, axis.planned)) if axis.planned else []
    for start, end in _find_spans(text, axis.holds):
        if not any(first < end and start < last for first, last in (*denied, *planned)):
            yield start, end, True
    yield from ((start, end, False) for start, end in denied)


def _find_spans(text: str, phrases: str) -> Iterator[tuple[int, int]]:
    return (match.span() for pattern in _patterns(phrases) for match in pattern.finditer(text))


@cache
def _patterns(phrases: str) -> Sequence["re.Pattern[str]"]:
    """Return the phrases of a state. ``DONE`` in them is a word for what can be done, ``GAP`` a few words."""
    return [
        re.compile(
            phrase.replace("DONE", f"(?:{'|'.join(words(language)['done'])})").replace("GAP", _GAP[language]),
            re.IGNORECASE,
        )
        for language in _LANGUAGES
        for phrase in words(language)[phrases]
    ]
