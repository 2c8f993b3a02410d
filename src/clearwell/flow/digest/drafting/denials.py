"""Statements of a cluster that deny what the others say, in words that cannot be compared pair by pair."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from clearwell.comparison import Features
from clearwell.comparison.lexicon import lexicon
from clearwell.comparison.polarity import denies
from clearwell.comparison.tokens import Token
from clearwell.flow.digest.drafting.oppositions import LEAST_BACKING, Dispute, Opposition, unite

OWN: Final = 0.25
"""Share of terms that no other text has, up to which a text that denies says nothing else."""
_NEGATION: Final = "conflict_negation"
_MAY: Final = 2
"""The level of permission among words of duty."""


def find_denials(
    read: Sequence[Features], voices: Sequence[frozenset[str]], *, topic: frozenset[str], groups: Sequence[int]
) -> Iterable[Dispute]:
    """The disputes of a cluster by what is denied. ``topic`` are the terms that most of its texts have.

    ``groups`` is for each text the first text that says the same, if texts were compared.
    """
    yield from _by_terms(read, voices, topic)
    yield from _by_whole_texts(read, voices, groups)


def deny_parts(one: Features, other: Features, read: Iterable[Features]) -> bool:
    """Whether what one of two texts denies and the other states is both in a third: "no decimals, but two stored"."""
    first, second = ({token.key for token in text.tokens if token.negated} for text in (one, other))
    return any(
        token.negated
        and token.key in first ^ second
        and any(each.key == token.key for each in text.tokens if not each.negated)
        for text in read
        for token in text.tokens
    )


def _by_terms(read: Sequence[Features], voices: Sequence[frozenset[str]], topic: frozenset[str]) -> Iterable[Dispute]:
    """One side denies what the other says of a term that the cluster is about.

    Texts in other words are weak evidence: where somebody speaks for both sides, or one text says both, they are two
    halves of one matter. What is so and what ought to be are two halves as well: "there is no index", "it must have an
    index".
    """
    for term in sorted(topic):
        denied = {at: token for at, text in enumerate(read) for token in text.tokens if _is_denied(token, term)}
        stated = {at: token for at, text in enumerate(read) for token in _find_stated(text, term)}
        if not denied or not stated or not denied.keys().isdisjoint(stated):
            continue
        deniers, others = unite(denied, voices), unite(stated, voices)
        if max(len(deniers), len(others)) < LEAST_BACKING or deniers & others:
            continue
        duties = {at: _has_duty(read[at], token) for at, token in {**stated, **denied}.items()}
        pair = next(((of, at) for of in sorted(denied) for at in sorted(stated) if duties[of] is duties[at]), None)
        if pair is not None:
            new, known = denied[pair[0]], stated[pair[1]].surface
            yield _oppose(pair[0], new, pair[1], known, sides=(tuple(sorted(stated)), tuple(denied)))


def _is_denied(token: Token, term: str) -> bool:
    """Whether a word is denied. A value is not: "no more than 14 minutes" is a bound."""
    return token.key == term and token.negated and token.value is None


def _find_stated(text: Features, term: str) -> Iterable[Token]:
    """The term where nothing of its clause is denied: "no exponential back-off" and "lacks it" state no back-off."""
    words = lexicon()
    denied = {token.clause for token in text.tokens if token.negated or token.key in words.deniers}
    return (token for token in text.tokens if token.key == term and token.clause not in denied)


def _has_duty(text: Features, token: Token) -> bool:
    """Whether the clause of a word says what ought to be."""
    levels = lexicon().scales["duty_words"]
    return any(levels.get(each.key, _MAY) < _MAY for each in text.tokens if each.clause == token.clause)


def _by_whole_texts(
    read: Sequence[Features], voices: Sequence[frozenset[str]], groups: Sequence[int]
) -> Iterable[Dispute]:
    """Texts that say what the others say, and that it is not so: "may cross the bridge", "not allowed on the bridge".

    The others must say one thing, which two of them confirm. A text with terms of its own denies something of its own,
    and where the others deny something as well, both may mean the same.
    """
    plain = [at for at, text in enumerate(read) if not text.negations and not denies(text)]
    if not _is_confirmed(plain, voices, groups):
        return
    denied = [
        at
        for at, text in enumerate(read)
        if text.negations == 1 and _says_nothing_else(text, _list_terms([read[other] for other in plain], text))
    ]
    deniers, others = unite(denied, voices), unite(plain, voices)
    if not denied or len(others) < LEAST_BACKING or deniers & others:
        return
    token = next((token for token in read[denied[0]].tokens if token.negated), None)
    if token is not None:
        yield _oppose(denied[0], token, plain[0], "…", sides=(tuple(plain), tuple(denied)))


def _is_confirmed(places: Sequence[int], voices: Sequence[frozenset[str]], groups: Sequence[int]) -> bool:
    """Whether two voices say the same in these texts."""
    said = defaultdict[int, set[str]](set)
    for at in places if groups else ():
        said[groups[at]] |= voices[at]
    return any(len(some) >= LEAST_BACKING for some in said.values())


def _list_terms(texts: Sequence[Features], like: Features) -> frozenset[str]:
    """The content terms of texts in the language of another."""
    return frozenset(
        token.key for text in texts if text.language is like.language for token in text.tokens if token.content
    )


def _says_nothing_else(text: Features, known: frozenset[str]) -> bool:
    own = {token.key for token in text.tokens if token.content and not token.negated}
    return len(own & known) >= LEAST_BACKING and len(own - known) <= OWN * len(own)


def _oppose(of: int, token: Token, against: int, known: str, *, sides: tuple[tuple[int, ...], ...]) -> Dispute:
    params = {"new": token.quoted or token.surface, "known": known}
    return Dispute(sides=sides, opposed=(Opposition(of=of, against=against, reason=_NEGATION, params=params),))
