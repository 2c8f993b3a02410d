"""Every decision can be taken back, by a new one. What it changed is as before; what happened stays on record."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from clearwell.errors import Conflict, NotFound
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.promotion.lifting import TombstoneLifter
from clearwell.flow.promotion.promoter import Promoter
from clearwell.flow.review.holding import Holding
from clearwell.flow.review.standing import as_decided, current, load_insight, support_of
from clearwell.messages import Word
from clearwell.ports import Clock, DecisionTransaction, Ids
from clearwell.records import (
    Action,
    Decision,
    DecisionResult,
    Insight,
    InsightState,
    InsightStatus,
    Principal,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reverted:
    """What an undo did to memories."""

    withdrawn: UUID | None = None
    back: Sequence[UUID] = ()


class Undoing:
    def __init__(self, promoter: Promoter, lifting: TombstoneLifter, clock: Clock, ids: Ids) -> None:
        self._lifting = lifting
        self._holding = Holding(promoter)
        self._clock = clock
        self._ids = ids
        self._audit_events = AuditEvents(clock, ids)

    async def last(
        self,
        transaction: DecisionTransaction,
        group_id: str,
        insight_id: UUID,
        *,
        by: Principal,
        version: int | None,
        reason: str | None,
    ) -> DecisionResult:
        """Take back the last decision on an insight that still stands."""
        insight = await load_insight(transaction, group_id, insight_id, version=version, now=self._clock.now())
        decision = await transaction.find_last_decision(insight_id)
        if decision is None:
            raise Conflict("undo_nothing", current=await current(transaction, insight), id=insight_id)
        return await self._undone(transaction, decision, by=by, reason=reason)

    async def one(
        self,
        transaction: DecisionTransaction,
        group_id: str,
        decision_id: UUID,
        *,
        by: Principal,
        reason: str | None,
        only: Action | None = None,
    ) -> DecisionResult:
        """Take back one decision, whatever it was about; with ``only`` it must be one of that kind."""
        decision = await transaction.find_decision(decision_id)
        if decision is None:
            raise NotFound("decision_not_found", id=decision_id, group=group_id)
        if only not in (None, decision.action):
            raise Conflict("undo_of_another_kind", id=decision_id, was=Word(f"cli_action_{decision.action}"))
        if decision.action is Action.UNDO:
            raise Conflict("undo_of_undo", id=decision_id)
        if await transaction.is_undone(decision_id):
            raise Conflict("undo_twice", id=decision_id)
        return await self._undone(transaction, decision, by=by, reason=reason)

    async def _undone(
        self, transaction: DecisionTransaction, decision: Decision, *, by: Principal, reason: str | None
    ) -> DecisionResult:
        now = self._clock.now()
        insight = await self._insight(transaction, decision)
        await self._require_last_in_chain(transaction, decision)
        undo = Decision(
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
        detail = {"decision": str(undo.id), "was": decision.action.value}
        about = f"decision {decision.id}"
        await transaction.record_decision(
            undo, self._audit_events.make("undo", about, undo.group_id, by=by.name, at=now, **detail)
        )
        reverted = await self._reverted(transaction, decision, by, now)
        after = None if insight is None else await self._insight_after(transaction, decision, insight, now)
        return DecisionResult(
            status="undone",
            id=decision.insight_id or decision.memory_id or decision.id,
            decision_id=undo.id,
            promotion_id=decision.promotion_id,
            tombstone_id=decision.tombstone_id,
            undone=decision.action,
            memories=tuple(reverted.back),
            withdrawn=reverted.withdrawn,
            insight=None if after is None else InsightStatus.of(after),
        )

    async def _insight(self, transaction: DecisionTransaction, decision: Decision) -> Insight | None:
        """The insight that it was about. A later decision on it must be undone first."""
        if decision.insight_id is None:
            return None
        insight = (await transaction.find_insights([decision.insight_id]))[decision.insight_id]
        last = await transaction.find_last_decision(insight.id)
        if last is not None and last.id != decision.id:
            raise Conflict(
                "undo_later_first", current=await current(transaction, insight), id=insight.id, later=last.id
            )
        return insight

    async def _require_last_in_chain(self, transaction: DecisionTransaction, decision: Decision) -> None:
        """What a memory replaced must not come back beside what has replaced that memory since."""
        if decision.action is not Action.PROMOTE or decision.supersedes is None or decision.memory_id is None:
            return
        later = await transaction.find_superseding_decision(decision.memory_id)
        if later is not None:
            raise Conflict(
                "undo_superseding_first",
                current={"decision_id": str(later.id), "memory_id": str(later.memory_id)},
                id=decision.memory_id,
                by=later.memory_id,
                later=later.id,
            )

    async def _reverted(
        self, transaction: DecisionTransaction, decision: Decision, by: Principal, now: datetime
    ) -> _Reverted:
        match decision.action:
            case Action.PROMOTE:
                return await self._take_back_memory(transaction, decision, now)
            case Action.REJECT if decision.tombstone_id is not None:
                if not await _is_still_rejected(transaction, decision.tombstone_id):
                    await self._lifting.lift(transaction, decision.tombstone_id, by=by.name, at=now)
            case Action.RETRACT:
                return _Reverted(back=await self._holding.bring_back(transaction, decision.others, now=now))
            case _:
                pass
        return _Reverted()

    async def _take_back_memory(self, transaction: DecisionTransaction, decision: Decision, now: datetime) -> _Reverted:
        """The memory goes, unless another decision still holds it; what it superseded comes back."""
        await _free_output(transaction, decision)
        if decision.memory_id is None:
            return _Reverted()
        gone = await self._holding.let_go(transaction, decision.memory_id, now=now)
        replaced = [] if decision.supersedes is None else [decision.supersedes]
        back = await self._holding.bring_back(transaction, replaced, now=now)
        if gone:
            back += await self._holding.bring_back_alike(transaction, decision.memory_id, now=now)
        return _Reverted(withdrawn=decision.memory_id if gone else None, back=back)

    async def _insight_after(
        self, transaction: DecisionTransaction, decision: Decision, insight: Insight, now: datetime
    ) -> Insight:
        if decision.action is Action.MERGE:
            return await _separated(transaction, decision, insight, now)
        after = await as_decided(transaction, insight, now)
        if after.state not in (InsightState.PROMOTED, InsightState.REJECTED):
            await transaction.clear_judged(by=insight.id)
        await transaction.update_insight(after)
        return after


async def _is_still_rejected(transaction: DecisionTransaction, tombstone_id: UUID) -> bool:
    """Whether somebody else's rejection keeps the value out: of another insight, or by hand."""
    found = await transaction.find_rejecting_decisions(tombstone_id)
    return all(decision.already for decision, _ in found) or any(not undone for _, undone in found)


async def _free_output(transaction: DecisionTransaction, decision: Decision) -> None:
    """An output that was promoted is free again, unless somebody else's decision on it stands."""
    if decision.insight_id is not None or decision.promotion_id is None:
        return
    for mark in (decision.id, decision.promotion_id):
        await transaction.clear_judged(by=mark)
    if decision.origin_id is None or decision.memory_id is None:
        return
    for other, undone in await transaction.find_promoting_decisions(decision.memory_id):
        if other.origin_id == decision.origin_id and not undone:
            await transaction.mark_judged([decision.origin_id], by=other.id)
            return


async def _separated(transaction: DecisionTransaction, decision: Decision, insight: Insight, now: datetime) -> Insight:
    await transaction.separate_sources(insight.id, decision.others)
    for one in (await transaction.find_insights(decision.others)).values():
        await transaction.update_insight(await as_decided(transaction, one, now))
    alone = (await transaction.find_insights([insight.id]))[insight.id]
    text = decision.text_before or alone.summary
    after = replace(
        await as_decided(transaction, alone, now),
        summary=text,
        written_by=decision.writer_before or alone.written_by,
        support=support_of(alone),
    )
    if decision.before is not None:
        before = decision.before
        after = replace(after, support=before.support, flags=before.flags, contradictions=before.contradictions)
    if text != alone.summary:
        after = replace(after, embedding=None, embedding_model=None)
    await transaction.update_insight(after)
    return after
