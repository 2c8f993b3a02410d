"""Compare word order: clauses and list items can be exchanged, subject and object cannot."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Final

from clearwell.comparison.features import Features
from clearwell.comparison.lexicon import Lexicon, lexicon
from clearwell.comparison.pair import FacetChange, Sides
from clearwell.comparison.tokens import Kind, Token

_SAME_WORDS: Final = 0.75
_SAME_FRAME: Final = 0.55
_REACH: Final = 12
_LONGEST_TURNED: Final = 500
_LONGEST_SWAPPED: Final = 100
_SEQUENCE: Final = re.compile(
    r"\b(?:order|sequence|steps?|ranking|ranked|priority|priorities|first|then)\b|顺序|次序|依次|步骤|先后|排名|优先级|首先|先",
    re.IGNORECASE,
)
_PASSIVE: Final = frozenset({"by", "被", "由"})
_CLEFT: Final = re.compile("的(?:人|负责人|同事)?是")
"""A cleft sentence, which changes the order: 负责维护的人是陈浩."""
_THEN: Final = frozenset({"then", "afterward", "finally", "lastly", "再", "然后", "后", "接着", "最后", "最终"})


def is_reordered(new: Features, known: Features) -> bool:
    """Return whether the texts differ only in the order of clauses or list items, or in a part moved to the front."""
    mine, theirs = new.signed, known.signed
    if len(mine) != len(theirs) or Counter(mine) != Counter(theirs):
        return False
    if Counter(_clauses(new, slice(None))) == Counter(_clauses(known, slice(None))):
        return True
    part = _find_difference(mine, theirs)
    parts = _clauses(new, part), _clauses(known, part)
    if Counter(parts[0]) == Counter(parts[1]):
        return not _exchanges_values(new.compared[part], *parts)
    middle, other = mine[part], theirs[part]
    return len(middle) <= _LONGEST_TURNED and any(middle[cut:] + middle[:cut] == other for cut in range(1, len(middle)))


def _exchanges_values(
    tokens: Sequence[Token], mine: Sequence[tuple[str, ...]], theirs: Sequence[tuple[str, ...]]
) -> bool:
    """Return whether only values change places, between clauses that stay: 404 if it is absent, 403 if it is foreign.

    Values that are the items of a list can be in any order.
    """
    values = {token.key for token in tokens if token.value is not None}
    moved = [one for one, other in zip(mine, theirs, strict=True) if one != other]
    return all(len(one) == 1 and one[0] in values for one in moved) and any(len(one) > 1 for one in mine)


def find_changed_sequence(new: Features, known: Features) -> FacetChange | None:
    """Find items in another order, if the text before them says that the order matters."""
    part = _find_difference(new.signed, known.signed)
    mine, theirs = new.compared[part], known.compared[part]
    if len({token.clause for token in mine}) < 2 or not _SEQUENCE.search(new.text[: mine[0].start]):
        return None
    return FacetChange(reason="conflict_order", new=mine[0].surface, known=theirs[0].surface)


def _clauses(text: Features, part: slice) -> list[tuple[str, ...]]:
    words = zip(text.compared[part], text.signed[part], strict=True)
    return [tuple(key for _, key in clause) for _, clause in groupby(words, key=lambda word: word[0].clause)]


def _find_difference(mine: Sequence[str], theirs: Sequence[str]) -> slice:
    """Return the part of two sequences of equal length without their common beginning and end."""
    unlike = [at for at, (one, other) in enumerate(zip(mine, theirs, strict=True)) if one != other]
    return slice(unlike[0], unlike[-1] + 1) if unlike else slice(0, 0)


def find_changed_places(sides: Sides) -> FacetChange | None:
    """Find two exchanged parts: word by word, around the word that relates them, or between clauses."""
    if (swapped := _swapped_parts(sides)) is not None:
        return swapped
    if sides.words < _SAME_WORDS or sides.frame < _SAME_FRAME or sides.match.in_order:
        return None
    if bool(_CLEFT.search(sides.new.text)) != bool(_CLEFT.search(sides.known.text)):
        return None
    return _swapped_roles(sides) or _find_exchange(sides)


def _swapped_parts(sides: Sides) -> FacetChange | None:
    """Find two parts that are exchanged word by word: X relates to Y, and Y relates to X."""
    mine, theirs = sides.new.sequence, sides.known.sequence
    if len(mine) != len(theirs):
        return None
    part = _find_difference(mine, theirs)
    mine, theirs = mine[part], theirs[part]
    if len(mine) > _LONGEST_SWAPPED or Counter(mine) != Counter(theirs):
        return None
    for first in range(1, len(mine)):
        for last in range(1, len(mine) - first) if mine[:first] == theirs[-first:] else ():
            if mine[-last:] == theirs[:last] and mine[first:-last] == theirs[last:-first]:
                start = part.start
                new, known = sides.new.quote(start, start + first), sides.known.quote(start, start + last)
                return FacetChange(reason="conflict_roles", new=new, known=known)
    return None


def _swapped_roles(sides: Sides) -> FacetChange | None:
    words = lexicon()
    mine, theirs = sides.match.new, sides.match.known
    if sum(token.key in _PASSIVE for token in mine) != sum(token.key in _PASSIVE for token in theirs):
        return None
    places = {token.key: at for at, token in enumerate(theirs)}
    for at, token in enumerate(mine):
        other = places.get(token.key)
        if other is None or not _relates(token, words) or _passive(mine, at) != _passive(theirs, other):
            continue
        (left, right), (their_left, their_right) = _around(mine, at), _around(theirs, other)
        doers, done_to = (left & their_right) - right - their_left, (right & their_left) - left - their_right
        if doers and done_to:
            return _make_reversal(token, min(doers), min(done_to), mine)
    return None


def _relates(token: Token, words: Lexicon) -> bool:
    if token.kind is not Kind.WORD:
        return False
    return token.content or token.key in words.relations


def _passive(tokens: Sequence[Token], at: int) -> bool:
    helped = any(token.key == "be" for token in tokens[max(0, at - 2) : at])
    return helped and not tokens[at].surface.endswith("ing")


def _around(tokens: Sequence[Token], at: int) -> tuple[set[str], set[str]]:
    """Return the content words left and right of a word in its clause; for "then", also in the clause before."""
    clause = tokens[at].clause
    clauses = {clause, clause - 1} if tokens[at].key in _THEN else {clause}
    left = {one.key for one in tokens[max(0, at - _REACH) : at] if one.clause in clauses and one.content}
    right = {one.key for one in tokens[at + 1 : at + 1 + _REACH] if one.clause == clause and one.content}
    return left, right


def _make_reversal(token: Token, one: str, other: str, tokens: Sequence[Token]) -> FacetChange:
    shown = {word.key: word.surface for word in tokens}
    reason = "conflict_order" if token.key in _THEN else "conflict_roles"
    return FacetChange(
        reason=reason,
        new=f"{shown[one]} … {token.surface} … {shown[other]}",
        known=f"{shown[other]} … {token.surface} … {shown[one]}",
    )


def _find_exchange(sides: Sides) -> FacetChange | None:
    """Find words that are exchanged between two clauses."""
    mine, theirs = sides.match.new, sides.match.known
    moves = [(mine[at], theirs[other].clause) for at, other, _ in sides.match.pairs if mine[at].content]
    shared = Counter((token.clause, clause) for token, clause in moves)
    partner: dict[int, int] = {}
    for (clause, other), _ in shared.most_common():
        if clause not in partner and other not in partner.values():
            partner[clause] = other
    came_from = {other: clause for clause, other in partner.items()}
    for token, other in moves:
        home, away = partner.get(token.clause), came_from.get(other)
        if home is None or away is None or home == other or not shared[away, home]:
            continue
        back = next(one for one, clause in moves if (one.clause, clause) == (away, home))
        return FacetChange(reason="conflict_roles", new=token.surface, known=back.surface)
    return None
