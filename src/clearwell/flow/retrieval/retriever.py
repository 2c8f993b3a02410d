"""The retriever: reads working memory while it searches long-term memory, and merges the results.

It is never given the quarantine store; an import contract enforces this.
"""

import asyncio
from collections.abc import Sequence
from uuid import UUID

import structlog

from clearwell.errors import Unavailable
from clearwell.flow.deadlines import abandon, wait_for_result
from clearwell.flow.reembedding.scale import measure_scale
from clearwell.flow.retrieval import bm25, ranking
from clearwell.flow.retrieval.metadata_filters import matches_all
from clearwell.flow.retrieval.options import RetrievalPlan, RetrieveOptions, plan_retrieval
from clearwell.flow.retrieval.search import LongTermSearcher, VectorFuture
from clearwell.flow.working.recalls import RecallLog
from clearwell.offload import offload
from clearwell.ports import Clock, Embedder, Fusion, LongTermSearch, QueryTerms, SearchQuery, WorkingStore
from clearwell.records import ContextItem, Found, Retrieval, Scope, Where, WorkingEntry
from clearwell.settings import Settings

log = structlog.get_logger(__name__)


class Retriever:
    """Answers queries from both tiers within a time limit.

    If one tier does not answer, the result holds the items of the other, and ``degraded`` names what is missing.
    """

    def __init__(
        self,
        working: WorkingStore,
        longterm: LongTermSearch,
        recalls: RecallLog,
        embedder: Embedder,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self._working = working
        self._recalls = recalls
        self._embedder = embedder
        self._clock = clock
        self._settings = settings
        self._searcher = LongTermSearcher(longterm, embedder, budget=settings.retrieve_timeout_seconds)
        self._items = ranking.ItemFactory(embedder, hot_first=settings.hot_first_relevance)
        self._fusion = make_fusion(embedder, settings)

    async def retrieve(self, query: str, group_id: str, options: RetrieveOptions, *, record: bool = True) -> Retrieval:
        """Return the items that answer the query, in their order.

        With ``record`` they are recorded as recalled. A caller that passes on only some of them calls
        ``record_recall`` with those instead.
        """
        plan = plan_retrieval(options, self._settings, self._clock.now())
        terms = await offload(len(query), bm25.analyse_query, query, dates=self._settings.fusion_dates)
        degraded: list[str] = []
        loop = asyncio.get_running_loop()
        deadline, vector = loop.time() + self._settings.retrieve_timeout_seconds, loop.create_future()
        reading = None
        if plan.reads_working:
            reading = asyncio.create_task(self._read_working(group_id, terms, vector, plan), name="read working memory")
        found: Sequence[Found] = ()
        try:
            if plan.searches_longterm:
                search = self._make_search(query, terms, group_id, plan)
                found = await self._searcher.search(query, search, vector, degraded)
            elif plan.reads_working:
                await self._searcher.embed(query, vector, degraded)
            cold = ranking.filter_relevant([self._items.from_memory(chunk, plan) for chunk in found], plan.threshold)
            hot = [] if reading is None else await self._wait_for_working(reading, deadline - loop.time(), degraded)
        finally:
            if reading is not None:
                abandon(reading)
        if plan.reads_working and self._working.is_damaged(group_id):
            degraded.append("working_memory_damaged")
        hot = await offload(ranking.count_unread((*hot, *cold)), ranking.drop_verified, hot, cold, found)
        items = ranking.merge_tiers(hot, cold, plan, hot_first=self._settings.hot_first_relevance)
        if record and "working_memory" not in degraded:
            self.record_recall(group_id, [item.id for item in items], plan.agent_id)
        return Retrieval(
            items=tuple(ranking.shorten(item, plan.max_chars) for item in items),
            degraded=tuple(sorted(degraded)),
            sources=plan.sources,
        )

    def record_recall(self, group_id: str, ids: Sequence[UUID], agent_id: str | None) -> None:
        """Record in the background which memories this agent received."""
        self._recalls.record(group_id, ids, agent_id=agent_id)

    async def _read_working(
        self, group_id: str, terms: QueryTerms, vector_future: VectorFuture, plan: RetrievalPlan
    ) -> list[ContextItem]:
        """Read working memory and make its items.

        This starts when the query's vector is known, so that the search of long-term memory, which takes longer, is
        sent first.
        """
        vector = await vector_future
        entries = await self._working.entries(group_id)
        if not plan.where.everything:
            entries = [entry for entry in entries if _matches(entry, plan.where)]
        texts = [entry.content for entry in entries]
        shares = await offload(bm25.count_unread(texts), bm25.compute_shares, terms, texts)
        return [
            self._items.from_entry(entry, vector, share, plan) for entry, share in zip(entries, shares, strict=True)
        ]

    async def _wait_for_working(
        self, reading: asyncio.Task[list[ContextItem]], seconds: float, degraded: list[str]
    ) -> list[ContextItem]:
        try:
            return await wait_for_result(reading, seconds)
        except (Unavailable, TimeoutError) as error:
            degraded.append("working_memory")
            log.warning("retrieval degraded", part="working_memory", reason=getattr(error, "code", "timeout"))
            return []

    def _make_search(self, query: str, terms: QueryTerms, group_id: str, plan: RetrievalPlan) -> SearchQuery:
        """The search of long-term memory. The searcher adds the vector."""
        return SearchQuery(
            group_id=group_id,
            embedding=None,
            model=self._embedder.model,
            limit=plan.cold_limit,
            agent_id=plan.agent_id,
            terms=terms,
            fusion=self._fusion,
            where=plan.where,
            text=query,
        )


def make_fusion(embedder: Embedder, settings: Settings) -> Fusion:
    """The fusion weights of the settings, with the weight of vectors converted to the scale of the embedder.

    The settings count it over the span of cosines in which the embedder's relevance rises from 0 to 1.
    """
    scale = measure_scale(embedder)
    return Fusion(
        dense=settings.fusion_dense / (scale.high - scale.low),
        lexical=settings.fusion_lexical,
        author=settings.fusion_author,
        beside=settings.fusion_beside,
        answer=settings.fusion_answer,
        session=settings.fusion_session,
    )


def _matches(entry: WorkingEntry, where: Where) -> bool:
    """Whether an entry meets the conditions, decided as the database does for memories."""
    said_at = entry.occurred_at or entry.created_at
    return (
        (where.since is None or said_at >= where.since)
        and (where.until is None or said_at < where.until)
        and where.session_id in (None, entry.session_id)
        and where.scope is not Scope.AGENT
        and matches_all(entry.metadata, where.conditions)
    )
