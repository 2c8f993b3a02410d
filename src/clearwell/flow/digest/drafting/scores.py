"""What a cluster is worth to a reviewer: who supports it, how sure they are, and what it adds to what is verified."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from clearwell.comparison import LOWEST_SIMILARITY, Features, features_of
from clearwell.flow.digest.drafting.agreement import Agreement, find_agreement
from clearwell.flow.digest.drafting.clusters import NEAR, Cluster
from clearwell.flow.digest.drafting.contradictions import is_credible
from clearwell.flow.digest.drafting.drafts import DraftLimits, KnownText, Nearest, NearRejected, RejectedText
from clearwell.flow.digest.drafting.small_talk import small_talk
from clearwell.flow.digest.drafting.space import Space
from clearwell.flow.digest.drafting.subjects import find_other_subjects
from clearwell.flow.digest.drafting.support import ClusterSupport, measure_standing
from clearwell.flow.digest.drafting.texts import Text, unit
from clearwell.ports import StatementComparison
from clearwell.records import Comparison, Relation, Vector
from clearwell.text.terms import PAIR, count_terms

READ: Final = 300
"""Texts of a cluster that are read word by word, the most central."""
CENTRAL: Final = 5
"""Texts of a cluster that stand for it before what is verified or was rejected."""
SUBSTANCE: Final = 6
"""Terms that a statement of substance has."""
_CONFLICT_BONUS: Final = 1.25
_LOOSE: Final = 0.4
_TIGHT: Final = 0.8
_LOOSE_WEIGHT: Final = 0.1
"""Average similarity of the members of a cluster that hardly hangs together, of one that does; the first's worth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownConflict:
    """A member that contradicts a verified memory."""

    of: int
    nearest: Nearest
    reason: str
    params: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredCluster:
    """A cluster and all that is known of it. Places are those of ``texts``."""

    cluster: Cluster
    texts: Sequence[Text]
    agreement: Agreement
    standing: ClusterSupport
    nearest: tuple[Nearest, ...]
    known_conflicts: tuple[KnownConflict, ...]
    repeats_known: bool
    near_rejected: NearRejected | None
    middle: Vector
    """The mean of the vectors, of length 1."""
    score: float

    @property
    def agents(self) -> int:
        return self.standing.support.agents


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """What clusters are held against."""

    known: Sequence[KnownText]
    pending: Sequence[KnownText]
    rejected: Sequence[RejectedText]
    reliability: Mapping[str, float] | None
    similarity: Callable[[float], float]
    comparison: StatementComparison
    limits: DraftLimits


class ClusterScorer:
    """Weighs one cluster after the other."""

    def __init__(self, texts: Sequence[Text], space: Space, background: Background) -> None:
        self._texts = texts
        self._space = space
        self._back = background
        self._known = _matrix([one.embedding for one in background.known])
        self._pending = _matrix([one.embedding for one in background.pending])
        self._rejected = _matrix([one.embedding for one in background.rejected])

    def score_cluster(self, cluster: Cluster) -> ScoredCluster:
        cluster = self._about_one(cluster)
        places = list(cluster.members[:READ])
        found = self._stances(places)
        if found.loose and not self._isolated(cluster):
            found = Agreement(series=True, agreement=found.agreement)
        texts = [self._texts[place] for place in cluster.members]
        main = [at for at in range(len(texts)) if at not in found.dissent]
        stands = measure_standing(
            [texts[at] for at in main],
            self._space.meaning[[cluster.members[at] for at in main]],
            copy=self._space.cosine(self._back.limits.duplicate),
            reliability=self._back.reliability,
        )
        middle = unit([self._space.meaning[list(cluster.members)].mean(axis=0)])[0]
        nearest, conflicts, repeats = self._held_against_known(places)
        novelty = 1.0 - max([0.0, self._repeated(middle, repeats=repeats)])
        return ScoredCluster(
            cluster=cluster,
            texts=texts,
            agreement=found,
            standing=stands,
            nearest=nearest,
            known_conflicts=conflicts,
            repeats_known=repeats,
            near_rejected=self._near_rejected(places, middle),
            middle=middle,
            score=self._compute_score(stands, found, novelty, texts, conflict=bool(conflicts))
            * self._held_together(cluster, found),
        )

    def _compute_score(
        self, stands: ClusterSupport, found: Agreement, novelty: float, texts: Sequence[Text], *, conflict: bool
    ) -> float:
        support = stands.support
        voices = math.log2(1 + support.agents) + 0.35 * (math.log2(1 + support.sessions) + math.log2(1 + support.days))
        sure = 0.6 + 0.4 * stands.confidence
        new = 0.3 + 0.7 * novelty
        agreed = 0.5 + 0.5 * found.agreement
        return voices * sure * new * agreed * substance(texts) * (_CONFLICT_BONUS if conflict else 1.0)

    def _held_together(self, cluster: Cluster, found: Agreement) -> float:
        """How sure it is that the members speak of one thing: they are near each other, and some say the same."""
        return self.near(cluster) * (0.4 + 0.6 * found.confirmed)

    def near(self, cluster: Cluster) -> float:
        """How near the members are to each other, from little to 1."""
        near = (self._space.likeness(cluster.cohesion) - _LOOSE) / (_TIGHT - _LOOSE)
        return min(1.0, max(_LOOSE_WEIGHT, near))

    def _about_one(self, cluster: Cluster) -> Cluster:
        places = cluster.members[:READ]
        others = find_other_subjects(
            [self._features(place) for place in places], [self._texts[at].agents for at in places]
        )
        kept = tuple(place for at, place in enumerate(cluster.members) if at not in others)
        return replace(cluster, members=kept) if others else cluster

    def _features(self, place: int) -> Features:
        return features_of[self._texts[place].content]

    def _stances(self, places: Sequence[int]) -> Agreement:
        vectors = self._space.meaning[list(places)]
        cosines = vectors @ vectors.T
        return find_agreement(
            [self._features(place) for place in places],
            [self._texts[place].agents for place in places],
            lambda one, other: self._back.similarity(float(cosines[one, other])),
            self._back.comparison,
        )

    def _isolated(self, cluster: Cluster) -> bool:
        """Whether nothing outside is near a member: else it is a part of a series."""
        products = (self._space.joint @ self._space.joint[list(cluster.members[:READ])].T).max(axis=1)
        products[list(cluster.members)] = -1.0
        return float(products.max()) < self._space.product(NEAR)

    def _held_against_known(self, places: Sequence[int]) -> tuple[tuple[Nearest, ...], tuple[KnownConflict, ...], bool]:
        """The nearest verified memories, those that a member contradicts, and whether a central text repeats one."""
        if not len(self._known):
            return (), (), False
        cosines = self._space.meaning[list(places)] @ self._known.T
        best: dict[object, tuple[float, int]] = {}
        for at in np.argsort(-cosines.max(axis=0), kind="stable")[: 4 * self._back.limits.known_shown]:
            cosine = float(cosines[:, at].max())
            best.setdefault(self._back.known[at].id, (cosine, int(at)))
        nearest, conflicts, repeats = [], [], False
        for cosine, at in list(best.values())[: self._back.limits.known_shown]:
            near = Nearest(id=self._back.known[at].id, similarity=self._back.similarity(cosine))
            if near.similarity < LOWEST_SIMILARITY:
                continue
            nearest.append(near)
            compared = self._compared(places, cosines[:, at], self._back.known[at].content)
            repeats |= any(found.relation is Relation.SAME for _, found in compared)
            conflicts += [
                KnownConflict(of=place, nearest=near, reason=found.reason, params=found.params)
                for place, found in compared
                if found.relation is Relation.CONFLICT
            ][:1]
        return tuple(nearest), tuple(conflicts), repeats

    def _compared(self, places: Sequence[int], cosines: Vector, content: str) -> list[tuple[int, Comparison]]:
        """The members that are nearest to a memory, each compared with it."""
        known = features_of[content]
        found = []
        for at in np.argsort(-cosines, kind="stable")[:CENTRAL]:
            mine = self._features(places[at])
            outcome = self._back.comparison.compare(mine.raw, content, self._back.similarity(float(cosines[at])))
            if outcome.relation is not Relation.CONFLICT or is_credible(outcome, mine, known):
                found.append((int(at), outcome))
        return found

    def _repeated(self, middle: Vector, *, repeats: bool) -> float:
        """How much of it is verified, or waits for a person, already."""
        if repeats:
            return 1.0
        cosines = [float((some @ middle).max()) for some in (self._known, self._pending) if len(some)]
        nearest = max((self._back.similarity(cosine) for cosine in cosines), default=0.0)
        return min(1.0, max(0.0, (nearest - 0.5) / 0.4))

    def _near_rejected(self, places: Sequence[int], middle: Vector) -> NearRejected | None:
        if not len(self._rejected):
            return None
        vectors = np.vstack([middle, self._space.meaning[list(places[:CENTRAL])]])
        cosines = (self._rejected @ vectors.T).max(axis=1)
        at = int(cosines.argmax())
        similarity = self._back.similarity(float(cosines[at]))
        if similarity < self._back.limits.near_rejected:
            return None
        value = self._back.rejected[at]
        return NearRejected(reason=value.reason, at=value.at, similarity=similarity)


def substance(texts: Sequence[Text]) -> float:
    """How much the central texts say, from 0 to 1: "done, thanks" says little."""
    counts = [
        sum(not term.startswith(PAIR) and term not in small_talk() for term in count_terms(text.content))
        for text in texts[:CENTRAL]
    ]
    return min(1.0, sorted(counts)[len(counts) // 2] / SUBSTANCE)


def _matrix(vectors: Sequence[Vector]) -> Vector:
    return unit(vectors) if vectors else np.zeros((0, 1), dtype=np.float32)
