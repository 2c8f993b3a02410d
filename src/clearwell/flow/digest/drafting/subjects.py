"""What the members of a cluster speak of: a text that lacks what the others name speaks of something else.

One sentence about several things is no cluster: what is told of the orders cluster is not told of the mail cluster.
Texts of one frame that differ in a word and in what they say besides are about different things. Where a place of the
frame is filled in many ways, what fills it is the subject, and the texts with the subject that most speak of stay.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final

from clearwell.comparison import Features
from clearwell.comparison.alignment import align
from clearwell.comparison.pair import likeness, shared_start
from clearwell.comparison.tokens import Kind, Token
from clearwell.text.languages import LANGUAGES

MISSING: Final = 0.5
"""Share of what the others name that a text may lack."""
MOST_NAME: Final = 0.6
"""Share of the others that name something all of them speak of."""
FRAME: Final = 0.55
SIBLINGS: Final = 0.6
"""The same from which it is one sentence told of several things."""
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
    match = align(text, peer)
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


def measure_frame(one: Features, other: Features) -> float:
    """How much two texts have of one frame: all, where they are the same words in another order."""
    if one.language is not other.language:
        return 0.0
    return 1.0 if sorted(one.keys) == sorted(other.keys) else likeness(one.keys, other.keys)


MOST_COMPARED: Final = 40
"""Texts of one language that are compared, the most central."""
SLOTS: Final = 2
"""Words in which two texts of one frame differ at most."""
FILLED: Final = 3
"""Ways in which a place is filled that holds a subject: a dispute has two."""
OTHERS: Final = 0.7
"""Share of texts about others from which it is a series, in which nothing is told of one thing in particular."""


def find_other_subjects(read: Sequence[Features], speakers: Sequence[frozenset[str]]) -> frozenset[int]:
    """Places of the texts that tell the same of other things than most do."""
    return frozenset[int]().union(
        *(
            _others([at for at, text in enumerate(read) if text.language is language], read, speakers)
            for language in LANGUAGES
        )
    )


def _others(places: Sequence[int], read: Sequence[Features], speakers: Sequence[frozenset[str]]) -> frozenset[int]:
    fillers = _subjects(_alternatives([read[at] for at in places[:MOST_COMPARED]]), places, read, speakers)
    if not fillers:
        return frozenset()
    told = {at: {token.key for token in read[at].tokens} & fillers.keys() for at in places}
    voices = {word: _voices([at for at in places if word in told[at]], speakers) for word in fillers}
    main = max(sorted(fillers), key=lambda word: len(voices[word]))
    meant = {main, *(word for word in fillers if misspelt(word, main) or word in main or main in word)}
    others = frozenset(at for at in places if told[at] and not told[at] & meant)
    return others if len(others) <= OTHERS * len(places) else frozenset()


def _voices(places: Sequence[int], speakers: Sequence[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*(speakers[at] for at in places))


def _alternatives(texts: Sequence[Features]) -> list[tuple[str, str]]:
    """Words that stand in each other's place where something else differs as well."""
    distinct = list({text.signed: text for text in texts}.values())
    found = []
    for one, other in combinations(distinct, 2):
        if measure_frame(one, other) < SIBLINGS:
            continue
        left = _only(one, other), _only(other, one)
        values = _count_values(one) != _count_values(other)
        if len(left[0]) == len(left[1]) and 0 < len(left[0]) <= SLOTS and (values or len(left[0]) > 1):
            found += [(mine.key, theirs.key) for mine, theirs in zip(*left, strict=True)]
    return found


def _only(one: Features, other: Features) -> list[Token]:
    keys = {token.key for token in other.tokens}
    return [token for token in one.tokens if token.content and token.value is None and token.key not in keys]


def _count_values(text: Features) -> Counter[str]:
    return Counter(token.key for token in text.tokens if token.value is not None and token.content)


def _subjects(
    alternatives: Sequence[tuple[str, str]],
    places: Sequence[int],
    read: Sequence[Features],
    speakers: Sequence[frozenset[str]],
) -> Mapping[str, int]:
    """The words that fill one place in many ways; of several such places, the one whose first word most speak of."""
    near: defaultdict[str, set[str]] = defaultdict(set)
    for one, other in alternatives:
        near[one].add(other)
        near[other].add(one)
    best: dict[str, int] = {}
    for slot in _joined(near):
        told = {word: len(_voices([at for at in places if word in read[at].keys], speakers)) for word in slot}
        if len(slot) >= FILLED and max(told.values()) > 1 and max(told.values()) > max(best.values(), default=0):
            best = told
    return best


def _joined(near: Mapping[str, set[str]]) -> list[set[str]]:
    left, slots = set(near), []
    while left:
        slot, edge = set[str](), {min(left)}
        while edge:
            slot |= edge
            edge = set[str]().union(*(near[word] for word in edge)) - slot
        slots.append(slot)
        left -= slot
    return slots
