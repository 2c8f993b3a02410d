"""Find statements of a cluster that deny what others say, in wordings too different for a comparison pair by pair."""

from collections.abc import Iterable, Sequence
from typing import Final

from clearwell.comparison import Features
from clearwell.comparison.lexicon import lexicon
from clearwell.comparison.polarity import NEGATION, denies_in_word
from clearwell.comparison.tokens import Token
from clearwell.flow.digest.drafting.oppositions import (
    MIN_BACKING,
    Dispute,
    Opposition,
    find_open_clauses,
    unite,
)

SHARED_TOPIC: Final = 3
"""Minimum number of terms of the topic in the clause in which one of them is denied or stated."""
_ARTICLES: Final = frozenset({"a", "an", "the", "no", "any", "this", "its", "their", "our"})
_GOVERNED: Final = "that"
_MAY: Final = 2
"""The level of permission (may, can) on the scale of duty words. Lower levels demand."""


def deny_parts(one: Features, other: Features, read: Iterable[Features]) -> bool:
    """Return whether a third text both denies and states what divides two texts: "no decimals, but two stored"."""
    first, second = ({token.key for token in text.tokens if token.negated} for text in (one, other))
    return any(
        token.negated
        and token.key in first ^ second
        and any(each.key == token.key for each in text.tokens if not each.negated)
        for text in read
        for token in text.tokens
    )


def find_denials(
    read: Sequence[Features], voices: Sequence[frozenset[str]], *, topic: frozenset[str]
) -> Iterable[Dispute]:
    """Yield disputes in which one side denies a term of the topic that the other side states.

    Texts with different wordings are weak evidence, so there is no dispute if one voice is on both sides or one text
    says both: the statements complement each other. A fact and a requirement do not conflict either: "there is no
    index", "it must have an index".
    """
    for term in sorted(topic):
        denied = {
            at: token
            for at, text in enumerate(read)
            for token in text.tokens
            if _is_denied(token, term) and _is_about(text, token, topic)
        }
        verbs = all(not _is_noun(read[at], token) for at, token in denied.items())
        stated = {
            at: token
            for at, text in enumerate(read)
            for token in _find_stated(text, term)
            if not (verbs and _is_noun(text, token)) and _is_about(text, token, topic)
        }
        if not denied or not stated or not denied.keys().isdisjoint(stated):
            continue
        deniers, others = unite(denied, voices), unite(stated, voices)
        if max(len(deniers), len(others)) < MIN_BACKING or deniers & others:
            continue
        duties = {at: _has_duty(read[at], token) for at, token in {**stated, **denied}.items()}
        pair = next(((of, at) for of in sorted(denied) for at in sorted(stated) if duties[of] is duties[at]), None)
        if pair is not None:
            new, known = denied[pair[0]], stated[pair[1]].surface
            yield _oppose(pair[0], new, pair[1], known, sides=(tuple(sorted(stated)), tuple(denied)))


def _is_denied(token: Token, term: str) -> bool:
    """Return whether a token denies a term. Values do not count: "no more than 14 minutes" is a bound."""
    return token.key == term and token.negated and token.value is None


def _is_about(text: Features, token: Token, topic: frozenset[str]) -> bool:
    """Return whether the clause of a token is about the topic: "not for each site" only corrects a detail."""
    return len({each.key for each in text.tokens if each.clause == token.clause} & topic) >= SHARED_TOPIC


def _is_noun(text: Features, token: Token) -> bool:
    """Return whether an English word is a noun, by the word before it: "hasn't answered" does not deny "an answer"."""
    before = next((each for each in reversed(text.tokens) if each.end <= token.start), None)
    return before is not None and before.key in _ARTICLES


def _find_stated(text: Features, term: str) -> Iterable[Token]:
    """Return the tokens of a term in clauses without a denial: "no exponential back-off" does not state back-off, and
    "the licence runs out" does not state that there is one."""
    negated = {token.clause for token in text.tokens if token.negated}
    denied = negated | find_denied_clauses(text, but=term) | find_open_clauses(text)
    return (token for token in text.tokens if token.key == term and token.clause not in denied)


def find_denied_clauses(text: Features, *, but: str = "") -> set[int]:
    """Return the clauses with a word that denies, ends or excludes, other than ``but``, and those that it governs:
    "the letter excludes that it is renewed"."""
    deniers = lexicon().deniers
    denied: set[int] = set()
    for token in text.tokens:
        denying = token.key != but and (token.key in deniers or denies_in_word(token))
        if denying or (token.key == _GOVERNED and token.clause - 1 in denied):
            denied.add(token.clause)
    return denied


def _has_duty(text: Features, token: Token) -> bool:
    """Return whether the clause of a token states a requirement."""
    levels = lexicon().scales["duty_words"]
    return any(levels.get(each.key, _MAY) < _MAY for each in text.tokens if each.clause == token.clause)


def _oppose(of: int, token: Token, against: int, known: str, *, sides: tuple[tuple[int, ...], ...]) -> Dispute:
    params = {"new": token.quoted or token.surface, "known": known}
    return Dispute(sides=sides, opposed=(Opposition(of=of, against=against, reason=NEGATION, params=params),))
