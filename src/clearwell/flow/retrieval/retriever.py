"""Working and long-term memory asked at the same time, labelled and put in one order.

This file is not given the quarantine store, and cannot be.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import structlog

from clearwell.caches import MIB, TextCache
from clearwell.errors import Unavailable
from clearwell.flow.deadlines import abandon, wait_for_result
from clearwell.flow.reembedding.scale import measure_scale
from clearwell.flow.retrieval.bm25 import asked, count_unread, shares
from clearwell.flow.retrieval.items import Items
from clearwell.flow.retrieval.metadata_filters import meets
from clearwell.flow.retrieval.options import RetrieveOptions, Wanted, wanted
from clearwell.flow.retrieval.search import Known, LongTermSearcher
from clearwell.flow.working.recalls import RecallLog
from clearwell.offload import offload
from clearwell.ports import Asked, Clock, Embedder, Fusion, LongTermSearch, SearchQuery, WorkingStore
from clearwell.records import ContextItem, Found, Retrieval, Scope, Where, WorkingEntry
from clearwell.settings import Settings
from clearwell.text.normalisation import normalised
from clearwell.text.sentences import cut_at_sentence

log = structlog.get_logger(__name__)


class Retriever:
    """Each side that is down leaves the other to answer, and is named in ``degraded``."""

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
        self._searching = LongTermSearcher(longterm, embedder, budget=settings.retrieve_timeout_seconds)
        self._items = Items(embedder, hot_first=settings.hot_first_relevance)
        self._fusion = fusion_for(embedder, settings)

    async def retrieve(self, query: str, group_id: str, options: RetrieveOptions) -> Retrieval:
        """What a caller asked for; that it was given is remembered."""
        found = await self.look(query, group_id, options)
        if "working_memory" not in found.degraded:
            self.record_recall(group_id, [item.id for item in found.items], options.agent_id)
        return found

    async def look(self, query: str, group_id: str, options: RetrieveOptions) -> Retrieval:
        """The same for one who gives on only a part of it, and notes that."""
        want = wanted(options, self._settings, self._clock.now())
        words = await offload(len(query), asked, query, dates=self._settings.fusion_dates)
        degraded: list[str] = []
        loop = asyncio.get_running_loop()
        deadline, known = loop.time() + self._settings.retrieve_timeout_seconds, loop.create_future()
        reading = None
        if want.hot:
            reading = asyncio.create_task(self._read(group_id, words, known, want), name="read working memory")
        try:
            found = await self._found(query, words, group_id, want, known, degraded)
            cold = _relevant([self._items.of_memory(one, want) for one in found], want.threshold)
            hot = [] if reading is None else await self._hot(reading, deadline - loop.time(), degraded)
        finally:
            if reading is not None:
                abandon(reading)
        if want.hot and self._working.is_damaged(group_id):
            degraded.append("working_memory_damaged")
        unread = _plain.missing_characters(item.content for item in (*hot, *cold))
        unverified = await offload(unread, _without_verified, hot, cold, found)
        items = self._merged(unverified, cold, want)
        return Retrieval(
            items=tuple(_shortened(item, want.max_chars) for item in items),
            degraded=tuple(sorted(degraded)),
            sources=want.sources,
        )

    def record_recall(self, group_id: str, ids: Sequence[UUID], agent_id: str | None) -> None:
        """Record in the background which memories this agent received."""
        self._recalls.record(group_id, ids, agent_id=agent_id)

    async def _read(self, group_id: str, words: Asked, known: Known, want: Wanted) -> list[ContextItem]:
        """Working memory, read and made ready while the database searches: the search takes longer, and goes first."""
        vector = await known
        live = await self._working.entries(group_id)
        entries = live if want.where.everything else [one for one in live if _is_meant(one, want.where)]
        texts = [entry.content for entry in entries]
        found = await offload(count_unread(texts), shares, words, texts)
        return [self._items.of_entry(entry, vector, share, want) for entry, share in zip(entries, found, strict=True)]

    async def _hot(
        self, reading: asyncio.Task[list[ContextItem]], seconds: float, degraded: list[str]
    ) -> list[ContextItem]:
        try:
            return await wait_for_result(reading, seconds)
        except (Unavailable, TimeoutError) as error:
            degraded.append("working_memory")
            log.warning("retrieval degraded", part="working_memory", reason=getattr(error, "code", "timeout"))
            return []

    async def _found(
        self, query: str, words: Asked, group_id: str, want: Wanted, known: Known, degraded: list[str]
    ) -> Sequence[Found]:
        if want.cold:
            search = SearchQuery(
                group_id=group_id,
                embedding=None,
                model=self._embedder.model,
                limit=want.cold_limit,
                agent_id=want.agent_id,
                asked=words,
                fusion=self._fusion,
                where=want.where,
                text=query,
            )
            return await self._searching.search(query, search, known, degraded)
        if want.hot:
            await self._searching.vector(query, known, degraded)
        return ()

    def _merged(self, hot: Sequence[ContextItem], cold: Sequence[ContextItem], want: Wanted) -> list[ContextItem]:
        """Very relevant unverified items, then verified ones by rank, then the other unverified ones by age."""
        first = [item for item in hot if (item.relevance or 0) >= self._settings.hot_first_relevance]
        first.sort(key=lambda item: -(item.relevance or 0))
        first = first[: want.hot_limit]
        chosen = {item.id for item in first}
        rest = [item for item in hot if item.id not in chosen][: want.hot_limit - len(first)]
        return [*first, *cold, *rest][: want.max_results]


def fusion_for(embedder: Embedder, settings: Settings) -> Fusion:
    """The weights, with that of the vectors put on the embedder's own scale: from where relevance leaves 0 to its 1."""
    scale = measure_scale(embedder)
    return Fusion(
        dense=settings.fusion_dense / (scale.high - scale.low),
        lexical=settings.fusion_lexical,
        author=settings.fusion_author,
        beside=settings.fusion_beside,
        answer=settings.fusion_answer,
        session=settings.fusion_session,
    )


def _is_meant(entry: WorkingEntry, where: Where) -> bool:
    said = entry.occurred_at or entry.created_at
    return (
        (where.since is None or said >= where.since)
        and (where.until is None or said < where.until)
        and where.session_id in (None, entry.session_id)
        and where.scope is not Scope.AGENT
        and meets(entry.metadata, where.conditions)
    )


def _relevant(items: list[ContextItem], threshold: float | None) -> list[ContextItem]:
    return items if threshold is None else [item for item in items if (item.relevance or 0.0) >= threshold]


def _without_verified(
    hot: Sequence[ContextItem], cold: Sequence[ContextItem], found: Sequence[Found]
) -> list[ContextItem]:
    """What is in both tiers comes once, as verified: what was promoted from an entry, or says the same."""
    shown = {item.id for item in cold}
    origins = {one.origin_id for one in found if one.memory.id in shown}
    verified = {_plain[item.content] for item in cold}
    return [item for item in hot if item.id not in origins and _plain[item.content] not in verified]


_plain = TextCache(normalised, max_bytes=8 * MIB, bytes_per_character=8)


def _shortened(item: ContextItem, most: int) -> ContextItem:
    content = cut_at_sentence(item.content, most)
    return item if content == item.content else replace(item, content=content, cut=True)


__all__ = ["RetrieveOptions", "Retriever", "fusion_for"]
