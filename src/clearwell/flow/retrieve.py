"""Working and long-term memory asked at the same time, labelled and put in one order.

This file is not given the quarantine store, and cannot be.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar
from uuid import UUID

import numpy as np
import structlog

from clearwell.errors import Unavailable
from clearwell.flow.lexical import asked
from clearwell.ports import Embedder, Fusion, LongTermSearch, RecallStore, SearchQuery, WorkingStore
from clearwell.records import ContextItem, Found, Label, Layer, Retrieval, Scope, Source, Vector, WorkingEntry
from clearwell.settings import Settings

log = structlog.get_logger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieveOptions:
    """How much to return. None: as the settings say."""

    max_results: int | None = None
    hot_limit: int | None = None
    cold_limit: int | None = None
    relevance_threshold: float | None = None
    agent_id: str | None = None

    def for_agent(self, agent_id: str | None) -> "RetrieveOptions":
        return replace(self, agent_id=agent_id)


class Retrieving:
    """Each side that is down leaves the other to answer, and is named in ``degraded``."""

    def __init__(
        self,
        working: WorkingStore,
        longterm: LongTermSearch,
        recalls: RecallStore,
        embedder: Embedder,
        settings: Settings,
    ) -> None:
        self._working = working
        self._longterm = longterm
        self._recalls = recalls
        self._noting: set[asyncio.Task[None]] = set()
        self._embedder = embedder
        self._settings = settings
        self._fusion = fusion_for(embedder)

    async def retrieve(self, query: str, group_id: str, options: RetrieveOptions) -> Retrieval:
        degraded: list[str] = []
        (entries, (vector, found)) = await asyncio.gather(
            self._in_time("working_memory", self._working.entries(group_id), degraded),
            self._cold(query, group_id, options, degraded),
        )
        cold = [self._cold_item(one) for one in found]
        threshold = options.relevance_threshold
        if threshold is None:
            threshold = self._settings.relevance_threshold
        if threshold is not None:
            cold = [item for item in cold if item.relevance is not None and item.relevance >= threshold]
        hot = [self._hot_item(entry, vector) for entry in entries or []]
        items = self._merged(_without_verified(hot, cold), cold, options)
        if "working_memory" not in degraded:
            self._note(group_id, [item.id for item in items], options.agent_id)
        return Retrieval(items=tuple(items), degraded=tuple(degraded))

    def _note(self, group_id: str, ids: Sequence[UUID], agent_id: str | None) -> None:
        """Remember, off the caller's path, what was given to whom."""
        task = asyncio.create_task(self._noted(group_id, ids, agent_id), name="recalled")
        self._noting.add(task)
        task.add_done_callback(self._noting.discard)

    async def noted(self) -> None:
        """Wait until what was given so far is remembered."""
        if self._noting:
            await asyncio.wait(self._noting)

    async def _noted(self, group_id: str, ids: Sequence[UUID], agent_id: str | None) -> None:
        try:
            await self._recalls.note(group_id, ids, agent_id=agent_id)
        except Unavailable as error:
            log.warning("recall not noted", reason=error.code)

    async def _cold(
        self, query: str, group_id: str, options: RetrieveOptions, degraded: list[str]
    ) -> tuple[Vector | None, Sequence[Found]]:
        vectors = await self._in_time("embedder", self._embedder.embed([query]), degraded)
        if vectors is None:
            return None, ()
        limit = self._settings.cold_limit if options.cold_limit is None else options.cold_limit
        wanted = SearchQuery(
            group_id=group_id,
            embedding=vectors[0],
            model=self._embedder.model,
            limit=limit,
            agent_id=options.agent_id,
            asked=asked(query),
            fusion=self._fusion,
        )
        found = await self._in_time("long_term_memory", self._longterm.search(wanted), degraded)
        return vectors[0], found or ()

    async def _in_time(self, part: str, asked: Awaitable[T], degraded: list[str]) -> T | None:
        """The part's answer, or None and its name among the degraded ones."""
        try:
            async with asyncio.timeout(self._settings.retrieve_timeout_seconds):
                return await asked
        except (Unavailable, TimeoutError) as error:
            degraded.append(part)
            log.warning("retrieval degraded", part=part, reason=getattr(error, "code", "timeout"))
            return None

    def _merged(
        self, hot: Sequence[ContextItem], cold: Sequence[ContextItem], options: RetrieveOptions
    ) -> list[ContextItem]:
        """Very relevant unverified items, then verified ones by relevance, then the other unverified ones by age."""
        limit = self._settings.hot_limit if options.hot_limit is None else options.hot_limit
        most = self._settings.max_results if options.max_results is None else options.max_results
        first = [item for item in hot if (item.relevance or 0) >= self._settings.hot_first_relevance]
        first.sort(key=lambda item: -(item.relevance or 0))
        first = first[:limit]
        chosen = {item.id for item in first}
        rest = [item for item in hot if item.id not in chosen][: limit - len(first)]
        return [*first, *cold, *rest][:most]

    def _hot_item(self, entry: WorkingEntry, vector: Vector | None) -> ContextItem:
        cosine = None
        if vector is not None and entry.embedding is not None and entry.embedding_model == self._embedder.model:
            cosine = float(np.dot(vector, entry.embedding))
        return ContextItem(
            content=entry.content,
            source=Source.HOT,
            score=1.0,
            id=entry.id,
            group_id=entry.group_id,
            layer=Layer.WORKING,
            label=Label.EPHEMERAL,
            verified=False,
            relevance=None if cosine is None else self._embedder.relevance(cosine),
            scope=Scope.GROUP,
            session_id=entry.session_id,
            agent_id=entry.agent_id,
            author=entry.agent_id,
            occurred_at=entry.occurred_at,
            created_at=entry.created_at,
            expires_at=entry.expires_at,
            promoted_at=None,
            chunk_no=None,
            metadata=entry.metadata,
            flags=entry.flags,
            cut=entry.cut,
        )

    def _cold_item(self, found: Found) -> ContextItem:
        memory = found.memory
        return ContextItem(
            content=memory.content,
            source=Source.COLD,
            score=min(1.0, max(0.0, found.similarity)),
            id=memory.id,
            group_id=memory.group_id,
            layer=Layer.LONGTERM,
            label=Label.VERIFIED,
            verified=True,
            relevance=self._embedder.relevance(found.similarity),
            scope=memory.scope,
            session_id=memory.session_id,
            agent_id=memory.agent_id,
            author=memory.author,
            occurred_at=memory.occurred_at,
            created_at=memory.created_at,
            expires_at=None,
            promoted_at=memory.promoted_at,
            chunk_no=memory.chunk_no,
            metadata=memory.metadata,
        )


def fusion_for(embedder: Embedder) -> Fusion:
    """The weights, with that of the vectors put on the embedder's own scale: from where relevance leaves 0 to its 1."""
    read = [(step / 200, embedder.relevance(step / 200)) for step in range(-200, 201)]
    top = max(relevance for _, relevance in read)
    low = max((cosine for cosine, relevance in read if relevance <= 0), default=0.0)
    high = min(cosine for cosine, relevance in read if relevance >= top)
    usual = Fusion()
    return replace(usual, dense=usual.dense / max(high - low, 0.05))


def _without_verified(hot: Sequence[ContextItem], cold: Sequence[ContextItem]) -> list[ContextItem]:
    """What is in both tiers comes once, as verified."""
    verified = {item.content.strip() for item in cold}
    return [item for item in hot if item.content.strip() not in verified]
