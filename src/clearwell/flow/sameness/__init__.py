"""Whether two statements say the same, contradict each other in one facet, or are about different things.

The similarity of embeddings cannot tell: a changed number has a cosine of .96, a paraphrase may have .5. So similarity
only says how alike two texts are, and the words decide: values in one form, names, negation, opposites, and who does
what to whom. In order: ``trimming`` (fillers, who said it), ``values``, ``reading`` (words, negation), ``matching``
(synonyms, opposites), ``order`` and ``facets`` (what has changed), ``comparing`` (the decision).
"""

from clearwell.flow.sameness.comparing import (
    CONFLICT_SIMILARITY,
    DUPLICATE_SIMILARITY,
    LOWEST_SIMILARITY,
    Comparison,
    Relation,
    compare,
)
from clearwell.flow.sameness.facets import denies
from clearwell.flow.sameness.reading import Features, Kind, features

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
