"""The statement that stands for an insight: the most central one that can be read as it is."""

from collections.abc import Collection
from typing import Final

from clearwell.flow.digest.drafting.scores import ScoredCluster
from clearwell.records import DigestCandidate

CUT: Final = "…"
_CUT_WEIGHT: Final = 0.8
"""What a headline that had to be cut is worth beside one that is whole."""


def choose_best(one: ScoredCluster, places: Collection[int]) -> DigestCandidate:
    """The best statement among the texts at these places; what a fact check repeats only if there is no other."""
    statements = [(at, statement) for at, statement in one.sources if at in places]
    own = [(at, statement) for at, statement in statements if not statement.repeats]
    return max(own or statements, key=lambda pair: (_measure(one, *pair), -pair[0]))[1]


def _measure(one: ScoredCluster, at: int, statement: DigestCandidate) -> float:
    return one.central[at] * (_CUT_WEIGHT if statement.headline.endswith(CUT) else 1.0)
