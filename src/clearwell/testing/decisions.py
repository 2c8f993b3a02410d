"""The twin of the decision store, over the twins of the ledger, long-term memory and tombstones."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from clearwell.ports import TOMBSTONED, Claim, Clock, DecisionTransaction, WaitingPromotion
from clearwell.records import (
    Action,
    AuditEvent,
    Decision,
    Insight,
    Json,
    Memory,
    NewMemory,
    Promotion,
    PromotionState,
    Tombstone,
    Vector,
)
from clearwell.testing.access import MemoryIdempotency
from clearwell.testing.ledger import Delay, MemoryLedger
from clearwell.testing.longterm import MemoryLongTerm, MemoryTombstones


class MemoryDecisions:
    """Decisions over twins. A transaction that fails leaves them as they were."""

    def __init__(
        self,
        ledger: MemoryLedger,
        longterm: MemoryLongTerm,
        tombstones: MemoryTombstones,
        idempotency: MemoryIdempotency,
        clock: Clock,
    ) -> None:
        self._ledger = ledger
        self._longterm = longterm
        self._tombstones = tombstones
        self._idempotency = idempotency
        self._clock = clock
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.events: list[AuditEvent] = []

    def transaction(self, group_id: str) -> AbstractAsyncContextManager[DecisionTransaction]:
        return self._open(group_id)

    @asynccontextmanager
    async def _open(self, group_id: str) -> AsyncIterator[DecisionTransaction]:
        async with self._locks[group_id]:
            ledger, longterm, tombstones = self._ledger.state(), self._longterm.state(), self._tombstones.state()
            transaction = MemoryDecisionTransaction(
                group_id, self._ledger, self._longterm, self._tombstones, self._idempotency
            )
            try:
                yield transaction
            except BaseException:
                self._ledger.reset(ledger)
                self._longterm.reset(longterm)
                self._tombstones.reset(tombstones)
                raise
            self.events += transaction.events

    async def waiting(self, *, limit: int) -> Sequence[WaitingPromotion]:
        now = self._clock.now()
        due = sorted(
            (delay.until, delay.group_id, promotion_id)
            for promotion_id, delay in self._ledger.delays.items()
            if delay.until <= now
        )
        return [
            WaitingPromotion(group_id=group_id, promotion_id=promotion_id) for _, group_id, promotion_id in due[:limit]
        ]

    async def load(self, one: WaitingPromotion) -> Promotion | None:
        if one.promotion_id not in self._ledger.delays:
            return None
        return next(found for found in self._longterm.promotions if found.id == one.promotion_id)

    async def carry_out(
        self, one: WaitingPromotion, chunks: Sequence[Memory], *, digests: Sequence[bytes], event: AuditEvent
    ) -> bool:
        if (await self._tombstones.look(one.group_id, digests))[0] is not None:
            return False
        if self._ledger.delays.pop(one.promotion_id, None) is None:
            return False
        replaced = {
            decision.supersedes
            for decision in self._ledger.standing(one.group_id)
            if decision.promotion_id == one.promotion_id and decision.supersedes != decision.memory_id
        }
        self._longterm.withdraw(one.group_id, [each for each in replaced if each is not None], event.at)
        for promotion in self._longterm.promotions:
            if promotion.group_id == one.group_id and promotion.memory_id in replaced:
                self._ledger.delays.pop(promotion.id, None)
        self._longterm.extend(chunks)
        self.events.append(event)
        return True

    async def postpone(self, one: WaitingPromotion, *, problem: str) -> None:
        tries = self._ledger.delays[one.promotion_id].tries
        until = self._clock.now() + timedelta(seconds=min(300, 2 * 2 ** min(tries, 10)))
        delay = Delay(one.group_id, until, tries + 1, problem)
        self._ledger.delays[one.promotion_id] = delay


class MemoryDecisionTransaction:
    def __init__(
        self,
        group_id: str,
        ledger: MemoryLedger,
        longterm: MemoryLongTerm,
        tombstones: MemoryTombstones,
        idempotency: MemoryIdempotency,
    ) -> None:
        self._group_id = group_id
        self._ledger = ledger
        self._longterm = longterm
        self._tombstones = tombstones
        self._idempotency = idempotency
        self.events: list[AuditEvent] = []

    async def find_insights(self, ids: Sequence[UUID]) -> Mapping[UUID, Insight]:
        found = {one: self._ledger.get(self._group_id, one) for one in ids}
        return {one: insight for one, insight in found.items() if insight is not None}

    async def find_decision(self, decision_id: UUID) -> Decision | None:
        return next((one for one in self._ledger.decisions(self._group_id) if one.id == decision_id), None)

    async def find_last_decision(self, insight_id: UUID) -> Decision | None:
        standing = reversed(self._ledger.standing(self._group_id))
        return next((one for one in standing if one.insight_id == insight_id or insight_id in one.others), None)

    async def is_undone(self, decision_id: UUID) -> bool:
        return any(one.undoes == decision_id for one in self._ledger.decisions(self._group_id))

    async def find_promoting_decisions(self, memory_id: UUID) -> Sequence[tuple[Decision, bool]]:
        return [
            (one, await self.is_undone(one.id))
            for one in self._ledger.decisions(self._group_id)
            if one.memory_id == memory_id and one.action is Action.PROMOTE
        ]

    async def find_superseding_decision(self, memory_id: UUID) -> Decision | None:
        promoting = [one for one in self._ledger.standing(self._group_id) if one.action is Action.PROMOTE]
        return next((one for one in reversed(promoting) if one.supersedes == memory_id), None)

    async def find_retracting_decision(self, memory_id: UUID) -> Decision | None:
        standing = reversed(self._ledger.standing(self._group_id))
        return next((one for one in standing if one.action is Action.RETRACT and memory_id in one.others), None)

    async def find_tombstone(self, digests: Sequence[bytes]) -> Tombstone | None:
        return (await self._tombstones.look(self._group_id, digests))[0]

    async def find_duplicate(self, text: NewMemory, fingerprint: bytes) -> PromotionState | None:
        holding = [one for one in await self.list_duplicates(text, fingerprint) if one.state != "withdrawn"]
        own = [one for one in holding if self._comes_from(one.promotion, text.origin_id)]
        return next(iter(own or holding), None)

    async def list_duplicates(self, text: NewMemory, fingerprint: bytes) -> Sequence[PromotionState]:
        return [
            state
            for state in promotion_states(self._group_id, self._longterm, self._ledger)
            if state.promotion.fingerprint == fingerprint or self._comes_from(state.promotion, text.origin_id)
        ]

    def _comes_from(self, promotion: Promotion, origin_id: UUID | None) -> bool:
        by_decision = {
            one.origin_id for one in self._ledger.standing(self._group_id) if one.promotion_id == promotion.id
        }
        return origin_id is not None and origin_id in {promotion.text.origin_id, *by_decision}

    async def find_promotions(self, memory_ids: Sequence[UUID]) -> Mapping[UUID, PromotionState]:
        states = promotion_states(self._group_id, self._longterm, self._ledger)
        return {one.promotion.memory_id: one for one in states if one.promotion.memory_id in memory_ids}

    async def insert_promotions(self, promotions: Sequence[tuple[Promotion, Sequence[Memory] | None]]) -> None:
        for promotion, chunks in promotions:
            self._longterm.promotions.append(promotion)
            if chunks is None:
                self._ledger.delays[promotion.id] = Delay(self._group_id, promotion.decided_at)
            else:
                self._longterm.extend(chunks)

    async def withdraw_memories(self, memory_ids: Sequence[UUID], *, at: datetime) -> None:
        self._longterm.withdraw(self._group_id, memory_ids, at)
        for state in (await self.find_promotions(memory_ids)).values():
            self._ledger.delays.pop(state.promotion.id, None)

    async def restore_memories(self, memory_ids: Sequence[UUID], *, at: datetime) -> None:
        self._longterm.restore(self._group_id, memory_ids, at)
        for state in (await self.find_promotions(memory_ids)).values():
            if not state.chunks:
                self._ledger.delays.setdefault(state.promotion.id, Delay(self._group_id, at))

    async def update_insight(self, insight: Insight) -> None:
        self._ledger.change(insight)

    async def merge_sources(self, insight_id: UUID, others: Sequence[UUID]) -> None:
        self._ledger.unite(insight_id, others)

    async def separate_sources(self, insight_id: UUID, others: Sequence[UUID]) -> None:
        self._ledger.separate(insight_id, others)

    async def mark_judged(self, log_ids: Sequence[UUID], *, by: UUID) -> None:
        for log_id in log_ids:
            self._ledger.judge(self._group_id, log_id, by=by)

    async def clear_judged(self, *, by: UUID) -> None:
        self._ledger.free(self._group_id, by=by)

    async def insert_tombstone(
        self, tombstone: Tombstone, digest: bytes, *, embedding: Vector | None, model: str | None
    ) -> UUID | None:
        added = await self._tombstones.put(tombstone, digest, embedding, model)
        return tombstone.id if added else None

    async def lift_tombstone(self, tombstone_id: UUID, *, by: str, at: datetime) -> bool:
        return self._tombstones.lift(self._group_id, tombstone_id, by=by, at=at)

    async def find_rejecting_decisions(self, tombstone_id: UUID) -> Sequence[tuple[Decision, bool]]:
        return [
            (one, await self.is_undone(one.id))
            for one in self._ledger.decisions(self._group_id)
            if one.tombstone_id == tombstone_id and one.action is Action.REJECT
        ]

    async def find_nearest_tombstone(self, embedding: Vector, model: str) -> tuple[Tombstone, float] | None:
        return (await self._tombstones.look(self._group_id, [], embedding=embedding, model=model))[1]

    async def find_flagged_insights(self, flag: str) -> Sequence[Insight]:
        return [one for one in self._ledger.of(self._group_id) if flag in one.flags]

    async def retry_refused_promotions(self, *, at: datetime) -> None:
        for promotion_id, delay in list(self._ledger.delays.items()):
            if delay.group_id == self._group_id and delay.problem == TOMBSTONED:
                self._ledger.delays[promotion_id] = replace(delay, until=at)

    async def record_decision(self, decision: Decision | None, event: AuditEvent) -> None:
        self.events.append(event)
        if decision is not None:
            self._ledger.record(decision)

    async def store_answer(self, claim: Claim, answer: Json) -> None:
        await self._idempotency.complete(claim, answer)


def promotion_states(group_id: str, longterm: MemoryLongTerm, ledger: MemoryLedger) -> list[PromotionState]:
    """How the memories of a group came to be, and whether they hold."""
    return [
        _state(one, longterm, ledger.delays.get(one.id))
        for one in sorted(longterm.promotions, key=lambda one: one.id)
        if one.group_id == group_id
    ]


def _state(promotion: Promotion, longterm: MemoryLongTerm, delay: Delay | None) -> PromotionState:
    chunks, valid_to = longterm.fate(promotion.id)
    return PromotionState(
        promotion=promotion,
        chunks=chunks,
        valid_to=valid_to,
        waiting=delay is not None,
        problem=None if delay is None else delay.problem,
    )
