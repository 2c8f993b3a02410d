"""What the members of a cluster speak of: a text that lacks what the others name speaks of something else."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from clearwell.comparison import Features
from clearwell.comparison.alignment import matching
from clearwell.comparison.frame import likeness, shared_start
from clearwell.comparison.tokens import Kind, Token

MISSING: Final = 0.5
"""Share of what the others name that a text may lack."""
MOST_NAME: Final = 0.6
"""Share of the others that name something all of them speak of."""
FRAME: Final = 0.55
_AKIN: Final = 3


def words(text: Features) -> frozenset[str]:
    """What a text speaks of, values left out; included in is include."""
    return frozenset(token.key.split("_")[0] for token in text.tokens if token.content and token.value is None)


def names(text: Features) -> frozenset[str]:
    return frozenset(token.key for token in text.tokens if token.kind is Kind.NAME and token.value is None)


def common(texts: Sequence[Features]) -> frozenset[str]:
    """What most of several texts name, in their words; nothing where there is but one wording."""
    distinct = {text.signed: words(text) for text in texts}.values()
    counts = Counter(word for some in distinct for word in some)
    needed = max(2, MOST_NAME * len(distinct))
    return frozenset(word for word, count in counts.items() if count >= needed)


def strays(text: Features, others: Sequence[Features]) -> bool:
    """Whether a text speaks of another thing than the others of its language."""
    peers = [other for other in others if other.language is text.language and other.signed != text.signed]
    return bool(peers) and (_lacks(text, peers) or _replaces(text, peers))


def _lacks(text: Features, peers: Sequence[Features]) -> bool:
    """It lacks most of what they name, or has another name in the place of theirs."""
    shared, own = common(peers), words(text)
    missing = [word for word in shared if not any(akin(word, mine) for mine in own)]
    theirs = frozenset[str]().union(*map(words, peers))
    foreign = [name for name in names(text) if not any(akin(name, word) for word in theirs)]
    named = frozenset[str]().union(*map(names, peers)) & frozenset(missing)
    return len(missing) > MISSING * len(shared) or bool(foreign and named)


def _replaces(text: Features, peers: Sequence[Features]) -> bool:
    """In the same frame it has words of its own where they have others: the catering, the cloud contract."""
    theirs = frozenset[str]().union(*map(words, peers))
    framed = [peer for peer in peers if likeness(text.keys, peer.keys) >= FRAME]
    return bool(framed) and all(_other_words(text, peer, theirs) for peer in framed)


def _other_words(text: Features, peer: Features, theirs: frozenset[str]) -> bool:
    match = matching(text, peer)
    new, known = _beside_values(match.only_new), _beside_values(match.only_known)
    return bool(known) and any(not any(akin(key, word) for word in theirs) for key in new)


def _beside_values(tokens: Sequence[Token]) -> list[str]:
    """The words in the clauses of values: what is told of a thing beside its value may well differ."""
    clauses = {token.clause for token in tokens if token.value is not None}
    return [token.key for token in tokens if token.content and token.value is None and token.clause in clauses]


def akin(one: str, other: str) -> bool:
    """Spain and Spanish, 报表 and 报表集群, cluster and clsuter."""
    if one == other:
        return True
    if one.isascii() and other.isascii():
        return min(len(one), len(other)) > _AKIN and (one[:_AKIN] == other[:_AKIN] or misspelt(one, other))
    return one in other or other in one


def misspelt(one: str, other: str) -> bool:
    """Whether two words are one but for a letter more, or two that changed places."""
    if not (one.isalpha() and other.isalpha()) or abs(len(one) - len(other)) > 1 or min(len(one), len(other)) < _AKIN:
        return False
    start = shared_start(one, other)
    end = shared_start(one[start:][::-1], other[start:][::-1])
    left = one[start : len(one) - end], other[start : len(other) - end]
    return max(map(len, left)) <= 1 if len(one) != len(other) else left[0] == left[1][::-1]
