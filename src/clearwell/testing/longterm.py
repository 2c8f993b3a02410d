"""Long-term memory in a list, and tombstones in a dict."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

import numpy as np

from clearwell.errors import ReembeddingStarted
from clearwell.flow.retrieval.metadata_filters import matches_all
from clearwell.ports import SearchQuery, SparseEncoder
from clearwell.records import (
    Action,
    Decision,
    FoundChunk,
    Memory,
    PromotedPart,
    Promotion,
    SearchFilter,
    Tombstone,
    TombstoneKind,
    Vector,
)
from clearwell.testing.ledger import MemoryLedger
from clearwell.testing.ranking import Ranking

_Gap: TypeAlias = tuple[str, UUID, datetime, datetime]
"""A memory of a group, and from when to when it did not hold."""
_Held: TypeAlias = tuple[list[Memory], list[Promotion], list[_Gap], list[tuple[str, UUID, UUID]]]
_Kept: TypeAlias = tuple[Tombstone, bytes, Vector | None, str | None]


class MemoryLongTerm:
    """Long-term memory in a list: search and promotion over the same chunks."""

    def __init__(self, encoder: SparseEncoder, ledger: MemoryLedger | None = None) -> None:
        self._encoder = encoder
        self._ledger = ledger or MemoryLedger()
        self._chunks: list[Memory] = []
        self._gaps: list[_Gap] = []
        self.promotions: list[Promotion] = []
        self.conflicts: list[tuple[str, UUID, UUID]] = []
        self.last_reembedding = 0

    def groups(self) -> set[str]:
        """The groups that have or had memories."""
        return {chunk.group_id for chunk in self._chunks}

    @property
    def chunks(self) -> list[Memory]:
        return self._chunks

    async def search(self, query: SearchQuery) -> list[FoundChunk]:
        if query.reembedding not in (None, self.last_reembedding) and query.embedding is not None:
            raise ReembeddingStarted("models_moved")
        as_of = query.where.as_of
        found = [
            FoundChunk(
                memory=chunk,
                similarity=_cosine(query.embedding, chunk.embedding),
                origin_id=self._origin(chunk),
                superseded=self._is_superseded(chunk),
            )
            for chunk in self._chunks
            if chunk.group_id == query.group_id
            and (query.embedding is None or chunk.embedding_model == query.model)
            and chunk.agent_id in (None, query.agent_id)
            and chunk.embedding is not None
            and (chunk.valid_to is None if as_of is None else self._was_verified(chunk, as_of))
            and (chunk.valid_to is None or not query.where.still_valid or self._is_superseded(chunk))
            and _is_meant(chunk, query.where)
        ]
        if query.terms is not None:
            counted = [chunk for chunk in self._chunks if _is_counted(chunk, query)]
            ranking = Ranking(self._encoder, self._group(query.group_id), counted)
            found = ranking.rank(found, query.terms, query.fusion)
            if not query.explain:
                found = [replace(one, parts=None) for one in found]
        found.sort(key=lambda one: (-((one.similarity or 0.0) if one.rank is None else one.rank), *_place(one.memory)))
        best: dict[UUID, FoundChunk] = {}
        for one in found:
            best.setdefault(one.memory.id, one)
        nearest = list(best.values())[: query.limit]
        return [
            replace(one, memory=replace(one.memory, embedding=None), conflicts_with=self._find_conflicts(one, query))
            for one in nearest
            if query.embedding is not None or one.words > 0
        ]

    async def search_nearest(self, queries: Sequence[SearchQuery]) -> list[list[FoundChunk]]:
        return [await self.search(one) for one in queries]

    def _find_conflicts(self, found: FoundChunk, query: SearchQuery) -> tuple[UUID, ...]:
        """The memories that a memory contradicts, among those that the agent may see."""
        if query.terms is None:
            return ()
        seen = {one.id for one in self._chunks if one.valid_to is None and one.agent_id in (None, query.agent_id)}
        return tuple(
            sorted(
                other
                for group_id, one, other in self.conflicts
                if (group_id, one) == (query.group_id, found.memory.id) and other in seen
            )
        )

    def _origin(self, chunk: Memory) -> UUID | None:
        return next((one.text.origin_id for one in self.promotions if one.id == chunk.promotion_id), None)

    def _group(self, group_id: str) -> list[Memory]:
        return [chunk for chunk in self._chunks if chunk.group_id == group_id and chunk.valid_to is None]

    async def find_promoted(self, group_id: str, log_ids: Sequence[UUID], *, agent_id: str | None) -> set[PromotedPart]:
        valid = [chunk for chunk in self._group(group_id) if chunk.agent_id in (None, agent_id)]
        origins, memories = {self._origin(chunk) for chunk in valid}, {chunk.id for chunk in valid}
        outputs = {PromotedPart(log_id) for log_id in log_ids if log_id in origins}
        return outputs | {
            part
            for decision in self._ledger.list_in_force(group_id)
            if decision.action is Action.PROMOTE and decision.memory_id in memories
            for part in self._list_sources(decision)
            if part.log_id in log_ids
        }

    def _list_sources(self, decision: Decision) -> list[PromotedPart]:
        """The statements that a decision on an insight promoted."""
        insight = None if decision.insight_id is None else self._ledger.get(decision.group_id, decision.insight_id)
        return [
            PromotedPart(source.log_id, source.span)
            for source in (() if insight is None else insight.sources)
            if source.span is not None and (decision.side_sources is None or source.log_id in decision.side_sources)
        ]

    async def get(self, group_id: str, ids: Sequence[UUID], *, agent_id: str | None = None) -> Sequence[Memory]:
        found = [
            replace(chunk, embedding=None)
            for chunk in self._chunks
            if chunk.group_id == group_id and chunk.id in ids and chunk.agent_id in (None, agent_id)
        ]
        return sorted(found, key=lambda chunk: (chunk.id, chunk.chunk_no))

    def hold(self, promotions: Sequence[tuple[Promotion, Sequence[Memory]]]) -> None:
        """Memories as a decision leaves them."""
        for promotion, chunks in promotions:
            self.promotions.append(promotion)
            self._chunks.extend(chunks)

    def extend(self, chunks: Sequence[Memory]) -> None:
        self._chunks.extend(chunks)

    def contradict(self, group_id: str, pairs: Sequence[tuple[UUID, UUID]]) -> None:
        """Memories of which each contradicts the other."""
        both = [(group_id, *pair) for one, other in pairs for pair in ((one, other), (other, one))]
        self.conflicts += [one for one in dict.fromkeys(both) if one not in self.conflicts]

    def withdraw(self, group_id: str, ids: Sequence[UUID], at: datetime) -> None:
        """End the validity of memories."""
        self._set(group_id, ids, lambda chunk: chunk.valid_to or at)

    def restore(self, group_id: str, ids: Sequence[UUID], at: datetime) -> None:
        """Give validity back, and keep when it was missing."""
        gone = {one.id: one.valid_to for one in self._chunks if one.group_id == group_id and one.id in ids}
        self._gaps += [(group_id, memory_id, end, at) for memory_id, end in gone.items() if end is not None]
        self._set(group_id, ids, lambda _: None)

    def _set(self, group_id: str, ids: Sequence[UUID], valid_to: Callable[[Memory], datetime | None]) -> None:
        self._chunks = [
            replace(chunk, valid_to=valid_to(chunk)) if chunk.group_id == group_id and chunk.id in ids else chunk
            for chunk in self._chunks
        ]

    def _is_superseded(self, chunk: Memory) -> bool:
        return chunk.valid_to is not None and any(
            one.group_id == chunk.group_id and one.text.supersedes == chunk.id for one in self.promotions
        )

    def _was_verified(self, chunk: Memory, at: datetime) -> bool:
        missing = ((chunk.group_id, chunk.id) == gap[:2] and gap[2] <= at < gap[3] for gap in self._gaps)
        return chunk.created_at <= at and (chunk.valid_to is None or chunk.valid_to > at) and not any(missing)

    def fate(self, promotion_id: UUID) -> tuple[int, datetime | None]:
        """How many chunks a promotion has, and when they ceased to hold."""
        chunks = [chunk for chunk in self._chunks if chunk.promotion_id == promotion_id]
        return len(chunks), max((one.valid_to for one in chunks if one.valid_to is not None), default=None)

    def state(self) -> _Held:
        return list(self._chunks), list(self.promotions), list(self._gaps), list(self.conflicts)

    def reset(self, state: _Held) -> None:
        self._chunks, self.promotions, self._gaps, self.conflicts = state

    async def models(self) -> dict[str, int]:
        return {one.embedding_model: len(one.embedding) for one in self._chunks if one.embedding is not None}

    async def ping(self) -> None:
        """Always there."""


def _cosine(asked: Vector | None, stored: Vector | None) -> float | None:
    return None if asked is None or stored is None else float(np.dot(asked, stored))


def _is_counted(chunk: Memory, query: SearchQuery) -> bool:
    return chunk.group_id == query.group_id and chunk.agent_id in (None, query.agent_id) and chunk.valid_to is None


def _is_meant(chunk: Memory, where: SearchFilter) -> bool:
    said = chunk.occurred_at or chunk.created_at
    return (
        (where.since is None or said >= where.since)
        and (where.until is None or said < where.until)
        and where.session_id in (None, chunk.session_id)
        and where.scope in (None, chunk.scope)
        and matches_all(chunk.metadata, where.conditions)
    )


def _place(memory: Memory) -> tuple[UUID, int]:
    return memory.id, memory.chunk_no


class MemoryTombstones:
    """Tombstones in a dict."""

    def __init__(self) -> None:
        self._kept: dict[UUID, _Kept] = {}

    async def secret(self, group_id: str) -> bytes:
        return group_id.encode()

    async def look_up(
        self, group_id: str, value_hashes: Sequence[bytes], *, embeddings: Sequence[Vector] = (), model: str = ""
    ) -> tuple[Tombstone | None, tuple[Tombstone, float] | None]:
        near = [
            (one, max(float(np.dot(embedding, vector)) for embedding in embeddings))
            for one, _, vector, made_with in self.list_in_force(group_id)
            if embeddings and vector is not None and made_with == model
        ]
        standing = self.find_in_force(group_id, value_hashes).values()
        in_force = min(standing, key=lambda one: (one.kind is not TombstoneKind.FORGOTTEN, one.id), default=None)
        return in_force, max(near, key=lambda found: found[1], default=None)

    def find_in_force(self, group_id: str, value_hashes: Sequence[bytes]) -> dict[bytes, Tombstone]:
        return {kept: one for one, kept, _, _ in self.list_in_force(group_id) if kept in value_hashes}

    def put(self, tombstone: Tombstone, value_hash: bytes, embedding: Vector | None, model: str | None) -> bool:
        if self.find_in_force(tombstone.group_id, [value_hash]):
            return False
        self._kept[tombstone.id] = (tombstone, value_hash, embedding, model)
        return True

    def state(self) -> dict[UUID, _Kept]:
        return dict(self._kept)

    def reset(self, state: dict[UUID, _Kept]) -> None:
        self._kept = state

    def lift(self, group_id: str, tombstone_id: UUID, *, by: str, at: datetime) -> bool:
        found = {one.id: one for one, *_ in self.list_in_force(group_id)}.get(tombstone_id)
        if found is None or found.kind is TombstoneKind.FORGOTTEN:
            return False
        _, value_hash, vector, model = self._kept[tombstone_id]
        self._kept[tombstone_id] = (replace(found, lifted_by=by, lifted_at=at), value_hash, vector, model)
        return True

    async def all(self, group_id: str) -> Sequence[Tombstone]:
        mine = [one for one, *_ in self._kept.values() if one.group_id == group_id]
        return sorted(mine, key=lambda one: one.id, reverse=True)

    def list_in_force(self, group_id: str) -> list[_Kept]:
        return [kept for kept in self._kept.values() if kept[0].group_id == group_id and kept[0].lifted_at is None]
