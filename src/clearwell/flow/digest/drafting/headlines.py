"""The statement that stands for an insight: the most central one that can be read as it is."""

import math
from collections.abc import Collection
from typing import Final

from clearwell.comparison import features_of
from clearwell.comparison.plain_text import normalise_marks
from clearwell.flow.digest.drafting.scores import ScoredCluster
from clearwell.records import DigestCandidate
from clearwell.text.kinds import needs_context

CUT: Final = "…"
_CUT_WEIGHT: Final = 0.8
"""What a headline that had to be cut is worth beside one that is whole."""
_BESIDE_WEIGHT: Final = 0.8
"""What a text is worth whose first words are beside the matter: "As I said, …"."""
_DEPENDENT_WEIGHT: Final = 0.7
"""What a text is worth that says too little without what stands above it: "This follows from …", a row of a table."""
_PIECE_WEIGHT: Final = 0.85
"""What a text is worth that no mark ends: a row of a table, an item, a part of a sentence."""
_ENDS: Final = tuple(".!?。！？…")
_CLOSING: Final = "\"'”’」』)）]】*_ "


def choose_best(one: ScoredCluster, places: Collection[int]) -> DigestCandidate:
    """The best statement among the texts at these places; what a fact check repeats only if there is no other."""
    statements = [(at, statement) for at, statement in one.sources if at in places]
    own = [(at, statement) for at, statement in statements if not statement.repeats]
    return max(own or statements, key=lambda pair: (_measure(one, *pair), -pair[0]))[1]


def _measure(one: ScoredCluster, at: int, statement: DigestCandidate) -> float:
    faults = (
        (_CUT_WEIGHT, statement.headline.endswith(CUT)),
        (_BESIDE_WEIGHT, _begins_beside(one, at)),
        (_DEPENDENT_WEIGHT, needs_context(statement.text)),
        (_PIECE_WEIGHT, not statement.text.rstrip(_CLOSING).endswith(_ENDS)),
    )
    return one.central[at] * math.prod(weight for weight, there in faults if there)


def _begins_beside(one: ScoredCluster, at: int) -> bool:
    """Whether a text begins with a filler, or with a clause of one term at most that no other text has."""
    read = features_of[one.texts[at].content]
    if not read.tokens or not normalise_marks(read.raw).startswith(read.text):
        return bool(read.tokens)
    first = {token.key for token in read.tokens if token.clause == read.tokens[0].clause and token.content}
    if len(first) > 1 or read.tokens[-1].clause == read.tokens[0].clause:
        return False
    others = (features_of[text.content].tokens for place, text in enumerate(one.texts) if place != at)
    return first.isdisjoint(token.key for tokens in others for token in tokens)
