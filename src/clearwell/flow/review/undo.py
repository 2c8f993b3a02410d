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
from clearwell.flow.review.standing import as_decided, at_desk, current, support_of
from clearwell.messages import Word
from clearwell.ports import Clock, Desk, Ids
from clearwell.records import (
    Action,
    Decided,
    Decision,
    Insight,
    InsightState,
    Principal,
    Standing,
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
        self, desk: Desk, group_id: str, insight_id: UUID, *, by: Principal, version: int | None, reason: str | None
    ) -> Decided:
        """Take back the last decision on an insight that still stands."""
        insight = await at_desk(desk, group_id, insight_id, version=version, now=self._clock.now())
        decision = await desk.standing(insight_id)
        if decision is None:
            raise Conflict("undo_nothing", current=await current(desk, insight), id=insight_id)
        return await self._undone(desk, decision, by=by, reason=reason)

    async def one(
        self,
        desk: Desk,
        group_id: str,
        decision_id: UUID,
        *,
        by: Principal,
        reason: str | None,
        only: Action | None = None,
    ) -> Decided:
        """Take back one decision, whatever it was about; with ``only`` it must be one of that kind."""
        decision = await desk.decision(decision_id)
        if decision is None:
            raise NotFound("decision_not_found", id=decision_id, group=group_id)
        if only not in (None, decision.action):
            raise Conflict("undo_of_another_kind", id=decision_id, was=Word(f"cli_action_{decision.action}"))
        if decision.action is Action.UNDO:
            raise Conflict("undo_of_undo", id=decision_id)
        if await desk.is_undone(decision_id):
            raise Conflict("undo_twice", id=decision_id)
        return await self._undone(desk, decision, by=by, reason=reason)

    async def _undone(self, desk: Desk, decision: Decision, *, by: Principal, reason: str | None) -> Decided:
        now = self._clock.now()
        insight = await self._insight(desk, decision)
        await self._require_last_in_chain(desk, decision)
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
        await desk.record(undo, self._audit_events.event("undo", about, undo.group_id, by=by.name, at=now, **detail))
        reverted = await self._reverted(desk, decision, by, now)
        after = None if insight is None else await self._insight_after(desk, decision, insight, now)
        return Decided(
            status="undone",
            id=decision.insight_id or decision.memory_id or decision.id,
            decision_id=undo.id,
            promotion_id=decision.promotion_id,
            tombstone_id=decision.tombstone_id,
            undone=decision.action,
            memories=tuple(reverted.back),
            withdrawn=reverted.withdrawn,
            insight=None if after is None else Standing.of(after),
        )

    async def _insight(self, desk: Desk, decision: Decision) -> Insight | None:
        """The insight that it was about. A later decision on it must be undone first."""
        if decision.insight_id is None:
            return None
        insight = (await desk.insights([decision.insight_id]))[decision.insight_id]
        last = await desk.standing(insight.id)
        if last is not None and last.id != decision.id:
            raise Conflict("undo_later_first", current=await current(desk, insight), id=insight.id, later=last.id)
        return insight

    async def _require_last_in_chain(self, desk: Desk, decision: Decision) -> None:
        """What a memory replaced must not come back beside what has replaced that memory since."""
        if decision.action is not Action.PROMOTE or decision.supersedes is None or decision.memory_id is None:
            return
        later = await desk.superseded_by(decision.memory_id)
        if later is not None:
            raise Conflict(
                "undo_superseding_first",
                current={"decision_id": str(later.id), "memory_id": str(later.memory_id)},
                id=decision.memory_id,
                by=later.memory_id,
                later=later.id,
            )

    async def _reverted(self, desk: Desk, decision: Decision, by: Principal, now: datetime) -> _Reverted:
        match decision.action:
            case Action.PROMOTE:
                return await self._take_back_memory(desk, decision, now)
            case Action.REJECT if decision.tombstone_id is not None:
                if not await _is_still_rejected(desk, decision.tombstone_id):
                    await self._lifting.lift(desk, decision.tombstone_id, by=by.name, at=now)
            case Action.RETRACT:
                return _Reverted(back=await self._holding.bring_back(desk, decision.others, now=now))
            case _:
                pass
        return _Reverted()

    async def _take_back_memory(self, desk: Desk, decision: Decision, now: datetime) -> _Reverted:
        """The memory goes, unless another decision still holds it; what it superseded comes back."""
        await _free_output(desk, decision)
        if decision.memory_id is None:
            return _Reverted()
        gone = await self._holding.let_go(desk, decision.memory_id, now=now)
        replaced = [] if decision.supersedes is None else [decision.supersedes]
        back = await self._holding.bring_back(desk, replaced, now=now)
        if gone:
            back += await self._holding.bring_back_alike(desk, decision.memory_id, now=now)
        return _Reverted(withdrawn=decision.memory_id if gone else None, back=back)

    async def _insight_after(self, desk: Desk, decision: Decision, insight: Insight, now: datetime) -> Insight:
        if decision.action is Action.MERGE:
            return await _separated(desk, decision, insight, now)
        after = await as_decided(desk, insight, now)
        if after.state not in (InsightState.PROMOTED, InsightState.REJECTED):
            await desk.free(by=insight.id)
        await desk.change(after)
        return after


async def _is_still_rejected(desk: Desk, tombstone_id: UUID) -> bool:
    """Whether somebody else's rejection keeps the value out: of another insight, or by hand."""
    found = await desk.rejected_by(tombstone_id)
    return all(decision.already for decision, _ in found) or any(not undone for _, undone in found)


async def _free_output(desk: Desk, decision: Decision) -> None:
    """An output that was promoted is free again, unless somebody else's decision on it stands."""
    if decision.insight_id is not None or decision.promotion_id is None:
        return
    for mark in (decision.id, decision.promotion_id):
        await desk.free(by=mark)
    if decision.origin_id is None or decision.memory_id is None:
        return
    for other, undone in await desk.promoted_by(decision.memory_id):
        if other.origin_id == decision.origin_id and not undone:
            await desk.judge([decision.origin_id], by=other.id)
            return


async def _separated(desk: Desk, decision: Decision, insight: Insight, now: datetime) -> Insight:
    await desk.separate(insight.id, decision.others)
    for one in (await desk.insights(decision.others)).values():
        await desk.change(await as_decided(desk, one, now))
    alone = (await desk.insights([insight.id]))[insight.id]
    text = decision.text_before or alone.summary
    after = replace(
        await as_decided(desk, alone, now),
        summary=text,
        written_by=decision.writer_before or alone.written_by,
        support=support_of(alone),
    )
    if decision.before is not None:
        before = decision.before
        after = replace(after, support=before.support, flags=before.flags, contradictions=before.contradictions)
    if text != alone.summary:
        after = replace(after, embedding=None, embedding_model=None)
    await desk.change(after)
    return after
