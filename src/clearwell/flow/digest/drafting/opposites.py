"""Find statements of a cluster in which opposite things become of one thing: it is kept, or it is removed."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from clearwell.comparison import Features
from clearwell.comparison.lexicon import lexicon
from clearwell.comparison.tokens import Token
from clearwell.flow.digest.drafting.denials import find_denied_clauses
from clearwell.flow.digest.drafting.oppositions import Dispute, Opposition, find_open_clauses, unite

_REASON: Final = "conflict_antonym"
_OBJECT: Final = "nothing"
"""A negation that is the object of a verb."""


def find_opposites(
    read: Sequence[Features], voices: Sequence[frozenset[str]], *, topic: frozenset[str]
) -> Iterable[Dispute]:
    """Yield the disputes of a cluster about what becomes of its subject.

    A text is on a side if it has a word of this side, in or after the first clause with a term of the ``topic``. A
    text with words of both sides is on neither. There is no dispute if a voice is on both sides.
    """
    for axis in sorted({axis for text in read for token in text.tokens for axis, _ in _find_poles(token)}):
        sides = _find_sides(read, axis, topic)
        ours, theirs = ([at for at, poles in sides.items() if poles.keys() == {side}] for side in (0, 1))
        backing = unite(ours, voices), unite(theirs, voices)
        if not ours or not theirs or backing[0] & backing[1]:
            continue
        new, known = sides[theirs[0]][1], sides[ours[0]][0]
        params = {"new": new.quoted or new.surface, "known": known.quoted or known.surface}
        opposition = Opposition(of=theirs[0], against=ours[0], reason=_REASON, params=params)
        yield Dispute(sides=(tuple(ours), tuple(theirs)), opposed=(opposition,))


def are_opposite(one: Features, other: Features) -> bool:
    """Return whether opposite things become of the subject of two texts, in one way each."""
    left, right = ({pole for token in text.tokens for pole in _turn(token)} for text in (one, other))
    return any((axis, 1 - side) in right and (axis, 1 - side) not in left for axis, side in left - right)


def _turn(token: Token) -> frozenset[tuple[int, int]]:
    """Return the poles of a word; those of a negated one are turned."""
    return frozenset((axis, 1 - side if token.negated else side) for axis, side in _find_poles(token))


def _find_sides(read: Sequence[Features], axis: int, topic: frozenset[str]) -> dict[int, dict[int, Token]]:
    """Return by text the words of each side of an axis. A negated word is on the other side.

    What a word such as "excludes" or "failed" does with another one is not known, so its clause does not count.
    """
    found: defaultdict[int, dict[int, Token]] = defaultdict(dict)
    for at, text in enumerate(read):
        first = min((token.clause for token in text.tokens if token.key in topic), default=math.inf)
        unsaid = find_open_clauses(text)
        for token in text.tokens:
            for other, side in _turn(token):
                ignored = unsaid | find_denied_clauses(text, but=token.key)
                if other == axis and first <= token.clause not in ignored:
                    found[at].setdefault(side, token)
    return found


def _find_poles(token: Token) -> frozenset[tuple[int, int]]:
    """Return the poles of a word. "Keeps nothing but averages" does not say that something is removed."""
    return frozenset() if _OBJECT in token.quoted else lexicon().opposed_actions.get(token.key, frozenset())
