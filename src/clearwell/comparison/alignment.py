"""Align two texts: pair the words and values that correspond, and list those without a partner."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, TypeAlias

from clearwell.comparison.features import Features
from clearwell.comparison.lexicon import Lexicon, Tie, lexicon
from clearwell.comparison.tokens import Token
from clearwell.comparison.values import agree

Pair: TypeAlias = tuple[int, int, Tie | None]
"""Indexes in the new and in the known text, and the tie between the words; None if they are equal."""

_MAX_LEFT: Final = 60
"""With more unpaired words than this, the word lists are not consulted: the texts have little in common."""
_RANK: Final = {tie: rank for rank, tie in enumerate((Tie.SYNONYM, Tie.COMPLEMENT, Tie.CONTRARY, Tie.LIKE))}
_VERBAL: Final = ("v", "a", "d", "z", "i", "l")


@dataclass(slots=True, kw_only=True)
class Alignment:
    """The pairs of tokens in two texts, by index, and the tokens without a partner."""

    new: Sequence[Token]
    known: Sequence[Token]
    pairs: list[Pair] = field(default_factory=list)
    new_left: list[int] = field(default_factory=list)
    known_left: list[int] = field(default_factory=list)

    @property
    def only_new(self) -> list[Token]:
        return [self.new[place] for place in self.new_left]

    @property
    def only_known(self) -> list[Token]:
        return [self.known[place] for place in self.known_left]

    @property
    def in_order(self) -> bool:
        """Whether the partners are in the same order in both texts."""
        return all(before[1] < after[1] for before, after in pairwise(sorted(self.pairs)))


def align(new: Features, known: Features) -> Alignment:
    """Align two texts: equal keys first, then values that agree, then words with the same or the opposite meaning."""
    result = Alignment(new=new.compared, known=known.compared)
    _pair_equals(result)
    if max(len(result.new_left), len(result.known_left)) <= _MAX_LEFT:
        _pair_values(result)
        _pair_words(result, lexicon())
    return result


def _pair_equals(result: Alignment) -> None:
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, token in enumerate(result.known):
        places[token.key].append(place)
    for place, token in enumerate(result.new):
        free = places.get(token.key)
        if not free:
            result.new_left.append(place)
            continue
        index = 0
        if len(free) > 1:
            same_sign = (at for at, other in enumerate(free) if result.known[other].negated == token.negated)
            index = next(same_sign, 0)
        result.pairs.append((place, free.pop(index), None))
    result.known_left = sorted(place for free in places.values() if free for place in free)


def _pair_values(result: Alignment) -> None:
    for place in list(result.new_left):
        value = result.new[place].value
        if value is None:
            continue
        for other in result.known_left:
            theirs = result.known[other].value
            if theirs is not None and agree(value, theirs):
                _take(result, (place, other, None))
                break


def _pair_words(result: Alignment, words: Lexicon) -> None:
    """Pair words, closest ties first. Opposites come before similar words, or 上线 and 下线 would count as similar."""
    ties = sorted(_ties(result, words), key=lambda pair: (_RANK[pair[2]], pair[0], pair[1]) if pair[2] else (0, 0, 0))
    for pair in ties:
        if pair[0] in result.new_left and pair[1] in result.known_left:
            _take(result, pair)


def _ties(result: Alignment, words: Lexicon) -> Iterator[Pair]:
    hooked: defaultdict[str | int, list[int]] = defaultdict(list)
    for other, theirs in zip(result.known_left, result.only_known, strict=True):
        if theirs.value is None:
            for hook in words.hooks(theirs.key):
                hooked[hook].append(other)
    for place, token in zip(result.new_left, result.only_new, strict=True):
        if token.value is not None:
            continue
        for other in {other for hook in words.hooks(token.key) for other in hooked.get(hook, ())}:
            tie = _tie(token, result.known[other], words)
            if tie is not None:
                yield place, other, tie


def _tie(new: Token, known: Token, words: Lexicon) -> Tie | None:
    tie = words.tie(new.key, known.key)
    if tie is not None or new.key.isascii() or known.key.isascii() or _denies_alone(new, known, words):
        return tie
    verbal = new.tag.startswith(_VERBAL) and known.tag.startswith(_VERBAL) and new.content and known.content
    shared = len(set(new.key) & set(known.key)) if verbal else 0
    return Tie.LIKE if shared and 2 * shared >= max(len(new.key), len(known.key)) else None


def _denies_alone(new: Token, known: Token, words: Lexicon) -> bool:
    return (new.key in words.deniers) != (known.key in words.deniers)


def _take(result: Alignment, pair: Pair) -> None:
    result.pairs.append(pair)
    result.new_left.remove(pair[0])
    result.known_left.remove(pair[1])
