"""Who denies what the others say, where texts cannot be compared word by word: in free words, in two languages.

Across languages only how often something is denied can be compared. So it counts only where texts are near, short, of
one sentence and without words that deny by their meaning, and where two speakers stand on the other side.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from clearwell.comparison import Features, denies
from clearwell.comparison.lexicon import lexicon
from clearwell.comparison.splitting import Token
from clearwell.flow.digest.drafting.consensus import LEAST_SPEAKERS, Departure
from clearwell.flow.digest.drafting.subjects import words

NEAR: Final = 0.55
"""Similarity of two texts that may be held against each other."""
SHARED: Final = 0.8
"""Share of words that two texts of one language have in common, one of which denies."""
SHORT: Final = 8
ASIDE: Final = 2
"""Words of a clause that only leads up to another."""
_BESIDE_THE_POINT: Final = ("without", "zero", "零")
"""They deny a part of what is told of, and other languages say it in other ways."""
_REASON: Final = "conflict_negation"


def denials(
    read: Sequence[Features],
    speakers: Sequence[frozenset[str]],
    similarity: Callable[[int, int], float],
    opposed: Callable[[int, int], bool],
) -> list[Departure]:
    """Texts that deny what two speakers say, or say what two speakers deny."""
    plain = [at for at, text in enumerate(read) if _plain(text)]
    found = []
    for at in plain:
        others = [other for other in plain if _otherwise(read, at, other) and similarity(at, other) >= NEAR]
        free = [other for other in others if not opposed(at, other)]
        within = [other for other in free if _denied(read[at], read[other]) or _denied(read[other], read[at])]
        across = [other for other in free if read[at].han != read[other].han]
        if across and _outnumbered(at, plain, others, read, speakers):
            within += across[:1]
        found += [_departure(read, at, other) for other in within]
    return found


def _outnumbered(
    at: int,
    plain: Sequence[int],
    others: Sequence[int],
    read: Sequence[Features],
    speakers: Sequence[frozenset[str]],
) -> bool:
    """Whether two speakers stand against a text, and more than stand beside it."""
    voices = frozenset[str]().union(*(speakers[other] for other in others))
    mine = frozenset[str]().union(*(speakers[two] for two in plain if read[two].negations == read[at].negations))
    return LEAST_SPEAKERS <= len(voices) > len(mine)


def _plain(text: Features) -> bool:
    """One short sentence that denies once at most, and by a negation only."""
    facts = [token for token in text.tokens if token.content]
    deniers = lexicon().deniers
    return (
        text.negations <= 1
        and len(facts) <= SHORT
        and _in_one_clause(text, facts)
        and not text.asks
        and not any(word in text.raw.casefold() for word in _BESIDE_THE_POINT)
        and not denies(text)
        and not any(token.key in deniers for token in text.tokens)
    )


def _in_one_clause(text: Features, facts: Sequence[Token]) -> bool:
    """Whether what is told, and denied, stands in one clause, beside no more than "I looked it up"."""
    sizes = Counter(token.clause for token in facts)
    if not sizes:
        return False
    main, _ = sizes.most_common(1)[0]
    few = all(size <= ASIDE for clause, size in sizes.items() if clause != main)
    return few and all(token.clause == main for token in text.tokens if token.negated)


def _otherwise(read: Sequence[Features], at: int, other: int) -> bool:
    return read[at].negations != read[other].negations and _same_values(read[at], read[other])


def _denied(one: Features, other: Features) -> bool:
    """Whether one text denies a word that the other says, and nearly all their words are the same."""
    if one.han != other.han:
        return False
    denied = {token.key.split("_")[0] for token in one.tokens if token.negated and token.content}
    shared = words(one) & words(other)
    return bool(denied & shared) and len(shared) >= SHARED * max(len(words(one)), len(words(other)))


def _same_values(one: Features, other: Features) -> bool:
    values = [
        {token.key for token in text.tokens if token.value is not None and token.content} for text in (one, other)
    ]
    return values[0] == values[1]


def _departure(read: Sequence[Features], at: int, against: int) -> Departure:
    return Departure(of=at, against=against, reason=_REASON, new=_quoted(read[at]), known=_quoted(read[against]))


def _quoted(text: Features) -> str:
    """The word that is denied with what denies it, else the whole."""
    denied = next((token for token in text.tokens if token.negated), None)
    if denied is None or denied.start < 1:
        return text.quote(0, len(text.sequence))
    first = max((token.start for token in text.tokens if token.end <= denied.start), default=denied.start)
    return text.text[first : denied.end]
