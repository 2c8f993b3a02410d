"""Two texts that contradict each other, and how far that is to be believed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from clearwell.comparison import Features
from clearwell.comparison.tokens import Kind
from clearwell.flow.digest.drafting.small_talk import counts_progress, is_chatter, tells_when
from clearwell.flow.digest.drafting.subjects import SIBLINGS, measure_frame, misspelt, words
from clearwell.records import Comparison

TERM: Final = "conflict_term"
FRAMED: Final = 0.5
"""Share of words in the same order from which two texts have one frame."""
REARRANGED: Final = 0.7
"""The same where all that differs is the order of words: free wordings put them as they like."""
_ROLES: Final = "conflict_roles"
_NAME: Final = "conflict_name"
_CLAUSE_END: Final = re.compile(r"[:;,，：；。]")
"""A denial reaches no further than its clause: "before I forget: …" denies nothing."""
_AKIN: Final = 4
_TITLES: Final = frozenset({"mr", "mrs", "ms", "dr", "prof"})
VALUES: Final = frozenset({"conflict_number", "conflict_date", "conflict_time", "conflict_unit", "conflict_version"})
_DENIED: Final = frozenset({"conflict_negation", "conflict_antonym", "conflict_duty", "conflict_frequency"})
_WORDING: Final = frozenset({TERM, _ROLES, _NAME})


@dataclass(frozen=True, slots=True, kw_only=True)
class Opposition:
    """Two places of texts that contradict each other, and why."""

    of: int
    against: int
    reason: str
    params: dict[str, str]


def is_about_progress(one: Opposition, read: Sequence[Features]) -> bool:
    """Whether what differs is how far somebody is, or a word of how work goes."""
    if one.reason in VALUES:
        places = ((one.of, "new"), (one.against, "known"))
        return any(counts_progress(read[at], one.params.get(side, "")) for at, side in places)
    return one.reason in _WORDING and all(is_chatter(read[at]) for at in (one.of, one.against))


def is_about_fact(one: Opposition, read: Sequence[Features]) -> bool:
    """Whether two texts give the same thing another value, or deny it, with no other thing told of."""
    told = [
        {token.key for token in read[at].tokens if token.content and token.value is None}
        for at in (one.of, one.against)
    ]
    if one.reason in VALUES:
        places = ((one.of, "new"), (one.against, "known"))
        return told[0] == told[1] and not any(tells_when(read[at], one.params.get(side, "")) for at, side in places)
    if one.reason == _NAME:
        return all(map(_named_late, (read[one.of], read[one.against]))) and _apart_from_names(read, one)
    return one.reason in _DENIED and max(len(told[0] - told[1]), len(told[1] - told[0])) <= 1


def denies_outright(one: Opposition, read: Sequence[Features]) -> bool:
    """Whether one text denies what the other says in nearly the same words: no two of a series do that."""
    return one.reason in _DENIED and is_about_fact(one, read)


def _named_late(text: Features) -> bool:
    """Whether a text names somebody as what it says, and not as the one who did something: both may have done it."""
    first = next((token for token in text.tokens if token.content), None)
    return first is not None and first.kind is not Kind.NAME and not is_chatter(text)


def _apart_from_names(read: Sequence[Features], one: Opposition) -> bool:
    """Whether two texts are the same but for names."""
    texts = read[one.of], read[one.against]
    rest = [[token.key for token in text.tokens if token.kind is not Kind.NAME] for text in texts]
    return rest[0] == rest[1]


def is_credible(found: Comparison, one: Features, other: Features) -> bool:
    """Values are opposed in any words; names and terms only where the words around them are the same."""
    new, known = found.params.get("new", ""), found.params.get("known", "")
    if are_siblings(one, other, (new, known)) or all(_asks(text) for text in (one, other)):
        return False
    if found.reason in VALUES:
        return True
    if found.reason in _DENIED and any(_CLAUSE_END.search(quote) for quote in (new, known)):
        return False
    if {new.casefold().rstrip("."), known.casefold().rstrip(".")} & _TITLES:
        return False
    if found.reason == TERM and max(len(words(one) - words(other)), len(words(other) - words(one))) > 1:
        return False
    needed = REARRANGED if found.reason == _ROLES else FRAMED
    worded = found.reason in _WORDING and _akin(new.casefold(), known.casefold())
    return measure_frame(one, other) >= needed and not worded


def _asks(text: Features) -> bool:
    return text.asks or "?" in text.raw or "？" in text.raw


def are_siblings(one: Features, other: Features, disputed: tuple[str, str]) -> bool:
    """Whether two texts of one frame have other words beside those in dispute: each tells of a thing of its own."""
    if measure_frame(one, other) < SIBLINGS:
        return False
    rest = [_beside(text, surface) for text, surface in zip((one, other), disputed, strict=True)]
    return all(
        any(not any(_akin(word, theirs) for theirs in words(text)) for word in some)
        for some, text in ((rest[0], other), (rest[1], one))
    )


def _beside(text: Features, surface: str) -> frozenset[str]:
    """The words in the clause of those that are quoted, a name as a whole left out."""
    quoted = [token.surface in surface or token.quoted == surface for token in text.tokens]
    clauses = {token.clause for token, yes in zip(text.tokens, quoted, strict=True) if yes}
    named = [token.kind is Kind.NAME for token in text.tokens]
    for at in range(1, len(quoted)):
        quoted[at] |= quoted[at - 1] and named[at - 1] and named[at]
        quoted[-at - 1] |= quoted[-at] and named[-at] and named[-at - 1]
    told = zip(text.tokens, quoted, strict=True)
    return words(text) & {token.key.split("_")[0] for token, yes in told if not yes and token.clause in clauses}


def _akin(one: str, other: str) -> bool:
    """Canada and Canadian, 澳洲 and 澳大利亚, Zurich and Zuirch, quarter and this quarter."""
    if one.isascii() or other.isascii():
        pairs = [(mine, theirs) for mine in one.split() for theirs in other.split()]
        return any(
            mine == theirs or misspelt(mine, theirs) or (mine[:_AKIN] == theirs[:_AKIN] and len(mine[:_AKIN]) == _AKIN)
            for mine, theirs in pairs
        )
    return bool(set(one) & set(other))
