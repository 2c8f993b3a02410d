"""Every decision can be taken back, by a new one. What it changed is as before; what happened stays on record."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from clearwell.errors import Conflict, NotFound
from clearwell.flow.audit import Audited
from clearwell.flow.promoter import Promoter
from clearwell.flow.review.standing import at_desk, changed, current, support_of
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


class Undoing:
    def __init__(self, promoter: Promoter, clock: Clock, ids: Ids) -> None:
        self._promoter = promoter
        self._clock = clock
        self._ids = ids
        self._audited = Audited(clock, ids)

    async def last(
        self, desk: Desk, group_id: str, insight_id: UUID, *, by: Principal, version: int | None, reason: str | None
    ) -> Decided:
        """Take back the last decision on an insight that still stands."""
        insight = await at_desk(desk, group_id, insight_id, version=version, now=self._clock.now())
        decision = await desk.standing(insight_id)
        if decision is None:
            raise Conflict("undo_nothing", current=await current(desk, insight), id=insight_id)
        return await self._undone(desk, decision, by=by, reason=reason)

    async def one(self, desk: Desk, group_id: str, decision_id: UUID, *, by: Principal, reason: str | None) -> Decided:
        """Take back one decision, whatever it was about."""
        decision = await desk.decision(decision_id)
        if decision is None:
            raise NotFound("decision_not_found", id=decision_id, group=group_id)
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
            undoes=decision.id,
            reason=reason,
        )
        detail = {"decision": str(undo.id), "was": decision.action.value}
        about = f"decision {decision.id}"
        await desk.record(undo, self._audited.event("undo", about, undo.group_id, by=by.name, at=now, **detail))
        after = await self._reverted(desk, decision, insight, by, now)
        return Decided(
            status="undone",
            id=decision.insight_id or decision.memory_id or decision.id,
            decision_id=undo.id,
            promotion_id=decision.promotion_id,
            tombstone_id=decision.tombstone_id,
            undone=decision.action,
            memories=decision.others if decision.action is Action.RETRACT else (),
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

    async def _reverted(
        self, desk: Desk, decision: Decision, insight: Insight | None, by: Principal, now: datetime
    ) -> Insight | None:
        match decision.action:
            case Action.PROMOTE:
                await self._take_back_memory(desk, decision, now)
                if decision.insight_id is None and decision.promotion_id is not None:
                    await desk.free(by=decision.promotion_id)
            case Action.REJECT if decision.tombstone_id is not None:
                await desk.lift(decision.tombstone_id, by=by.name, at=now)
            case Action.RETRACT:
                await self._bring_back(desk, decision.others)
            case _:
                pass
        if insight is None:
            return None
        if decision.action is Action.MERGE:
            return await self._separated(desk, decision, insight, now)
        await desk.free(by=insight.id)
        after = changed(insight, now, InsightState.PENDING)
        await desk.change(after)
        return after

    async def _take_back_memory(self, desk: Desk, decision: Decision, now: datetime) -> None:
        """The memory goes, unless another decision still holds it; what it superseded comes back."""
        if decision.memory_id is not None and not await self._held(desk, decision.memory_id, decision):
            await desk.withdraw([decision.memory_id], at=now)
        if decision.supersedes is not None:
            await self._bring_back(desk, [decision.supersedes])

    async def _held(self, desk: Desk, memory_id: UUID, undone: Decision | None = None) -> bool:
        """Whether a decision stands that this is knowledge. One from before decisions were recorded stands too."""
        found = await desk.promoted_by(memory_id)
        if all(decision.already for decision, _ in found):
            return True
        return any(not gone and (undone is None or decision.id != undone.id) for decision, gone in found)

    async def _bring_back(self, desk: Desk, memory_ids: Sequence[UUID]) -> None:
        """What nobody took back otherwise. A value that was refused in the meantime does not come back."""
        states = await desk.promotions(memory_ids)
        for memory_id, state in states.items():
            digests = await self._promoter.digests(state.promotion.group_id, state.promotion.text.content)
            tombstone = await desk.tombstone(digests)
            if tombstone is not None:
                raise Conflict("undo_tombstoned", id=memory_id, reason=tombstone.reason)
        held = [one for one in memory_ids if one in states and await self._held(desk, one)]
        if held:
            await desk.restore(held)

    async def _separated(self, desk: Desk, decision: Decision, insight: Insight, now: datetime) -> Insight:
        await desk.separate(insight.id, decision.others)
        for one in (await desk.insights(decision.others)).values():
            await desk.change(changed(one, now, InsightState.PENDING))
        alone = (await desk.insights([insight.id]))[insight.id]
        text = decision.text_before or alone.summary
        after = changed(alone, now, InsightState.PENDING, summary=text, support=support_of(alone))
        after = replace(after, written_by=decision.writer_before or alone.written_by)
        if text != alone.summary:
            after = replace(after, embedding=None, embedding_model=None)
        await desk.change(after)
        return after
