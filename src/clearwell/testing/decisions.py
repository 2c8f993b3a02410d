"""The twin of the decision store, over the twins of the ledger, long-term memory and tombstones."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from clearwell.errors import Unauthenticated
from clearwell.ports import (
    PROMOTION_BACK_OFF,
    TOMBSTONED,
    Claim,
    Clock,
    DecisionTransaction,
    PromotionKey,
    RecordedDecision,
    WaitingPromotion,
)
from clearwell.records import (
    Action,
    AuditEvent,
    Decision,
    Insight,
    Json,
    Memory,
    Promotion,
    PromotionState,
    Tombstone,
    Vector,
)
from clearwell.testing.access import MemoryIdempotency, MemoryKeys
from clearwell.testing.ledger import Delay, MemoryLedger
from clearwell.testing.longterm import MemoryLongTerm, MemoryTombstones
from clearwell.testing.simple import has_come
from clearwell.vocabulary import ENDED


class MemoryDecisions:
    """Decisions over twins. A transaction that fails leaves them as they were."""

    def __init__(
        self,
        ledger: MemoryLedger,
        longterm: MemoryLongTerm,
        tombstones: MemoryTombstones,
        idempotency: MemoryIdempotency,
        keys: MemoryKeys,
        clock: Clock,
    ) -> None:
        self._ledger = ledger
        self._longterm = longterm
        self._tombstones = tombstones
        self._idempotency = idempotency
        self._keys = keys
        self._clock = clock
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.events: list[AuditEvent] = []

    @asynccontextmanager
    async def transaction(self, group_id: str) -> AsyncIterator[DecisionTransaction]:
        async with self._locks[group_id]:
            ledger, longterm, tombstones = self._ledger.state(), self._longterm.state(), self._tombstones.state()
            transaction = MemoryDecisionTransaction(
                group_id, self._ledger, self._longterm, self._tombstones, self._idempotency, self._keys
            )
            try:
                yield transaction
            except BaseException:
                self._ledger.reset(ledger)
                self._longterm.reset(longterm)
                self._tombstones.reset(tombstones)
                raise
            self.events += transaction.events

    async def list_waiting(self, *, limit: int) -> Sequence[WaitingPromotion]:
        now = self._clock.now()
        due = sorted(
            (delay.until, delay.group_id, promotion_id)
            for promotion_id, delay in self._ledger.delays.items()
            if has_come(delay.until, now)
        )
        return [
            WaitingPromotion(group_id=group_id, promotion_id=promotion_id) for _, group_id, promotion_id in due[:limit]
        ]

    async def read_waiting(self, waiting: WaitingPromotion) -> Promotion | None:
        if waiting.promotion_id not in self._ledger.delays:
            return None
        return next(one for one in self._longterm.promotions if one.id == waiting.promotion_id)

    async def complete_waiting(
        self,
        waiting: WaitingPromotion,
        chunks: Sequence[Memory],
        *,
        value_hashes: Sequence[bytes],
        conflicts_with: Sequence[UUID] = (),
        event: AuditEvent,
    ) -> bool:
        if self._tombstones.find_in_force(waiting.group_id, value_hashes):
            return False
        if self._ledger.delays.pop(waiting.promotion_id, None) is None:
            return False
        replaced = {
            decision.supersedes
            for decision in self._ledger.list_in_force(waiting.group_id)
            if decision.promotion_id == waiting.promotion_id and decision.supersedes != decision.memory_id
        }
        self._longterm.withdraw(waiting.group_id, [one for one in replaced if one is not None], event.at)
        for promotion in self._longterm.promotions:
            if promotion.group_id == waiting.group_id and promotion.memory_id in replaced:
                self._ledger.delays.pop(promotion.id, None)
        self._longterm.extend(chunks)
        self._longterm.contradict(waiting.group_id, [(chunks[0].id, other) for other in conflicts_with])
        self.events.append(event)
        return True

    async def postpone_waiting(self, waiting: WaitingPromotion, *, problem: str) -> None:
        attempts = self._ledger.delays[waiting.promotion_id].attempts + 1
        until = self._clock.now() + PROMOTION_BACK_OFF.after(attempts)
        self._ledger.delays[waiting.promotion_id] = Delay(waiting.group_id, until, attempts, problem)


class MemoryDecisionTransaction:
    def __init__(
        self,
        group_id: str,
        ledger: MemoryLedger,
        longterm: MemoryLongTerm,
        tombstones: MemoryTombstones,
        idempotency: MemoryIdempotency,
        keys: MemoryKeys,
    ) -> None:
        self._group_id = group_id
        self._ledger = ledger
        self._longterm = longterm
        self._tombstones = tombstones
        self._idempotency = idempotency
        self._keys = keys
        self.events: list[AuditEvent] = []

    # insights

    async def find_insights(self, ids: Sequence[UUID]) -> Mapping[UUID, Insight]:
        found = {one: self._ledger.get(self._group_id, one) for one in ids}
        return {one: insight for one, insight in found.items() if insight is not None}

    async def find_flagged_insights(self, flag: str) -> Sequence[Insight]:
        return [one for one in self._ledger.list_insights(self._group_id) if flag in one.flags]

    async def update_insight(self, insight: Insight) -> None:
        self._ledger.update_insight(insight)

    async def merge_sources(self, insight_id: UUID, others: Sequence[UUID]) -> None:
        self._ledger.merge_sources(insight_id, others)

    async def separate_sources(self, insight_id: UUID, others: Sequence[UUID]) -> None:
        self._ledger.separate_sources(insight_id, others)

    async def mark_decided(self, marks: Mapping[UUID, UUID]) -> None:
        for log_id, by in marks.items():
            self._ledger.mark_decided(self._group_id, log_id, by=by)

    async def clear_judged(self, *, by: UUID) -> None:
        self._ledger.clear_judged(self._group_id, by=by)

    # decisions

    async def find_decision(self, decision_id: UUID) -> Decision | None:
        return next((one for one in self._ledger.decisions(self._group_id) if one.id == decision_id), None)

    async def find_last_decision(self, insight_id: UUID) -> Decision | None:
        newest = reversed(self._ledger.list_in_force(self._group_id))
        return next((one for one in newest if one.insight_id == insight_id or insight_id in one.others), None)

    async def is_undone(self, decision_id: UUID) -> bool:
        return any(one.undoes == decision_id for one in self._ledger.decisions(self._group_id))

    async def find_promoting_decisions(self, memory_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[RecordedDecision]]:
        found: dict[UUID, list[RecordedDecision]] = {}
        for one in self._ledger.decisions(self._group_id):
            if one.memory_id is not None and one.memory_id in memory_ids and one.action is Action.PROMOTE:
                found.setdefault(one.memory_id, []).append(RecordedDecision(one, await self.is_undone(one.id)))
        return found

    async def find_superseding_decisions(self, memory_ids: Sequence[UUID]) -> Mapping[UUID, Decision]:
        return {
            one.supersedes: one
            for one in self._ledger.list_in_force(self._group_id)
            if one.action is Action.PROMOTE and one.supersedes is not None and one.supersedes in memory_ids
        }

    async def find_retracting_decision(self, memory_id: UUID) -> Decision | None:
        newest = reversed(self._ledger.list_in_force(self._group_id))
        return next((one for one in newest if one.action is Action.RETRACT and memory_id in one.others), None)

    async def find_rejecting_decisions(self, tombstone_id: UUID) -> Sequence[RecordedDecision]:
        return [
            RecordedDecision(one, await self.is_undone(one.id))
            for one in self._ledger.decisions(self._group_id)
            if one.tombstone_id == tombstone_id and one.action is Action.REJECT
        ]

    async def record_decisions(self, decisions: Sequence[tuple[Decision, AuditEvent]]) -> None:
        revoked = {key.holder for key in self._keys.list_revoked()}
        if any(decision.by in revoked for decision, _ in decisions):
            raise Unauthenticated("key_revoked")
        for decision, event in decisions:
            self.events.append(event)
            self._ledger.record(decision)

    async def record_event(self, event: AuditEvent) -> None:
        self.events.append(event)

    # promotions and long-term memory

    async def find_promotions(self, memory_ids: Sequence[UUID]) -> Mapping[UUID, PromotionState]:
        states = promotion_states(self._group_id, self._longterm, self._ledger)
        return {one.promotion.memory_id: one for one in states if one.promotion.memory_id in memory_ids}

    async def find_duplicates(self, keys: Sequence[PromotionKey]) -> Mapping[PromotionKey, PromotionState]:
        found: dict[PromotionKey, PromotionState] = {}
        for key in keys:
            valid = [one for one in await self.list_duplicates(key) if one.state not in ENDED]
            own = [one for one in valid if self._comes_from(one.promotion, key.origin_id)]
            if valid:
                found[key] = (own or valid)[0]
        return found

    async def list_duplicates(self, key: PromotionKey) -> Sequence[PromotionState]:
        return [
            state
            for state in promotion_states(self._group_id, self._longterm, self._ledger)
            if state.promotion.fingerprint == key.fingerprint or self._comes_from(state.promotion, key.origin_id)
        ]

    def _comes_from(self, promotion: Promotion, origin_id: UUID | None) -> bool:
        by_decision = {
            one.origin_id for one in self._ledger.list_in_force(self._group_id) if one.promotion_id == promotion.id
        }
        return origin_id is not None and origin_id in {promotion.text.origin_id, *by_decision}

    async def insert_promotions(self, promotions: Sequence[tuple[Promotion, Sequence[Memory] | None]]) -> None:
        for promotion, chunks in promotions:
            self._longterm.promotions.append(promotion)
            if chunks is None:
                self._ledger.delays[promotion.id] = Delay(self._group_id, promotion.decided_at)
            else:
                self._longterm.extend(chunks)

    async def insert_conflicts(self, pairs: Sequence[tuple[UUID, UUID]], *, at: datetime) -> None:  # noqa: ARG002
        self._longterm.contradict(self._group_id, pairs)

    async def withdraw_memories(self, memory_ids: Sequence[UUID], *, at: datetime) -> None:
        self._longterm.withdraw(self._group_id, memory_ids, at)
        for state in (await self.find_promotions(memory_ids)).values():
            self._ledger.delays.pop(state.promotion.id, None)

    async def restore_memories(self, memory_ids: Sequence[UUID], *, at: datetime) -> None:
        self._longterm.restore(self._group_id, memory_ids, at)
        for state in (await self.find_promotions(memory_ids)).values():
            if not state.chunks:
                self._ledger.delays.setdefault(state.promotion.id, Delay(self._group_id, at))

    async def retry_refused_promotions(self, *, at: datetime) -> None:
        for promotion_id, delay in list(self._ledger.delays.items()):
            if delay.group_id == self._group_id and delay.problem == TOMBSTONED:
                self._ledger.delays[promotion_id] = replace(delay, until=at)

    # tombstones

    async def find_tombstones(self, value_hashes: Sequence[bytes]) -> Mapping[bytes, Tombstone]:
        return self._tombstones.find_in_force(self._group_id, value_hashes)

    async def find_nearest_tombstone(self, embedding: Vector, model: str) -> tuple[Tombstone, float] | None:
        return (await self._tombstones.look_up(self._group_id, [], embeddings=[embedding], model=model))[1]

    async def insert_tombstone(
        self, tombstone: Tombstone, value_hash: bytes, *, embedding: Vector | None, model: str | None
    ) -> bool:
        return self._tombstones.put(tombstone, value_hash, embedding, model)

    async def lift_tombstone(self, tombstone_id: UUID, *, by: str, at: datetime) -> bool:
        return self._tombstones.lift(self._group_id, tombstone_id, by=by, at=at)

    # idempotency

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
