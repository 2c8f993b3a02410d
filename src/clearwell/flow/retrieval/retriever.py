"""The retriever: reads working memory while it searches long-term memory, and merges the results.

It is never given the quarantine store; an import contract enforces this.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import structlog

from clearwell.errors import InvalidInput, Unavailable
from clearwell.flow.deadlines import abandon, wait_for_result
from clearwell.flow.events.publisher import EventPublisher
from clearwell.flow.reembedding.scale import measure_scale
from clearwell.flow.retrieval import bm25, passages, ranking
from clearwell.flow.retrieval.agent_names import AgentNames
from clearwell.flow.retrieval.options import RetrievalPlan, RetrieveOptions, plan_retrieval
from clearwell.flow.retrieval.rejections import Rejections
from clearwell.flow.retrieval.search import LongTermSearcher, VectorFuture
from clearwell.flow.retrieval.working_search import EntryMatch, WorkingMatches, WorkingSearcher
from clearwell.flow.working.recalls import RecallLog
from clearwell.offload import offload
from clearwell.ports import Clock, Embedder, Fusion, LongTermSearch, QueryTerms, SearchQuery, WorkingStore
from clearwell.records import ContextItem, EventType, FoundChunk, Json, PromotedPart, Retrieval, Source
from clearwell.settings import Settings

log = structlog.get_logger(__name__)

PROMOTED_SHARE: Final = 0.25
"""The share of the time limit that the question which entries were promoted may take."""


class Retriever:
    """Answers queries from both tiers within a time limit.

    If one tier does not answer, the result holds the items of the other, and ``degraded`` names what is missing.
    """

    def __init__(
        self,
        working: WorkingStore,
        longterm: LongTermSearch,
        recalls: RecallLog,
        events: EventPublisher,
        embedder: Embedder,
        clock: Clock,
        names: AgentNames,
        rejections: Rejections,
        settings: Settings,
    ) -> None:
        self._rejections = rejections
        self._names = names
        self._working = working
        self._longterm = longterm
        self._recalls = recalls
        self._events = events
        self._embedder = embedder
        self._clock = clock
        self._settings = settings
        self._searcher = LongTermSearcher(longterm, embedder, budget=settings.retrieve_timeout_seconds)
        self._items = ranking.ItemFactory(embedder)
        self._fusion = make_fusion(embedder, settings)
        self._working_searcher = WorkingSearcher(
            working, embedder, self._fusion, hot_first=settings.hot_first_relevance
        )

    async def retrieve(
        self,
        query: str,
        group_id: str,
        options: RetrieveOptions,
        *,
        record: bool = True,
        withdrawn: bool = False,
    ) -> Retrieval:
        """Return the items that answer the query, in their order. With ``recent`` the query may be empty.

        With ``record`` they are recorded as recalled. A caller that passes on only some of them calls
        ``record_recall`` with those instead. With ``withdrawn`` a query about a past time also returns what has been
        withdrawn since; what was superseded since is always returned, and a rejected value for no time.
        """
        plan = plan_retrieval(options, self._settings, self._clock.now(), withdrawn=withdrawn)
        if not query.strip():
            return await self._retrieve_recent(group_id, plan, record=record)
        terms = await offload(len(query), bm25.analyse_query, query, dates=self._settings.fusion_dates)
        degraded: list[str] = []
        loop = asyncio.get_running_loop()
        deadline, vector = loop.time() + self._settings.retrieve_timeout_seconds, loop.create_future()
        reading = None
        if plan.reads_working:
            reading = asyncio.create_task(self._read_working(group_id, terms, vector, plan), name="read working memory")
        found: Sequence[FoundChunk] = ()
        try:
            if plan.searches_longterm:
                search = self._make_search(query, terms, group_id, plan)
                found = await self._searcher.search(query, search, vector, degraded)
                if plan.where.as_of is not None:
                    found = await self._drop_rejected(found, group_id, degraded)
            elif plan.reads_working:
                await self._searcher.embed(query, vector, degraded)
            items = [self._items.from_memory(chunk, plan, terms) for chunk in found]
            cold = ranking.filter_relevant(items, plan.threshold)
            working = await self._wait_for_working(reading, deadline - loop.time(), degraded)
        finally:
            if reading is not None:
                abandon(reading)
        if working.matches:
            size = ranking.count_unread(working.matches, cold)
            matches = await offload(size, ranking.drop_verified, working.matches, cold, found)
            working = replace(working, matches=matches)
        return await self._answer(group_id, plan, terms, working, cold, degraded, record=record)

    async def _drop_rejected(
        self, found: Sequence[FoundChunk], group_id: str, degraded: list[str]
    ) -> Sequence[FoundChunk]:
        """What was found for a past time, without rejected values; nothing if that cannot be looked up."""
        try:
            return await self._rejections.drop_rejected(found, group_id)
        except Unavailable as error:
            log.warning("retrieval degraded", part="long_term_memory", reason=error.code)
            degraded.append("long_term_memory")
            return ()

    async def _retrieve_recent(self, group_id: str, plan: RetrievalPlan, *, record: bool) -> Retrieval:
        """The newest entries of working memory, without a query to compare them with.

        Raises InvalidInput if they were not asked for.
        """
        if plan.recent is None or not plan.reads_working:
            raise InvalidInput("text_blank", field="query")
        degraded: list[str] = []
        plan = replace(plan, sources=(Source.HOT,))
        vector = asyncio.get_running_loop().create_future()
        vector.set_result(None)
        reading = asyncio.create_task(self._read_working(group_id, None, vector, plan), name="read working memory")
        try:
            working = await self._wait_for_working(reading, self._settings.retrieve_timeout_seconds, degraded)
        finally:
            abandon(reading)
        return await self._answer(group_id, plan, None, working, (), degraded, record=record)

    async def _answer(
        self,
        group_id: str,
        plan: RetrievalPlan,
        terms: QueryTerms | None,
        working: WorkingMatches,
        cold: Sequence[ContextItem],
        degraded: list[str],
        *,
        record: bool,
    ) -> Retrieval:
        """Put both tiers into one order, and shorten long items."""
        if plan.reads_working and self._working.is_damaged(group_id):
            degraded.append("working_memory_damaged")
        hot = [self._items.from_entry(match) for match in working.matches[: plan.most_unverified]]
        merged = ranking.merge_tiers(hot, cold, plan, hot_first=self._settings.hot_first_relevance)
        items = await self._names.add_to(merged, group_id)
        if record:
            self.record_recall(group_id, items, plan.agent_id, degraded=degraded)
        size = passages.count_unread(items, plan.max_chars)
        return Retrieval(
            items=await offload(size, passages.shorten_items, items, plan.max_chars, terms),
            degraded=tuple(sorted(degraded)),
            sources=plan.sources,
            left_out=working.left_out,
        )

    def record_recall(
        self,
        group_id: str,
        items: Sequence[ContextItem],
        agent_id: str | None,
        *,
        degraded: Sequence[str],
        session_id: str | None = None,
    ) -> None:
        """Record in the background which memories this agent received, and announce it."""
        if "working_memory" not in degraded:
            self._recalls.record(group_id, [item.id for item in items], agent_id=agent_id)
        ids: list[Json] = [str(item.id) for item in items]
        hot_ids: list[Json] = [str(item.id) for item in items if item.source is Source.HOT]
        self._events.publish(
            EventType.MEMORY_RETRIEVED,
            group_id,
            agent_id=agent_id,
            session_id=session_id,
            count=len(ids),
            ids=ids,
            hot_ids=hot_ids,
            degraded=list(degraded) or None,
        )

    async def _read_working(
        self, group_id: str, terms: QueryTerms | None, vector: VectorFuture, plan: RetrievalPlan
    ) -> WorkingMatches:
        """Search working memory.

        This starts when the query's vector is known, so that the search of long-term memory, which takes longer, is
        sent first.
        """
        return await self._drop_promoted(await self._working_searcher.search(group_id, terms, await vector, plan), plan)

    async def _drop_promoted(self, working: WorkingMatches, plan: RetrievalPlan) -> WorkingMatches:
        """The matches without entries that are verified memory by now, whether or not their memory is found.

        An entry of which a statement was promoted is left out if that statement answers the query. If the database does
        not answer soon, they are returned as they are.
        """
        if not working.matches:
            return working
        ids = [match.entry.id for match in working.matches]
        group_id = working.matches[0].entry.group_id
        asking = asyncio.create_task(
            self._longterm.find_promoted(group_id, ids, agent_id=plan.agent_id), name="find promoted entries"
        )
        try:
            promoted = await wait_for_result(asking, PROMOTED_SHARE * self._settings.retrieve_timeout_seconds)
        except (Unavailable, TimeoutError) as error:
            log.warning("promoted entries not excluded", reason=getattr(error, "code", "timeout"))
            return working
        finally:
            abandon(asking)
        unpromoted = [match for match in working.matches if promoted.isdisjoint(_list_parts(match))]
        return replace(working, matches=unpromoted)

    async def _wait_for_working(
        self, reading: asyncio.Task[WorkingMatches] | None, seconds: float, degraded: list[str]
    ) -> WorkingMatches:
        if reading is None:
            return WorkingMatches()
        try:
            return await wait_for_result(reading, seconds)
        except (Unavailable, TimeoutError) as error:
            degraded.append("working_memory")
            log.warning("retrieval degraded", part="working_memory", reason=getattr(error, "code", "timeout"))
            return WorkingMatches()

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
            explain=plan.explain,
        )


def _list_parts(match: EntryMatch) -> list[PromotedPart]:
    """What an item of this match would show: the entry, and its statement that answers the query."""
    whole = PromotedPart(match.entry.id)
    if match.statement is None:
        return [whole]
    statement = match.entry.statements[match.statement]
    return [whole, PromotedPart(match.entry.id, (statement.start, statement.end))]


def make_fusion(embedder: Embedder, settings: Settings) -> Fusion:
    """The fusion weights of the settings, with the weight of vectors converted to the scale of the embedder.

    The settings count it over the span of cosines in which the embedder's relevance rises from 0 to 1.
    """
    scale = measure_scale(embedder)
    return Fusion(
        dense=settings.fusion_dense / (scale.high - scale.low),
        lexical=settings.fusion_lexical,
        author=settings.fusion_author,
        neighbour=settings.fusion_neighbour,
        answer=settings.fusion_answer,
        session=settings.fusion_session,
    )
