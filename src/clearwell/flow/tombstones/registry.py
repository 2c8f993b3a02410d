"""The tombstones of a group: a person rejects a value so that it does not come back, or lifts a rejection."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from clearwell.errors import InvalidInput, NotFound
from clearwell.flow import limits
from clearwell.flow.access.gate import AccessGate
from clearwell.flow.access.permissions import require_reviewer
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.events.decisions import DecisionAnnouncer
from clearwell.flow.events.publisher import EventPublisher
from clearwell.flow.idempotency import StoredAnswer, claim_key
from clearwell.flow.promotion.copies import CopyFinder
from clearwell.flow.promotion.withdrawal import Withdrawal
from clearwell.flow.tombstones.rejection import RejectedValue, ValueRejection
from clearwell.offload import offload
from clearwell.ports import (
    Claim,
    Clock,
    DecisionStore,
    DecisionTransaction,
    Embedder,
    IdempotencyStore,
    Ids,
    TombstoneStore,
)
from clearwell.records import (
    DecisionResult,
    EventType,
    IdempotencyKey,
    Insight,
    Principal,
    Tombstone,
)
from clearwell.settings import Settings
from clearwell.text.normalisation import normalise
from clearwell.vocabulary import AuditAction, Flag


class TombstoneLifter:
    """Lifts tombstones, and releases waiting promotions and insights that were flagged as similar."""

    def __init__(self, embedder: Embedder, settings: Settings) -> None:
        self._embedder = embedder
        self._settings = settings

    async def lift(self, transaction: DecisionTransaction, tombstone_id: UUID, *, by: str, at: datetime) -> bool:
        """Lift a tombstone. Returns False if there is none that can be lifted, such as that of a forgotten value."""
        if not await transaction.lift_tombstone(tombstone_id, by=by, at=at):
            return False
        await transaction.retry_refused_promotions(at=at)
        for insight in await transaction.find_flagged_insights(Flag.NEAR_REJECTED):
            if not await self._is_near_rejected(transaction, insight):
                flags = tuple(flag for flag in insight.flags if flag != Flag.NEAR_REJECTED)
                await transaction.update_insight(replace(insight, flags=flags))
        return True

    async def _is_near_rejected(self, transaction: DecisionTransaction, insight: Insight) -> bool:
        """Whether an insight is similar to a value that is still rejected. Without a vector it keeps its flag."""
        if insight.embedding is None or insight.embedding_model is None:
            return True
        nearest = await transaction.find_nearest_tombstone(insight.embedding, insight.embedding_model)
        if nearest is None:
            return False
        _, cosine = nearest
        return self._embedder.similarity(cosine) >= self._settings.near_rejected_similarity


class TombstoneRegistry:
    """Adds, lifts and lists tombstones, for callers who may review or administer. Refusals are recorded."""

    def __init__(
        self,
        *,
        gate: AccessGate,
        tombstones: TombstoneStore,
        decisions: DecisionStore,
        lifter: TombstoneLifter,
        rejection: ValueRejection,
        copies: CopyFinder,
        withdrawal: Withdrawal,
        idempotency: IdempotencyStore,
        events: EventPublisher,
        announcer: DecisionAnnouncer,
        clock: Clock,
        ids: Ids,
        settings: Settings,
    ) -> None:
        self._gate = gate
        self._tombstones = tombstones
        self._decisions = decisions
        self._lifter = lifter
        self._rejection = rejection
        self._copies = copies
        self._withdrawal = withdrawal
        self._idempotency = idempotency
        self._events = events
        self._announcer = announcer
        self._clock = clock
        self._audit_events = AuditEvents(clock, ids)
        self._settings = settings

    async def add(
        self,
        group_id: str,
        value: str,
        *,
        reason: str,
        by: Principal,
        withdraw: bool = False,
        request: IdempotencyKey | None = None,
    ) -> DecisionResult:
        """Reject a value: it is refused at ingress, similar text is flagged, and entries with it are removed.

        The result has the id of the value's tombstone, which may have existed before, and in ``still_said`` the valid
        memories that say the value. With ``withdraw``, which only a person may ask for, they are withdrawn. Where
        working memory does not answer this raises; the rejection is in force all the same and can be repeated.
        """
        if withdraw:
            await self._gate.require_person(by, group_id, "add tombstone and withdraw")
        else:
            await self._gate.require_reviewer(by, group_id, "add tombstone")
        async with claim_key(self._idempotency, request) as claim:
            if isinstance(claim, StoredAnswer):
                return replace(DecisionResult.from_json(claim.value), replayed=True)
            tombstone_id = await self._reject(group_id, value, reason, by)
            entries = await self._copies.find_entries(group_id, [value])
            removed = await self._copies.remove_entries(group_id, entries, by=by)
            result = DecisionResult(
                status="rejected",
                id=tombstone_id,
                tombstone_id=tombstone_id,
                still_said=await self._copies.find_memories(group_id, [value]),
                removed=removed,
            )
            if withdraw and result.still_said:
                result = await self._withdraw(group_id, result, reason, by)
            if claim is not None:
                await self._idempotency.complete(claim, result.to_json())
            return result

    async def _withdraw(self, group_id: str, result: DecisionResult, reason: str, by: Principal) -> DecisionResult:
        """Withdraw the memories that say the rejected value."""
        async with self._decisions.transaction(group_id) as transaction:
            decision = await self._withdrawal.apply(transaction, group_id, result.still_said, reason=reason, by=by)
        self._announcer.announce_withdrawal(group_id, decision.id, result.still_said, by=by)
        return replace(result, memories=result.still_said, still_said=(), decision_id=decision.id)

    async def lift(
        self, group_id: str, tombstone_id: UUID, *, by: Principal, request: IdempotencyKey | None = None
    ) -> None:
        """Lift the tombstone of a rejected value. Raises NotFound if there is none, or the value was forgotten."""
        await self._gate.require_reviewer(by, group_id, f"lift tombstone {tombstone_id}")
        async with claim_key(self._idempotency, request) as claim:
            if not isinstance(claim, StoredAnswer):
                await self._lift(group_id, tombstone_id, by, claim)

    async def all(self, group_id: str, *, by: Principal) -> Sequence[Tombstone]:
        """Return all tombstones of a group, newest first."""
        require_reviewer(by, group_id)
        return await self._tombstones.all(group_id)

    async def _reject(self, group_id: str, value: str, reason: str, by: Principal) -> UUID:
        """Add the tombstone of a value; returns the id of the one that is in force."""
        limits.require_text(value, "value", max_bytes=self._settings.max_content_bytes)
        limits.require_nonblank_reason(reason)
        plain = await offload(len(value), normalise, value)
        if not plain:
            raise InvalidInput("text_blank", field="value")
        (prepared,) = await self._rejection.prepare(group_id, [RejectedValue(value=plain, text=value)])
        now = self._clock.now()
        async with self._decisions.transaction(group_id) as transaction:
            tombstone = await self._rejection.apply(transaction, group_id, prepared, reason=reason, by=by, at=now)
            if tombstone.is_new:
                subject = f"tombstone {tombstone.id}"
                event = self._audit_events.make(AuditAction.ADD_TOMBSTONE, subject, group_id, by=by.name, at=now)
                await transaction.record_event(event)
        if tombstone.is_new:
            self._events.publish(EventType.TOMBSTONE_ADDED, group_id, tombstone_id=str(tombstone.id), by=by.name)
        return tombstone.id

    async def _lift(self, group_id: str, tombstone_id: UUID, by: Principal, claim: Claim | None) -> None:
        event = self._audit_events.make(AuditAction.LIFT_TOMBSTONE, f"tombstone {tombstone_id}", group_id, by=by.name)
        async with self._decisions.transaction(group_id) as transaction:
            if not await self._lifter.lift(transaction, tombstone_id, by=by.name, at=event.at):
                raise NotFound("tombstone_not_found", id=tombstone_id, group=group_id)
            await transaction.record_event(event)
            if claim is not None:
                await transaction.store_answer(claim, True)
        self._events.publish(EventType.TOMBSTONE_LIFTED, group_id, tombstone_id=str(tombstone_id), by=by.name)
