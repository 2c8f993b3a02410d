"""Compare two statements: they say the same, contradict each other in one facet, or are about different things.

In: two texts and the calibrated similarity of their embeddings. Out: a ``Comparison``: same, conflict or different,
with the reason. ``RuleComparison`` is the answer of ``ports.StatementComparison`` that needs no language model.

The similarity of embeddings cannot decide this: a text with a changed number has a cosine of .96, a paraphrase may have
.5. So similarity only measures how alike two texts are, and their words decide. In order: ``plain_text`` (removes
fillers and attributions), ``values`` (``calendar``, ``quantities``), ``tokens`` and ``features`` (words, names,
negations), ``alignment`` (which words correspond), ``word_order``, ``polarity``, ``qualifiers`` and ``facets`` (what
has changed), ``rule_comparison`` (the decision). If nothing has changed, ``sameness``, a logistic model over
``coverage`` and similarity, decides whether the texts are the same. Texts are never the same if a word that denies or
qualifies occurs on one side only.
"""

from clearwell.comparison.features import Features, features_of, read_features
from clearwell.comparison.polarity import denies
from clearwell.comparison.rule_comparison import (
    CONFLICT_SIMILARITY,
    DUPLICATE_SIMILARITY,
    LOWEST_SIMILARITY,
    RuleComparison,
)
from clearwell.comparison.tokens import Kind

__all__ = [
    "CONFLICT_SIMILARITY",
    "DUPLICATE_SIMILARITY",
    "LOWEST_SIMILARITY",
    "Features",
    "Kind",
    "RuleComparison",
    "denies",
    "features_of",
    "read_features",
]
