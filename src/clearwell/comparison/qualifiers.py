"""Find qualifiers that only one of two texts has (only, probably, former, in Spain), and lists with other items."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Final

from clearwell.comparison.lexicon import lexicon
from clearwell.comparison.pair import FacetChange, Sides
from clearwell.comparison.tokens import Token

_ITEM_WORDS: Final = 3
_LIST_ITEMS: Final = 4
_FREE: Final = 2
"""The level of "may" and "can" on the scale of duty. Below it are "must" and "should"."""
_WIDER: Final = FacetChange(reason="different_reach", sure=False)


def find_changed_reach(sides: Sides) -> FacetChange | None:
    """Find a restriction or requirement in one text only, or what one allows to some and the other to anyone."""
    words = lexicon()
    anyone, duty = words.scales["quantity_words"], words.scales["duty_words"]
    new, known = sides.match.only_new, sides.match.only_known
    restricted = [any(token.key in words.restricting for token in side) for side in (new, known)]
    demanded = [any(duty.get(token.key, _FREE) < _FREE for token in side.tokens) for side in (sides.new, sides.known)]
    opened = [any(anyone.get(token.key) == 0 for token in side) for side in (known, new)]
    one_sided = sum(restricted) == 1 or sum(demanded) == 1
    if (sides.near and one_sided) or any(one and other for one, other in zip(restricted, opened, strict=True)):
        return _WIDER
    return None


def find_added_qualifier(sides: Sides) -> FacetChange | None:
    """Find an additional word inside a clause of nearly the same text: of customers, of customers in Spain."""
    if not sides.near:
        return None
    if _qualifies(sides.match.only_new, sides.match.new):
        return FacetChange(reason="different_adds", sure=False)
    return _WIDER if _qualifies(sides.match.only_known, sides.match.known) else None


def _qualifies(alone: Sequence[Token], tokens: Sequence[Token]) -> bool:
    """Return whether a clause has words with and without a partner. Denying words are ignored: polarity covers them."""
    words = lexicon()
    total = Counter(token.clause for token in tokens if token.content)
    left = Counter(token.clause for token in alone if token.content)
    return any(
        left[token.clause] < total[token.clause]
        for token in alone
        if token.key not in words.deniers and (token.content or (token.key in words.contraries and token.counts))
    )


def find_changed_items(sides: Sides) -> FacetChange | None:
    """Find replaced items: both texts are lists, and each has an item that shares no word with the other list."""
    mine, theirs = sides.match.only_new, sides.match.only_known
    if not mine or not theirs or not _is_list(sides.match.new) or not _is_list(sides.match.known):
        return None
    replaced = _new_items(mine, sides.match.new) and _new_items(theirs, sides.match.known)
    return FacetChange(reason="different_fact", sure=False) if replaced else None


def _sizes(tokens: Sequence[Token]) -> list[int]:
    return [sum(token.content for token in clause) for _, clause in groupby(tokens, key=lambda token: token.clause)]


def _is_list(tokens: Sequence[Token]) -> bool:
    sizes = _sizes(tokens)
    return (
        max((len(list(run)) for item, run in groupby(sizes, key=lambda size: size <= _ITEM_WORDS) if item), default=0)
        >= _LIST_ITEMS
    )


def _new_items(alone: Sequence[Token], tokens: Sequence[Token]) -> bool:
    total = Counter(token.clause for token in tokens if token.content)
    left = Counter(token.clause for token in alone if token.content)
    return any(count == total[clause] <= _ITEM_WORDS for clause, count in left.items())
