"""Choose the statement that represents an insight: the most central one that is readable on its own.

Of a sentence that is too long for a headline, the clauses are shown that have most in common with the other sources:
what several voices say stands anywhere in a long sentence, often at its end.
"""

import math
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from clearwell.comparison import features_of
from clearwell.comparison.plain_text import normalise_marks
from clearwell.flow.digest.drafting.scores import ScoredCluster
from clearwell.records import DigestCandidate
from clearwell.text.kinds import needs_context
from clearwell.text.segments import CUT, find_longest_headline, is_cut, restore_whole

_UNKNOWN_KEPT: Final = 0.5
"""Of a sentence without a clause that is short enough for a headline, the beginning is shown."""
_CUT_WEIGHT: Final = 0.8
"""Factor for a headline that had to be cut."""
_PREAMBLE_WEIGHT: Final = 0.8
"""Factor for a text that begins with words unrelated to the subject: "As I said, …"."""
_DEPENDENT_WEIGHT: Final = 0.7
"""Factor for a text that cannot be understood without what precedes it: "This follows from …", a row of a table."""
_PIECE_WEIGHT: Final = 0.85
"""Factor for a text without a final punctuation mark: a row of a table, a list item, a part of a sentence."""
_ENDS: Final = tuple(".!?。！？…")
_CLAUSE: Final = re.compile(r"[^，；：。！？]*?(?:[,;:](?=\s)|[，；：。！？]|\s[—–-]\s|$)|[^，；：。！？]+")
_PAUSES: Final = " ,;:，；：、—–-"
_CLOSING: Final = "\"'”’」』)）]】*_ "


@dataclass(frozen=True, slots=True)
class _Headline:
    text: str
    kept: float = 1.0
    """How much of what the statement shares with the other texts is in the headline, from 0 to 1."""


def choose_best(one: ScoredCluster, places: Collection[int]) -> DigestCandidate:
    """Return the best statement of these texts, given by index. One that a fact check repeats is the last choice."""
    statements = [(at, statement) for at, statement in one.sources if at in places]
    own = [(at, statement) for at, statement in statements if not statement.repeats] or statements
    headlines = [_shorten(one, at, statement) for at, statement in own]
    best = max(range(len(own)), key=lambda number: (_measure(one, *own[number], headlines[number]), -own[number][0]))
    return replace(own[best][1], headline=headlines[best].text)


def _shorten(one: ScoredCluster, at: int, statement: DigestCandidate) -> _Headline:
    """Return as the headline of a long statement the clauses in a row that share most with the other texts."""
    whole = restore_whole(statement.headline, [statement.statement])
    if whole == statement.headline:
        return _Headline(whole)
    most = find_longest_headline(whole) - 2 * len(CUT)
    others = [_list_terms(text.content) for place, text in enumerate(one.texts) if place != at]
    clauses = [match.span() for match in _CLAUSE.finditer(whole) if match.group().strip()]
    shared = [
        sum(term in other for term in _list_terms(whole[start:end]) for other in others) for start, end in clauses
    ]
    runs = [
        (sum(shared[first : last + 1]), clauses[first][0] - clauses[last][1], first, last)
        for first in range(len(clauses))
        for last in range(first, len(clauses))
        if clauses[last][1] - clauses[first][0] <= most
    ]
    if not runs:
        return _Headline(statement.headline, kept=_UNKNOWN_KEPT)
    found, _, first, last = max(runs)
    start, end = clauses[first][0], clauses[last][1]
    kept = whole[start:end].strip(_PAUSES)
    before, after = CUT if first else "", CUT if last + 1 < len(clauses) else ""
    return _Headline(f"{before}{kept}{after}", kept=found / max(1, sum(shared)))


def _list_terms(text: str) -> frozenset[str]:
    return frozenset(token.key for token in features_of[text].tokens if token.content)


def _measure(one: ScoredCluster, at: int, statement: DigestCandidate, headline: _Headline) -> float:
    faults = (
        (_CUT_WEIGHT * headline.kept, is_cut(headline.text)),
        (_PREAMBLE_WEIGHT, _has_preamble(one, at)),
        (_DEPENDENT_WEIGHT, needs_context(statement.text)),
        (_PIECE_WEIGHT, not statement.text.rstrip(_CLOSING).endswith(_ENDS)),
    )
    return one.central[at] * math.prod(weight for weight, there in faults if there)


def _has_preamble(one: ScoredCluster, at: int) -> bool:
    """Return whether a text begins with a filler, or with a clause that has at most one term, in no other text."""
    read = features_of[one.texts[at].content]
    if not read.tokens or not normalise_marks(read.raw).startswith(read.text):
        return bool(read.tokens)
    first = {token.key for token in read.tokens if token.clause == read.tokens[0].clause and token.content}
    if len(first) > 1 or read.tokens[-1].clause == read.tokens[0].clause:
        return False
    others = (features_of[text.content].tokens for place, text in enumerate(one.texts) if place != at)
    return first.isdisjoint(token.key for tokens in others for token in tokens)
