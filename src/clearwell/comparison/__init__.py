"""Whether two statements say the same, contradict each other in one facet, or are about different things.

The similarity of embeddings cannot tell: a changed number has a cosine of .96, a paraphrase may have .5. So similarity
only says how alike two texts are, and the words decide: values in one form, names, negation, opposites, and who does
what to whom. In order: ``trimming`` (fillers, who said it), ``values``, ``splitting`` and ``reading`` (words),
``matching`` (synonyms, opposites), ``order``, ``polarity``, ``reach`` and ``facets`` (what has changed), ``comparing``
(the decision). A word on one side alone that denies or qualifies keeps texts from being the same.
"""

from clearwell.comparison.comparing import (
    CONFLICT_SIMILARITY,
    DUPLICATE_SIMILARITY,
    LOWEST_SIMILARITY,
    Comparison,
    Relation,
    compare,
)
from clearwell.comparison.polarity import denies
from clearwell.comparison.reading import Features, features
from clearwell.comparison.splitting import Kind

__all__ = [
    "CONFLICT_SIMILARITY",
    "DUPLICATE_SIMILARITY",
    "LOWEST_SIMILARITY",
    "Comparison",
    "Features",
    "Kind",
    "Relation",
    "compare",
    "denies",
    "features",
]
