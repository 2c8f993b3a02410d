"""Who says the opposite of what most members of a cluster say, in free words: before and after, 打开 and 关闭.

Two texts in words of their own cannot be compared word by word. But where most of a cluster have one of two opposite
words, and a text has the other one instead, it is on the other side.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from clearwell.comparison import Features
from clearwell.comparison.lexicon import Tie, lexicon
from clearwell.flow.digest.drafting.consensus import LEAST_SPEAKERS, MOST_SAY, Departure
from clearwell.flow.digest.drafting.subjects import strays

MATTERS: Final = 0.6
"""Share of the texts of a language that have one of two opposites, from which these are what it is about."""
_CONTRARY: Final = frozenset(
    {"befor", "after", "more", "less", "higher", "lower", "rise", "fall"}
    | {"之前", "之后", "更高", "更低", "更多", "更少", "上升", "下降"}
)
"""Of words that can both be false, those that are seldom said beside the matter; cold and warm are often."""
_REASON: Final = "conflict_antonym"


def opposites(read: Sequence[Features], speakers: Sequence[frozenset[str]]) -> list[Departure]:
    """For each text with the word that is the opposite of most's, the first text of most's in the given order."""
    found: dict[int, Departure] = {}
    for han in (False, True):
        places = [at for at, text in enumerate(read) if text.han is han]
        poles = {at: _poles(read[at]) for at in places}
        for word in sorted(frozenset[str]().union(*poles.values())):
            for one in _opposed(word, poles, read, speakers):
                found.setdefault(one.of, one)
    return [found[at] for at in sorted(found)]


def _poles(text: Features) -> frozenset[str]:
    """The words of a text that have opposites, and are not denied."""
    words = lexicon()
    return frozenset(
        token.key
        for token in text.tokens
        if token.counts and not token.negated and (token.key in words.complements or token.key in _CONTRARY)
    )


def _opposed(
    word: str, poles: dict[int, frozenset[str]], read: Sequence[Features], speakers: Sequence[frozenset[str]]
) -> Iterator[Departure]:
    saying = [at for at, some in poles.items() if word in some]
    if len(frozenset[str]().union(*(speakers[at] for at in saying))) < LEAST_SPEAKERS:
        return
    against = {at: other for at, some in poles.items() if (other := _opposite(word, some))}
    total = len({*saying, *against})
    if not against or {*saying} & {*against} or len(saying) < MOST_SAY * total or total < MATTERS * len(poles):
        return
    most = [read[at] for at in saying]
    for at, other in against.items():
        if not any(token.key == word for token in read[at].tokens) and not strays(read[at], most):
            yield Departure(
                of=at, against=saying[0], reason=_REASON, new=_shown(read[at], other), known=_shown(most[0], word)
            )


def _opposite(word: str, said: frozenset[str]) -> str | None:
    words = lexicon()
    ties = (Tie.COMPLEMENT, Tie.CONTRARY) if word in _CONTRARY else (Tie.COMPLEMENT,)
    return next((one for one in sorted(said) if words.tie(word, one) in ties), None)


def _shown(text: Features, key: str) -> str:
    return next(token.surface for token in text.tokens if token.key == key)
