"""Choose the statement that represents an insight: the most central one that is readable on its own."""

import math
from collections.abc import Collection
from typing import Final

from clearwell.comparison import features_of
from clearwell.comparison.plain_text import normalise_marks
from clearwell.flow.digest.drafting.scores import ScoredCluster
from clearwell.records import DigestCandidate
from clearwell.text.kinds import needs_context
from clearwell.text.segments import CUT

_CUT_WEIGHT: Final = 0.8
"""Factor for a headline that had to be cut."""
_PREAMBLE_WEIGHT: Final = 0.8
"""Factor for a text that begins with words unrelated to the subject: "As I said, …"."""
_DEPENDENT_WEIGHT: Final = 0.7
"""Factor for a text that cannot be understood without what precedes it: "This follows from …", a row of a table."""
_PIECE_WEIGHT: Final = 0.85
"""Factor for a text without a final punctuation mark: a row of a table, a list item, a part of a sentence."""
_ENDS: Final = tuple(".!?。！？…")
_CLOSING: Final = "\"'”’」』)）]】*_ "


def choose_best(one: ScoredCluster, places: Collection[int]) -> DigestCandidate:
    """Return the best statement of these texts, given by index. One that a fact check repeats is the last choice."""
    statements = [(at, statement) for at, statement in one.sources if at in places]
    own = [(at, statement) for at, statement in statements if not statement.repeats]
    return max(own or statements, key=lambda pair: (_measure(one, *pair), -pair[0]))[1]


def _measure(one: ScoredCluster, at: int, statement: DigestCandidate) -> float:
    faults = (
        (_CUT_WEIGHT, statement.headline.endswith(CUT)),
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
