"""Insights, decisions and the desk in dicts, over the twins of long-term memory and tombstones."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from clearwell.ports import Claim, Clock, Desk, Waiting
from clearwell.records import (
    Action,
    AuditEvent,
    Decision,
    Insight,
    InsightSource,
    Json,
    Memory,
    NewMemory,
    Promotion,
    PromotionState,
    Tombstone,
    Vector,
)
from clearwell.testing.access import MemoryIdempotency
from clearwell.testing.longterm import MemoryLongTerm, MemoryTombstones


@dataclass
class _Kept:
    """Everything of one group that a decision can change."""

    insights: dict[UUID, Insight] = field(default_factory=dict)
    merged: dict[UUID, dict[UUID, tuple[InsightSource, ...]]] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    judged: dict[UUID, UUID] = field(default_factory=dict)
    waiting: dict[UUID, tuple[datetime, int, str | None]] = field(default_factory=dict)
    events: list[AuditEvent] = field(default_factory=list)

    def copied(self) -> "_Kept":
        return _Kept(*(copy(getattr(self, name)) for name in self.__dataclass_fields__))


class MemoryDecisions:
    """The desk over twins. What fails within it leaves them as they were."""

    def __init__(
        self,
        longterm: MemoryLongTerm,
        tombstones: MemoryTombstones,
        idempotency: MemoryIdempotency,
        clock: Clock,
    ) -> None:
        self._longterm = longterm
        self._tombstones = tombstones
        self._idempotency = idempotency
        self._clock = clock
        self._kept: defaultdict[str, _Kept] = defaultdict(_Kept)
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def put(self, insight: Insight) -> None:
        """As a digest does."""
        self._kept[insight.group_id].insights[insight.id] = insight

    def events(self, group_id: str) -> list[AuditEvent]:
        return self._kept[group_id].events

    def judged(self, group_id: str) -> Mapping[UUID, UUID]:
        return self._kept[group_id].judged

    async def insight(self, group_id: str, insight_id: UUID) -> Insight | None:
        return self._kept[group_id].insights.get(insight_id)

    def open(self, group_id: str) -> AbstractAsyncContextManager[Desk]:
        return self._open(group_id)

    @asynccontextmanager
    async def _open(self, group_id: str) -> AsyncIterator[Desk]:
        async with self._locks[group_id]:
            before, longterm, tombstones = (
                self._kept[group_id].copied(),
                self._longterm.state(),
                self._tombstones.state(),
            )
            try:
                yield MemoryDesk(group_id, self._kept[group_id], self._longterm, self._tombstones, self._idempotency)
            except BaseException:
                self._kept[group_id] = before
                self._longterm.reset(longterm)
                self._tombstones.reset(tombstones)
                raise

    async def waiting(self, *, limit: int) -> Sequence[Waiting]:
        now = self._clock.now()
        due = sorted(
            (at, group_id, promotion_id)
            for group_id, kept in self._kept.items()
            for promotion_id, (at, _, _) in kept.waiting.items()
            if at <= now
        )
        return [Waiting(group_id=group_id, promotion_id=promotion_id) for _, group_id, promotion_id in due[:limit]]

    async def load(self, one: Waiting) -> Promotion | None:
        if one.promotion_id not in self._kept[one.group_id].waiting:
            return None
        return next(found for found in self._longterm.promotions if found.id == one.promotion_id)

    async def carry_out(self, one: Waiting, chunks: Sequence[Memory], *, event: AuditEvent) -> bool:
        if self._kept[one.group_id].waiting.pop(one.promotion_id, None) is None:
            return False
        self._longterm.extend(chunks)
        self._kept[one.group_id].events.append(event)
        return True

    async def postpone(self, one: Waiting, *, problem: str, wait: timedelta | None = None) -> None:
        _, tries, _ = self._kept[one.group_id].waiting[one.promotion_id]
        pause = wait or timedelta(seconds=min(300, 2 * 2 ** min(tries, 10)))
        self._kept[one.group_id].waiting[one.promotion_id] = (self._clock.now() + pause, tries + 1, problem)


class MemoryDesk:
    def __init__(
        self,
        group_id: str,
        kept: _Kept,
        longterm: MemoryLongTerm,
        tombstones: MemoryTombstones,
        idempotency: MemoryIdempotency,
    ) -> None:
        self._group_id = group_id
        self._kept = kept
        self._longterm = longterm
        self._tombstones = tombstones
        self._idempotency = idempotency

    async def insights(self, ids: Sequence[UUID]) -> Mapping[UUID, Insight]:
        return {one: self._kept.insights[one] for one in ids if one in self._kept.insights}

    async def decision(self, decision_id: UUID) -> Decision | None:
        return next((one for one in self._kept.decisions if one.id == decision_id), None)

    async def standing(self, insight_id: UUID) -> Decision | None:
        about = [one for one in self._kept.decisions if one.insight_id == insight_id or insight_id in one.others]
        undone = {one.undoes for one in self._kept.decisions}
        return next((one for one in reversed(about) if one.action is not Action.UNDO and one.id not in undone), None)

    async def is_undone(self, decision_id: UUID) -> bool:
        return any(one.undoes == decision_id for one in self._kept.decisions)

    async def promoted_by(self, memory_id: UUID) -> Sequence[tuple[Decision, bool]]:
        return [
            (one, await self.is_undone(one.id))
            for one in self._kept.decisions
            if one.memory_id == memory_id and one.action is Action.PROMOTE
        ]

    async def superseded_by(self, memory_id: UUID) -> Decision | None:
        undone = {one.undoes for one in self._kept.decisions}
        standing = [one for one in self._kept.decisions if one.action is Action.PROMOTE and one.id not in undone]
        return next((one for one in reversed(standing) if one.supersedes == memory_id), None)

    async def tombstone(self, digests: Sequence[bytes]) -> Tombstone | None:
        return (await self._tombstones.look(self._group_id, digests))[0]

    async def same(self, text: NewMemory, fingerprint: bytes) -> PromotionState | None:
        alike = [
            self._state(one)
            for one in self._mine()
            if one.fingerprint == fingerprint or (text.origin_id is not None and one.text.origin_id == text.origin_id)
        ]
        return next((one for one in alike if one.state != "withdrawn"), None)

    async def promotions(self, memory_ids: Sequence[UUID]) -> Mapping[UUID, PromotionState]:
        return {one.memory_id: self._state(one) for one in self._mine() if one.memory_id in memory_ids}

    def _mine(self) -> list[Promotion]:
        return [one for one in self._longterm.promotions if one.group_id == self._group_id]

    def _state(self, promotion: Promotion) -> PromotionState:
        chunks, valid_to = self._longterm.fate(promotion.id)
        waits = self._kept.waiting.get(promotion.id)
        return PromotionState(
            promotion=promotion,
            chunks=chunks,
            valid_to=valid_to,
            waiting=waits is not None,
            problem=None if waits is None else waits[2],
        )

    async def promote(self, promotions: Sequence[tuple[Promotion, Sequence[Memory] | None]]) -> None:
        for promotion, chunks in promotions:
            self._longterm.promotions.append(promotion)
            if chunks is None:
                self._kept.waiting[promotion.id] = (promotion.decided_at, 0, None)
            else:
                self._longterm.extend(chunks)

    async def withdraw(self, memory_ids: Sequence[UUID], *, at: datetime) -> None:
        self._longterm.withdraw(self._group_id, memory_ids, at)
        for promotion in self._mine():
            if promotion.memory_id in memory_ids:
                self._kept.waiting.pop(promotion.id, None)

    async def restore(self, memory_ids: Sequence[UUID]) -> None:
        self._longterm.withdraw(self._group_id, memory_ids, None)

    async def change(self, insight: Insight) -> None:
        # Sources change by uniting and separating only.
        sources = self._kept.insights[insight.id].sources
        self._kept.insights[insight.id] = replace(insight, sources=sources)

    async def unite(self, insight_id: UUID, others: Sequence[UUID]) -> None:
        insight = self._kept.insights[insight_id]
        for other in others:
            have = {one.log_id for one in insight.sources}
            more = tuple(one for one in self._kept.insights[other].sources if one.log_id not in have)
            self._kept.merged = {
                **self._kept.merged,
                insight_id: {**self._kept.merged.get(insight_id, {}), other: more},
            }
            insight = replace(insight, sources=(*insight.sources, *more))
        self._kept.insights[insight_id] = insight

    async def separate(self, insight_id: UUID, others: Sequence[UUID]) -> None:
        gone = {one for other in others for one in self._kept.merged.get(insight_id, {}).get(other, ())}
        insight = self._kept.insights[insight_id]
        left = tuple(one for one in insight.sources if one not in gone)
        self._kept.insights[insight_id] = replace(insight, sources=left)

    async def judge(self, log_ids: Sequence[UUID], *, by: UUID) -> None:
        for one in log_ids:
            self._kept.judged.setdefault(one, by)

    async def free(self, *, by: UUID) -> None:
        self._kept.judged = {one: judge for one, judge in self._kept.judged.items() if judge != by}

    async def reject(
        self, tombstone: Tombstone, digest: bytes, *, embedding: Vector | None, model: str | None
    ) -> UUID | None:
        added = await self._tombstones.put(tombstone, digest, embedding, model)
        return tombstone.id if added else None

    async def lift(self, tombstone_id: UUID, *, by: str, at: datetime) -> None:
        event = AuditEvent(
            id=tombstone_id, group_id=self._group_id, at=at, actor=by, action="lift", subject="tombstone"
        )
        await self._tombstones.lift(self._group_id, tombstone_id, event=event)

    async def record(self, decision: Decision | None, event: AuditEvent) -> None:
        self._kept.events.append(event)
        if decision is not None:
            self._kept.decisions.append(decision)

    async def answer(self, claim: Claim, answer: Json) -> None:
        await self._idempotency.complete(claim, answer)
