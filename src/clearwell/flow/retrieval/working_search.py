"""The search of working memory: which live entries answer a query, and how relevant each is.

The entries are ranked by the fusion that ranks long-term memory. What an entry gains by its session decides its place
among those that say something about the query themselves; it makes no entry relevant. Those whose relevance is below
``hot_threshold`` are left out, so that a query which nothing answers gets nothing; the others come by relevance, and
recency only decides between equals. ``recent`` asks for the newest entries instead, whatever they say.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Final

from clearwell.flow.reembedding.scale import Scale, measure_scale
from clearwell.flow.retrieval.entry_index import EntryIndex, EntryIndexes
from clearwell.flow.retrieval.fusion import NO_LIFT, Lift, choose_pool, find_named
from clearwell.flow.retrieval.metadata_filters import matches_all
from clearwell.flow.retrieval.options import RetrievalPlan
from clearwell.flow.retrieval.relevance import (
    Evidence,
    QueryMatch,
    limit_unverified,
    load_evidence,
    read_words_alone,
    relate_to_best,
)
from clearwell.ports import Embedder, Fusion, QueryTerms, WorkingStore
from clearwell.records import Explanation, Parts, Scope, SearchFilter, Vector, WorkingEntry

MAX_TERMS: Final = 12
"""A long query, such as a proposal, is answered by an entry with the words of a part of it: this many are enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryMatch:
    """An entry, how relevant it is, and the number of its statement that is nearest to the query."""

    entry: WorkingEntry
    relevance: float | None
    statement: int | None = None
    explanation: Explanation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingMatches:
    """The matches in their order, and how many entries were left out because their relevance is too low."""

    matches: Sequence[EntryMatch] = ()
    left_out: int = 0


class WorkingSearcher:
    """Searches the working memory of a group."""

    def __init__(self, working: WorkingStore, embedder: Embedder, fusion: Fusion, *, hot_first: float) -> None:
        self._working = working
        self._embedder = embedder
        self._fusion = fusion
        self._hot_first = hot_first
        self._indexes = EntryIndexes()
        self._scale = measure_scale(embedder)
        self._evidence = load_evidence()

    async def search(
        self, group_id: str, terms: QueryTerms | None, vector: Vector | None, plan: RetrievalPlan
    ) -> WorkingMatches:
        """Return the entries that answer the query, or with ``plan.recent`` the newest ones.

        Without terms there is no query, and no entry has a relevance.
        """
        entries = await self._working.entries(group_id)
        wanted: Sequence[int] = range(len(entries))
        if not plan.where.everything:
            wanted = [number for number in wanted if _meets(entries[number], plan.where)]
        if plan.recent is not None:
            wanted = wanted[: plan.recent]
        if terms is None:
            return WorkingMatches(matches=[EntryMatch(entry=entries[number], relevance=None) for number in wanted])
        if not wanted:
            return WorkingMatches()
        index = await self._indexes.find(group_id, entries, self._embedder.model)
        ranking = EntryRanking(index, terms, vector, self._fusion, self._scale)
        relevances = self._rate(ranking, wanted, plan)
        chosen = list(wanted)
        if plan.recent is None:
            chosen = [number for number in wanted if (relevances.get(number) or 0.0) >= plan.hot_threshold]
            chosen.sort(key=lambda number: (-(relevances.get(number) or 0.0), number))
        matches = [ranking.make_match(number, relevances.get(number), plan) for number in chosen]
        return WorkingMatches(matches=matches, left_out=len(wanted) - len(chosen))

    def _rate(self, ranking: "EntryRanking", wanted: Sequence[int], plan: RetrievalPlan) -> dict[int, float | None]:
        """The relevance of each entry that can be returned. If that of the best is too low, none can."""
        best = self._evidence.rate(ranking.measure_match(wanted))
        if best is None or (best < plan.hot_threshold and plan.recent is None):
            return {}
        ranking.rank(wanted, size=max(self._fusion.pool, plan.hot_limit, plan.recent or 0))
        highest = max(ranking.ranks.values())
        relevances: dict[int, float | None] = {}
        for number, rank in ranking.ranks.items():
            relevance = ranking.limit_by_own(number, relate_to_best(best, rank, highest), self._evidence)
            if relevance >= self._hot_first:
                cosine = ranking.cosines[number]
                by_vector = 0.0 if cosine is None else self._embedder.relevance(cosine)
                relevance = limit_unverified(relevance, by_vector, first=self._hot_first)
            relevances[number] = relevance
        return relevances


class EntryRanking:
    """The entries of an index, compared with one query."""

    def __init__(
        self, index: EntryIndex, terms: QueryTerms, vector: Vector | None, fusion: Fusion, scale: Scale
    ) -> None:
        self._index = index
        self._scale = scale
        self._has_vector = vector is not None
        self._terms = terms
        self._fusion = fusion
        self._named = find_named(index.spellings, terms) if fusion.author else None
        self._lifts: dict[int, Lift] = {}
        weights = index.weigh(terms)
        self._shares: list[float] = index.compute_shares(weights).tolist()
        self._own_shares: list[float] = index.compute_own_shares(weights).tolist()
        self._full_share = 2 * sum(nlargest(MAX_TERMS, weights.values())) or 1.0
        self.cosines, self._nearest = index.compute_cosines(vector)
        self.ranks: dict[int, float] = {}

    def rank(self, wanted: Sequence[int], *, size: int) -> None:
        """Rank the best ``size`` of the wanted entries as long-term memory ranks chunks."""
        own = {number: self._score(number) for number in wanted}
        pool = choose_pool(own, size)
        self._lifts = self._index.order.lift(pool, self._index.asks, self._fusion)
        self.ranks = {number: own[number] + sum(lift) for number, lift in self._lifts.items()}

    def measure_match(self, wanted: Sequence[int]) -> QueryMatch:
        cosines = [cosine for number in wanted if (cosine := self.cosines[number]) is not None]
        return QueryMatch(
            words=min(1.0, max(self._shares[number] for number in wanted) / self._full_share),
            vector=self._scale.place(max(cosines)) if cosines else None,
            names=self._index.compare_names(self._terms),
        )

    def limit_by_own(self, number: int, relevance: float, evidence: Evidence) -> float:
        """The relevance of an entry, no higher than what it says itself allows."""
        words, vector = self.measure_own(number)
        if not self._has_vector:
            return min(relevance, read_words_alone(words) if words > 0 else 0.0)
        alike = (
            evidence.weigh(*self.measure_own(other))
            for other, cosine in self._index.compare_near(number)
            if self._scale.place(cosine) >= evidence.likeness
        )
        return evidence.limit(relevance, evidence.weigh(words, vector), alike)

    def measure_own(self, number: int) -> tuple[float, float | None]:
        """The share of the query's words that an entry has itself, and the place of its cosine."""
        cosine = self.cosines[number]
        words = min(1.0, self._own_shares[number] / self._full_share)
        return words, None if cosine is None else self._scale.place(cosine)

    def make_match(self, number: int, relevance: float | None, plan: RetrievalPlan) -> EntryMatch:
        entry = self._index.entries[number]
        return EntryMatch(
            entry=entry,
            relevance=relevance,
            statement=self._nearest[number],
            explanation=self._explain(number, (plan.now - entry.created_at).total_seconds()) if plan.explain else None,
        )

    def _score(self, number: int) -> float:
        dense = self._fusion.dense * (self.cosines[number] or 0.0)
        return dense + self._fusion.lexical * self._shares[number] + self._score_speaker(number)

    def _score_speaker(self, number: int) -> float:
        is_named = self._named is not None and self._index.speakers[number] == self._named
        return self._fusion.author if is_named else 0.0

    def _explain(self, number: int, age: float) -> Explanation:
        lift = self._lifts.get(number, NO_LIFT)
        parts = Parts(
            dense=self._fusion.dense * (self.cosines[number] or 0.0),
            lexical=self._fusion.lexical * self._shares[number],
            author=self._score_speaker(number),
            neighbour=lift.neighbour,
            answer=lift.answer,
            session=lift.session,
        )
        return Explanation(
            cosine=self.cosines[number], words=self._shares[number], parts=parts, rank=parts.total, age_seconds=age
        )


def _meets(entry: WorkingEntry, where: SearchFilter) -> bool:
    """Whether an entry meets the conditions, decided as the database does for memories."""
    said_at = entry.occurred_at or entry.created_at
    return (
        (where.since is None or said_at >= where.since)
        and (where.until is None or said_at < where.until)
        and where.session_id in (None, entry.session_id)
        and where.scope is not Scope.AGENT
        and matches_all(entry.metadata, where.conditions)
    )
