"""Split clusters into texts about one fact, not only about one subject.

Texts about one subject share its name, and a name of several words ("the river gauge at Lindau") is several rare terms.
So a cluster can contain facts that have nothing else in common. Here a term that follows the same term in both texts
hardly counts, and two texts are linked by what they share besides names. Two texts with values, none of which is in
both, are rarely about one fact. A cluster is split into its linked parts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from clearwell.comparison import Features, features_of
from clearwell.comparison.values import agree
from clearwell.flow.digest.drafting.clusters import Cluster
from clearwell.flow.digest.drafting.opposites import are_opposite
from clearwell.flow.digest.drafting.space import ACROSS, SHARED, Space
from clearwell.flow.digest.drafting.states import differ_in_state
from clearwell.flow.digest.drafting.texts import Text
from clearwell.ports import StatementComparison
from clearwell.records import Relation

LINKED: Final = 0.9
"""Minimum sum of the cosine of two texts and the weight of their shared terms.

Chosen on the councils and the pairs of ``bench/data/support.toml``; those marked as later were measured once.
``bench/results/support.md`` has the figures."""
COMPARED: Final = 0.7
"""The same for two texts that, by the comparison, say the same or contradict each other."""
CONTINUED: Final = 0.25
"""Weight of a shared term that follows the same term in both texts. Any other counts 1."""
OTHER_VALUES: Final = 0.5
"""Subtracted from the number of shared terms if two texts state different values."""
CENTRAL: Final = 40
"""Number of texts, the most central of a cluster, that the others are compared with."""


@dataclass(frozen=True, slots=True)
class Links:
    """Decides which texts of a digest are linked."""

    texts: Sequence[Text]
    space: Space
    comparison: StatementComparison

    def split(self, clusters: Iterable[Cluster], *, speakers: int) -> list[Cluster]:
        """Return the linked parts of clusters that have at least this many speakers. The order of texts is kept."""
        return [part for cluster in clusters for part in self._find_parts(cluster) if self._has(part, speakers)]

    def connect(self, place: int, others: Sequence[int]) -> bool:
        """Return whether a text is linked to one of the others."""
        read = features_of[self.texts[place].content]
        cosines = self.space.meaning[list(others)] @ self.space.meaning[place]
        return any(
            not self._differ_in_context(place, other)
            and self._are_linked(read, features_of[self.texts[other].content], float(cosine))
            for other, cosine in zip(others, cosines, strict=True)
        )

    def _find_parts(self, cluster: Cluster) -> list[Cluster]:
        members = np.array(cluster.members)
        vectors = self.space.meaning[members]
        cosines = vectors[:CENTRAL] @ vectors.T
        read = [features_of[self.texts[place].content] for place in cluster.members]
        parts = np.arange(len(members))
        for one, row in enumerate(cosines):
            for other in range(one + 1, len(members)):
                if (
                    parts[one] != parts[other]
                    and not self._differ_in_context(cluster.members[one], cluster.members[other])
                    and self._are_linked(read[one], read[other], float(row[other]))
                ):
                    first, second = sorted((parts[one], parts[other]))
                    parts[parts == second] = first
        return [Cluster(members=tuple(map(int, members[parts == part]))) for part in np.unique(parts)]

    def _are_linked(self, one: Features, other: Features, cosine: float) -> bool:
        link = cosine if cosine >= LINKED + SHARED else measure_link(one, other, cosine)
        if not COMPARED <= link < LINKED:
            return link >= LINKED
        if are_opposite(one, other) or differ_in_state(one, other):
            return True
        found = self.comparison.compare(one.raw, other.raw, self.space.similarity(cosine))
        return found.relation in {Relation.SAME, Relation.CONFLICT}

    def _differ_in_context(self, one: int, other: int) -> bool:
        """Return whether headings say that two texts are about two things: docks in Leipzig, docks in Dresden."""
        contexts = self.texts[one].context, self.texts[other].context
        if not all(contexts):
            return False
        left, right = (features_of[text].content_words for text in contexts)
        return bool(left - right) and bool(right - left)

    def _has(self, cluster: Cluster, speakers: int) -> bool:
        return len(frozenset[str]().union(*(self.texts[place].agents for place in cluster.members))) >= speakers


def measure_link(one: Features, other: Features, cosine: float) -> float:
    """Return how much two texts have in common besides names."""
    shared = _measure_shared(one, other) if one.language is other.language else ACROSS
    return cosine + SHARED * (shared - (OTHER_VALUES if _state_other_values(one, other) else 0.0))


def _measure_shared(one: Features, other: Features) -> float:
    left, right = ([token.key for token in text.tokens if token.content] for text in (one, other))
    known, following = set(right), set(pairwise(right))
    shared, seen, before = 0.0, set[str](), ""
    for key in left:
        if key in known and key not in seen:
            shared += CONTINUED if (before, key) in following else 1.0
            seen.add(key)
        before = key
    return shared


def _state_other_values(one: Features, other: Features) -> bool:
    own, others = ([token.value for token in text.tokens if token.value and token.content] for text in (one, other))
    return bool(own) and bool(others) and not any(agree(value, known) for value in own for known in others)
