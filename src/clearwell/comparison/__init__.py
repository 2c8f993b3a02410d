"""Whether two statements say the same, contradict each other in one facet, or are about different things.

In: two texts and the calibrated similarity of their embeddings. Out: a ``Comparison``: same, conflict or different,
with the reason. ``RuleComparison`` is the answer of ``ports.StatementComparison`` that needs no language model.

The similarity of embeddings cannot tell: a changed number has a cosine of .96, a paraphrase may have .5. So similarity
only says how alike two texts are, and the words decide. In order: ``plain_text`` (fillers and who said it left out),
``values`` (``calendar``, ``quantities``), ``tokens`` and ``features`` (words, names, negations), ``alignment`` (which
words go together), ``word_order``, ``polarity``, ``scope`` and ``facets`` (what has changed), ``rule_comparison`` (the
decision). Where nothing has changed, ``same_model``, a logistic model over ``coverage`` and similarity, says whether
texts are the same. A word on one side alone that denies or qualifies keeps texts from being the same.
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
