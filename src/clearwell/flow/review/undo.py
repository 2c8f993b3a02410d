"""Undo any decision by a new one, which restores the previous state. Both stay on record."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from clearwell.errors import Conflict, NotFound
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.review.insights import build_decided_version, count_support, describe_status, load_insight
from clearwell.flow.review.validity import MemoryValidity
from clearwell.flow.tombstones.registry import TombstoneLifter
from clearwell.messages import Word
from clearwell.ports import Clock, DecisionTransaction, Ids
from clearwell.records import (
    Action,
    Decision,
    DecisionResult,
    Insight,
    InsightState,
    InsightStatus,
    MemoryState,
    Principal,
)
from clearwell.vocabulary import AuditAction

_OF_INSIGHTS = {Action.PROMOTE, Action.REJECT, Action.MERGE, Action.SNOOZE}


def find_undoable(decisions: Sequence[Decision], *, by: str) -> Decision | None:
    """The first decision of this person on an insight that changed something and was not undone."""
    undone = {decision.undoes for decision in decisions}
    own = (one for one in decisions if one.by == by and one.insight_id is not None)
    return next((one for one in own if one.action in _OF_INSIGHTS and one.id not in undone and not one.already), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChangedMemories:
    """The memory that an undo withdrew, and those that it restored."""

    withdrawn: UUID | None = None
    restored: Sequence[UUID] = ()


class DecisionUndo:
    """Undoes decisions in a transaction. It needs no preparation: everything it reads is in the transaction."""

    def __init__(self, validity: MemoryValidity, lifter: TombstoneLifter, clock: Clock, ids: Ids) -> None:
        self._validity = validity
        self._lifter = lifter
        self._clock = clock
        self._ids = ids
        self._audit_events = AuditEvents(clock, ids)

    async def apply_to_insight(
        self,
        transaction: DecisionTransaction,
        group_id: str,
        insight_id: UUID,
        *,
        by: Principal,
        version: int | None,
        reason: str | None,
    ) -> DecisionResult:
        """Undo the last decision on an insight that is in force."""
        insight = await load_insight(transaction, group_id, insight_id, version=version, now=self._clock.now())
        decision = await transaction.find_last_decision(insight_id)
        if decision is None:
            current = await describe_status(transaction, insight)
            raise Conflict("undo_nothing", current=current, id=insight_id)
        return await self._undo(transaction, decision, by=by, reason=reason)

    async def apply(
        self,
        transaction: DecisionTransaction,
        group_id: str,
        decision_id: UUID,
        *,
        by: Principal,
        reason: str | None,
        only: Action | None = None,
    ) -> DecisionResult:
        """Undo one decision of any kind. With ``only``, another kind is refused."""
        decision = await transaction.find_decision(decision_id)
        if decision is None:
            raise NotFound("decision_not_found", id=decision_id, group=group_id)
        if only not in (None, decision.action):
            raise Conflict("undo_of_another_kind", id=decision_id, was=Word(f"action_{decision.action}"))
        if decision.action is Action.UNDO:
            raise Conflict("undo_of_undo", id=decision_id)
        if await transaction.is_undone(decision_id):
            raise Conflict("undo_twice", id=decision_id)
        return await self._undo(transaction, decision, by=by, reason=reason)

    async def _undo(
        self, transaction: DecisionTransaction, decision: Decision, *, by: Principal, reason: str | None
    ) -> DecisionResult:
        now = self._clock.now()
        insight = await self._load_last_decided(transaction, decision)
        await _require_not_forgotten(transaction, decision, insight)
        await self._require_not_superseded(transaction, decision)
        undo = self._build_undo(decision, by, now, reason)
        detail = {"decision": str(undo.id), "was": decision.action.value}
        subject = f"decision {decision.id}"
        event = self._audit_events.make(AuditAction.UNDO, subject, undo.group_id, by=by.name, at=now, **detail)
        await transaction.record_decisions([(undo, event)])
        changed = await self._revert(transaction, decision, by, now)
        after = None if insight is None else await self._revert_insight(transaction, decision, insight, now)
        return DecisionResult(
            status="undone",
            id=decision.insight_id or decision.memory_id or decision.id,
            decision_id=undo.id,
            promotion_id=decision.promotion_id,
            tombstone_id=decision.tombstone_id,
            undone=decision.action,
            memories=tuple(changed.restored),
            withdrawn=changed.withdrawn,
            insight=None if after is None else InsightStatus.of(after),
        )

    def _build_undo(self, decision: Decision, by: Principal, now: datetime, reason: str | None) -> Decision:
        return Decision(
            id=self._ids.new(),
            group_id=decision.group_id,
            action=Action.UNDO,
            by=by.name,
            at=now,
            insight_id=decision.insight_id,
            promotion_id=decision.promotion_id,
            memory_id=decision.memory_id,
            tombstone_id=decision.tombstone_id,
            supersedes=decision.supersedes,
            others=decision.others,
            origin_id=decision.origin_id,
            undoes=decision.id,
            reason=reason,
        )

    async def _load_last_decided(self, transaction: DecisionTransaction, decision: Decision) -> Insight | None:
        """Read the insight of the decision. Raises if a later decision on it must be undone first."""
        if decision.insight_id is None:
            return None
        insight = (await transaction.find_insights([decision.insight_id]))[decision.insight_id]
        last = await transaction.find_last_decision(insight.id)
        if last is not None and last.id != decision.id:
            current = await describe_status(transaction, insight)
            raise Conflict("undo_later_first", current=current, id=insight.id, later=last.id)
        return insight

    async def _require_not_superseded(self, transaction: DecisionTransaction, decision: Decision) -> None:
        """Raise if the memory has been superseded since: what it had superseded must not come back next to that."""
        memory_id = decision.memory_id
        if decision.action is not Action.PROMOTE or decision.supersedes is None or memory_id is None:
            return
        later = (await transaction.find_superseding_decisions([memory_id])).get(memory_id)
        if later is not None:
            raise Conflict(
                "undo_superseding_first",
                current={"decision_id": str(later.id), "memory_id": str(later.memory_id)},
                id=memory_id,
                by=later.memory_id,
                later=later.id,
            )

    async def _revert(
        self, transaction: DecisionTransaction, decision: Decision, by: Principal, now: datetime
    ) -> _ChangedMemories:
        """Revert what the decision did to memories and tombstones."""
        match decision.action:
            case Action.PROMOTE:
                return await self._revert_promotion(transaction, decision, now)
            case Action.REJECT if decision.tombstone_id is not None:
                if not await _is_rejected_otherwise(transaction, decision.tombstone_id):
                    await self._lifter.lift(transaction, decision.tombstone_id, by=by.name, at=now)
            case Action.RETRACT:
                return _ChangedMemories(restored=await self._validity.restore(transaction, decision.others, now=now))
            case _:
                pass
        return _ChangedMemories()

    async def _revert_promotion(
        self, transaction: DecisionTransaction, decision: Decision, now: datetime
    ) -> _ChangedMemories:
        """Withdraw the memory unless another decision keeps it valid, and restore the one that it superseded."""
        await _clear_output_marks(transaction, decision)
        if decision.memory_id is None:
            return _ChangedMemories()
        withdrawn = await self._validity.withdraw(transaction, decision.memory_id, now=now)
        superseded = [] if decision.supersedes is None else [decision.supersedes]
        restored = await self._validity.restore(transaction, superseded, now=now)
        if withdrawn:
            restored += await self._validity.restore_duplicate(transaction, decision.memory_id, now=now)
        return _ChangedMemories(withdrawn=decision.memory_id if withdrawn else None, restored=restored)

    async def _revert_insight(
        self, transaction: DecisionTransaction, decision: Decision, insight: Insight, now: datetime
    ) -> Insight:
        if decision.action is Action.MERGE:
            return await _revert_merge(transaction, decision, insight, now)
        reverted = await build_decided_version(transaction, insight, now)
        if reverted.state not in (InsightState.PROMOTED, InsightState.REJECTED):
            await transaction.clear_judged(by=insight.id)
        await transaction.update_insight(reverted)
        return reverted


async def _require_not_forgotten(transaction: DecisionTransaction, decision: Decision, insight: Insight | None) -> None:
    """Raise if nothing is left of what was decided. Of several retracted memories, those that are left come back."""
    if insight is not None and not insight.summary:
        raise Conflict("undo_forgotten_insight", id=insight.id)
    retracted = decision.others if decision.action is Action.RETRACT else ()
    ids = [*retracted, *(() if decision.memory_id is None else (decision.memory_id,))]
    states = (await transaction.find_promotions(ids)).values() if ids else ()
    forgotten = [one.promotion.memory_id for one in states if one.state is MemoryState.FORGOTTEN]
    if forgotten and len(forgotten) == len(ids):
        raise Conflict("undo_forgotten", current={"memory_id": str(forgotten[0])}, id=forgotten[0])


async def _is_rejected_otherwise(transaction: DecisionTransaction, tombstone_id: UUID) -> bool:
    """Whether another rejection of the value is in force, of another insight or by a tombstone."""
    found = await transaction.find_rejecting_decisions(tombstone_id)
    return all(one.decision.already for one in found) or any(not one.undone for one in found)


async def _clear_output_marks(transaction: DecisionTransaction, decision: Decision) -> None:
    """Let digests show a promoted output again, unless another decision on it is in force."""
    if decision.insight_id is not None or decision.promotion_id is None:
        return
    for mark in (decision.id, decision.promotion_id):
        await transaction.clear_judged(by=mark)
    origin_id, memory_id = decision.origin_id, decision.memory_id
    if origin_id is None or memory_id is None:
        return
    for one in (await transaction.find_promoting_decisions([memory_id])).get(memory_id, ()):
        if one.decision.origin_id == origin_id and not one.undone:
            await transaction.mark_decided({origin_id: one.decision.id})
            return


async def _revert_merge(
    transaction: DecisionTransaction, decision: Decision, insight: Insight, now: datetime
) -> Insight:
    """Separate merged insights, each with its own sources and state, and the first with its old text."""
    await transaction.separate_sources(insight.id, decision.others)
    for other in (await transaction.find_insights(decision.others)).values():
        await transaction.update_insight(await build_decided_version(transaction, other, now))
    separated = (await transaction.find_insights([insight.id]))[insight.id]
    text = decision.text_before or separated.summary
    reverted = replace(
        await build_decided_version(transaction, separated, now),
        summary=text,
        written_by=decision.writer_before or separated.written_by,
        support=count_support(separated),
    )
    if decision.before is not None:
        before = decision.before
        reverted = replace(
            reverted,
            support=before.support,
            flags=before.flags,
            contradictions=before.contradictions,
            sides=before.sides,
        )
    if text != separated.summary:
        reverted = replace(reverted, embedding=None, embedding_model=None)
    await transaction.update_insight(reverted)
    return reverted
