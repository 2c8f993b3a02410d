"""Working and long-term memory asked at the same time, labelled and put in one order.

This file is not given the quarantine store, and cannot be.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from uuid import UUID

import numpy as np
import structlog

from clearwell.errors import Unavailable
from clearwell.flow.cutting import cut
from clearwell.flow.filters import meets
from clearwell.flow.in_time import begun, in_time, leave
from clearwell.flow.lexical import asked, shares
from clearwell.flow.normal import normalised
from clearwell.flow.options import RetrieveOptions, Wanted, wanted
from clearwell.flow.relevance import relevance, unverified_relevance
from clearwell.flow.scale import scale_of
from clearwell.flow.searching import Searching
from clearwell.ports import Asked, Clock, Embedder, Fusion, LongTermSearch, RecallStore, SearchQuery, WorkingStore
from clearwell.records import (
    ContextItem,
    Explanation,
    Found,
    Label,
    Layer,
    Retrieval,
    Scope,
    Source,
    Vector,
    Where,
    WorkingEntry,
)
from clearwell.settings import Settings

log = structlog.get_logger(__name__)


class Retrieving:
    """Each side that is down leaves the other to answer, and is named in ``degraded``."""

    def __init__(
        self,
        working: WorkingStore,
        longterm: LongTermSearch,
        recalls: RecallStore,
        embedder: Embedder,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self._working = working
        self._recalls = recalls
        self._noting: set[asyncio.Task[None]] = set()
        self._embedder = embedder
        self._clock = clock
        self._settings = settings
        self._searching = Searching(longterm, embedder, budget=settings.retrieve_timeout_seconds)
        self._fusion = fusion_for(embedder, settings)

    async def retrieve(self, query: str, group_id: str, options: RetrieveOptions) -> Retrieval:
        """What a caller asked for; that it was given is remembered."""
        found = await self.look(query, group_id, options)
        if "working_memory" not in found.degraded:
            self.note(group_id, [item.id for item in found.items], options.agent_id)
        return found

    async def look(self, query: str, group_id: str, options: RetrieveOptions) -> Retrieval:
        """The same for one who gives on only a part of it, and notes that."""
        want = wanted(options, self._settings, self._clock.now())
        words, degraded = asked(query, dates=self._settings.fusion_dates), list[str]()
        entries, (vector, found) = await asyncio.gather(
            self._hot(group_id, want, degraded), self._cold(query, words, group_id, want, degraded)
        )
        if want.hot and self._working.is_damaged(group_id):
            degraded.append("working_memory_damaged")
        cold = self._cold_items(found, want)
        hot = _without_verified(self._hot_items(entries, vector, words, want), cold, found)
        items = [_shortened(item, want.max_chars) for item in self._merged(hot, cold, want)]
        return Retrieval(items=tuple(items), degraded=tuple(sorted(degraded)), sources=want.sources)

    def note(self, group_id: str, ids: Sequence[UUID], agent_id: str | None) -> None:
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

    async def _hot(self, group_id: str, want: Wanted, degraded: list[str]) -> Sequence[WorkingEntry]:
        if not want.hot:
            return ()
        work = begun(self._working.entries(group_id), "working memory")
        try:
            entries = await in_time(work, self._settings.retrieve_timeout_seconds)
        except (Unavailable, TimeoutError) as error:
            degraded.append("working_memory")
            log.warning("retrieval degraded", part="working_memory", reason=getattr(error, "code", "timeout"))
            return ()
        finally:
            leave(work)
        return [entry for entry in entries if _is_meant(entry, want.where)]

    async def _cold(
        self, query: str, words: Asked, group_id: str, want: Wanted, degraded: list[str]
    ) -> tuple[Vector | None, Sequence[Found]]:
        if not want.cold:
            return (await self._searching.vector(query, degraded) if want.hot else None), ()
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
        return await self._searching.search(query, search, degraded)

    def _merged(self, hot: Sequence[ContextItem], cold: Sequence[ContextItem], want: Wanted) -> list[ContextItem]:
        """Very relevant unverified items, then verified ones by rank, then the other unverified ones by age."""
        first = [item for item in hot if (item.relevance or 0) >= self._settings.hot_first_relevance]
        first.sort(key=lambda item: -(item.relevance or 0))
        first = first[: want.hot_limit]
        chosen = {item.id for item in first}
        rest = [item for item in hot if item.id not in chosen][: want.hot_limit - len(first)]
        return [*first, *cold, *rest][: want.max_results]

    def _hot_items(
        self, entries: Sequence[WorkingEntry], vector: Vector | None, words: Asked, want: Wanted
    ) -> list[ContextItem]:
        found = shares(words, [entry.content for entry in entries])
        return [self._hot_item(entry, vector, share, want) for entry, share in zip(entries, found, strict=True)]

    def _hot_item(self, entry: WorkingEntry, vector: Vector | None, share: float, want: Wanted) -> ContextItem:
        cosine = None
        if vector is not None and entry.embedding is not None and entry.embedding_model == self._embedder.model:
            cosine = float(np.dot(vector, entry.embedding))
        age = (want.now - entry.created_at).total_seconds()
        return ContextItem(
            content=entry.content,
            source=Source.HOT,
            score=1.0,
            id=entry.id,
            group_id=entry.group_id,
            layer=Layer.WORKING,
            label=Label.EPHEMERAL,
            verified=False,
            relevance=unverified_relevance(self._embedder, cosine, share, first=self._settings.hot_first_relevance),
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
            explanation=Explanation(cosine=cosine, words=share, age_seconds=age) if want.explain else None,
            node_type=entry.node_type,
        )

    def _cold_items(self, found: Sequence[Found], want: Wanted) -> list[ContextItem]:
        items = [self._cold_item(one, want) for one in found]
        threshold = want.threshold
        return items if threshold is None else [item for item in items if (item.relevance or 0.0) >= threshold]

    def _cold_item(self, found: Found, want: Wanted) -> ContextItem:
        memory, likeness = found.memory, found.words if found.similarity is None else found.similarity
        explanation = Explanation(cosine=found.similarity, words=found.words, parts=found.parts, rank=found.rank)
        return ContextItem(
            content=memory.content,
            source=Source.COLD,
            score=min(1.0, max(0.0, likeness)),
            id=memory.id,
            group_id=memory.group_id,
            layer=Layer.LONGTERM,
            label=Label.VERIFIED,
            verified=True,
            relevance=relevance(self._embedder, found.similarity, found.words),
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
            explanation=explanation if want.explain else None,
            node_type=node_type if isinstance(node_type := memory.metadata.get("node_type"), str) else None,
        )


def fusion_for(embedder: Embedder, settings: Settings) -> Fusion:
    """The weights, with that of the vectors put on the embedder's own scale: from where relevance leaves 0 to its 1."""
    scale = scale_of(embedder)
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


def _without_verified(
    hot: Sequence[ContextItem], cold: Sequence[ContextItem], found: Sequence[Found]
) -> list[ContextItem]:
    """What is in both tiers comes once, as verified: what was promoted from an entry, or says the same."""
    shown = {item.id for item in cold}
    origins = {one.origin_id for one in found if one.memory.id in shown}
    verified = {_plain(item.content) for item in cold}
    return [item for item in hot if item.id not in origins and _plain(item.content) not in verified]


@lru_cache(maxsize=4096)
def _plain(content: str) -> str:
    return normalised(content)


def _shortened(item: ContextItem, most: int) -> ContextItem:
    content = cut(item.content, most)
    return item if content == item.content else replace(item, content=content, cut=True)


__all__ = ["RetrieveOptions", "Retrieving", "fusion_for"]
