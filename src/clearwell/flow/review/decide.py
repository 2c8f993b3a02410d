"""What a person decides on an insight: promote, reject, merge, snooze. Each is one transaction at the group's desk."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeAlias
from uuid import UUID

from clearwell.errors import ClearwellError, Conflict, EmbedderUnavailable, InvalidInput, NotFound
from clearwell.flow import limits
from clearwell.flow.known import Knowledge
from clearwell.flow.normal import normalised, values_of
from clearwell.flow.policies import said_by
from clearwell.flow.promoter import Plan, Promoter, Wording
from clearwell.flow.review.standing import at_desk, awake, changed, require_open, state_word, support_of
from clearwell.flow.tombstones import REASON_BYTES
from clearwell.ports import Clock, DecisionStore, Desk, Embedder, Ids, ReviewStore
from clearwell.records import (
    Action,
    AuditEvent,
    Decided,
    Decision,
    Insight,
    InsightState,
    NewMemory,
    Origin,
    Principal,
    Promoted,
    Standing,
    Tombstone,
    TombstoneKind,
    Vector,
    Writer,
)
from clearwell.settings import Settings

Step: TypeAlias = Callable[[Desk], Awaitable[Decided]]
Keep: TypeAlias = Callable[[Desk, Decided], Awaitable[None]]
MOST_MERGED = 50
LONGEST_SNOOZE = timedelta(days=3650)
TRIES = 3
QUOTED = "insight\x1f"
"""No normalised text has this character: what begins so is no value that anybody can say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to do with one insight. Which fields count depends on the action."""

    action: Action
    id: UUID
    version: int | None = None
    text: str | None = None
    agent_id: str | None = None
    supersedes: UUID | None = None
    reason: str | None = None
    others: tuple[UUID, ...] = ()
    until: datetime | None = None
    days: float | None = None


class _Moved(Exception):
    """The text changed between being read and being decided on."""


class Deciding:
    """Prepares a decision, so that what is done at the desk takes no time."""

    def __init__(
        self,
        decisions: DecisionStore,
        reviewed: ReviewStore,
        promoter: Promoter,
        knowledge: Knowledge,
        embedder: Embedder,
        clock: Clock,
        ids: Ids,
        settings: Settings,
    ) -> None:
        self._decisions = decisions
        self._reviewed = reviewed
        self._promoter = promoter
        self._knowledge = knowledge
        self._embedder = embedder
        self._clock = clock
        self._ids = ids
        self._settings = settings

    async def prepared(self, group_id: str, wanted: Wanted, *, by: Principal) -> Step:
        """The step that is left to be taken at the desk."""
        match wanted.action:
            case Action.PROMOTE:
                return await self._promote(group_id, wanted, by)
            case Action.REJECT:
                return await self._reject(group_id, wanted, by)
            case Action.MERGE:
                return self._merge(group_id, wanted, by)
            case Action.SNOOZE:
                return self._snooze(group_id, wanted, by)
            case _:
                raise InvalidInput("action_unknown", field="action", limit="promote, reject, merge, snooze, undo")

    async def decided(self, group_id: str, wanted: Wanted, *, by: Principal, keep: Keep) -> Decided:
        """Decide. ``keep`` stores the answer in the same transaction."""
        for _ in range(TRIES):
            step = await self.prepared(group_id, wanted, by=by)
            try:
                async with self._decisions.open(group_id) as desk:
                    done = await step(desk)
                    await keep(desk, done)
                    return done
            except _Moved:
                continue
        raise Conflict("insight_moving", id=wanted.id)

    # promote

    async def _promote(self, group_id: str, wanted: Wanted, by: Principal) -> Step:
        insight = await self._read(group_id, wanted.id)
        text = insight.summary if wanted.text is None else self._text(wanted.text)
        (plan,) = await self._promoter.planned(group_id, [self._memory(insight, text, wanted)])

        async def step(desk: Desk) -> Decided:
            now = self._clock.now()
            found = await at_desk(desk, group_id, wanted.id, version=wanted.version, now=now)
            if found.state is InsightState.PROMOTED:
                return await self._promoted_before(desk, found, plan, edited=wanted.text is not None)
            await require_open(desk, found)
            if wanted.text is None and found.summary != insight.summary:
                raise _Moved
            edited = text != found.summary
            wording = Wording(
                insight_id=found.id, before=found.summary if edited else None, after=text if edited else None
            )
            (result,) = await self._promoter.write(desk, group_id, [plan], by=by, wording=wording)
            if isinstance(result, ClearwellError):
                raise result
            after = changed(found, now, InsightState.PROMOTED)
            await desk.change(after)
            await desk.judge([one.log_id for one in found.sources], by=found.id)
            return _promoted(result, after, plan)

        return step

    def _memory(self, insight: Insight, text: str, wanted: Wanted) -> NewMemory:
        agents = {one.agent_id for one in insight.sources}
        return NewMemory(
            content=text,
            author=next(iter(agents)) if len(agents) == 1 else None,
            occurred_at=max((one.occurred_at for one in insight.sources), default=None),
            agent_id=limits.require_id(wanted.agent_id, "agent_id"),
            metadata=said_by(one.node_type for one in insight.sources),
            origin=Origin.INSIGHT,
            origin_id=insight.id,
            supersedes=wanted.supersedes,
        )

    async def _promoted_before(self, desk: Desk, insight: Insight, plan: Plan, *, edited: bool) -> Decided:
        """The same decision again is the same answer. Another text is another decision: undo first."""
        last = await desk.standing(insight.id)
        if last is None or last.memory_id is None:
            await require_open(desk, insight)
            raise Conflict("insight_decided", id=insight.id, state=state_word(insight))
        state = (await desk.promotions([last.memory_id])).get(last.memory_id)
        if state is None or state.state == "withdrawn":
            raise Conflict("promoted_withdrawn", current={"memory_id": str(last.memory_id)}, id=insight.id)
        if edited and normalised(plan.text.content) != normalised(state.promotion.text.content):
            await require_open(desk, insight)
        return Decided(
            status="promoting" if state.waiting else "promoted",
            id=last.memory_id,
            decision_id=last.id,
            promotion_id=state.promotion.id,
            chunks=state.chunks,
            already=True,
            insight=Standing.of(insight),
        )

    # reject

    async def _reject(self, group_id: str, wanted: Wanted, by: Principal) -> Step:
        reason = limits.require_text(wanted.reason or "", "reason", max_bytes=REASON_BYTES)
        insight = await self._read(group_id, wanted.id)
        digest = await self._knowledge.digest(group_id, _rejected_value(insight))
        vector = await self.vector_of(insight)

        async def step(desk: Desk) -> Decided:
            now = self._clock.now()
            found = await at_desk(desk, group_id, wanted.id, version=wanted.version, now=now)
            if found.state is InsightState.REJECTED:
                last = await desk.standing(found.id)
                return Decided(
                    status="rejected",
                    id=found.id,
                    decision_id=None if last is None else last.id,
                    tombstone_id=None if last is None else last.tombstone_id,
                    already=True,
                    insight=Standing.of(found),
                )
            await require_open(desk, found)
            if found.summary != insight.summary:
                raise _Moved
            tombstone = Tombstone(
                id=self._ids.new(),
                group_id=group_id,
                kind=TombstoneKind.REJECTED,
                reason=reason,
                made_by=by.name,
                made_at=now,
            )
            made = await desk.reject(tombstone, digest, embedding=vector, model=self._embedder.model)
            after = changed(found, now, InsightState.REJECTED)
            await desk.change(after)
            await desk.judge([one.log_id for one in found.sources], by=found.id)
            decision = self._decision(Action.REJECT, found, by, now, reason=reason, tombstone_id=made)
            await desk.record(decision, self.event(decision))
            return Decided(
                status="rejected",
                id=found.id,
                decision_id=decision.id,
                tombstone_id=made,
                insight=Standing.of(after),
            )

        return step

    async def vector_of(self, insight: Insight) -> Vector | None:
        """The vector of its words; None where the model does not answer."""
        if insight.embedding is not None and insight.embedding_model == self._embedder.model:
            return insight.embedding
        try:
            (vector,) = await self._embedder.embed([insight.summary])
        except EmbedderUnavailable:
            return None
        return vector

    # merge

    def _merge(self, group_id: str, wanted: Wanted, by: Principal) -> Step:
        others = tuple(dict.fromkeys(one for one in wanted.others if one != wanted.id))
        if not 1 <= len(others) <= MOST_MERGED:
            raise InvalidInput("merge_with_whom", field="with", limit=MOST_MERGED)
        text = None if wanted.text is None else self._text(wanted.text)

        async def step(desk: Desk) -> Decided:
            now = self._clock.now()
            found = await at_desk(desk, group_id, wanted.id, version=wanted.version, now=now)
            await require_open(desk, found)
            gone = [await self._open_other(desk, group_id, one, now) for one in others]
            await desk.unite(found.id, others)
            for one in gone:
                await desk.change(changed(one, now, InsightState.MERGED, merged_into=found.id))
            united = (await desk.insights([found.id]))[found.id]
            summary = text or _united(found, gone)
            writer = found.written_by if text is None else Writer.PERSON
            after = changed(united, now, InsightState.PENDING, summary=summary, written_by=writer)
            flags = tuple(dict.fromkeys(flag for one in (found, *gone) for flag in one.flags))
            after = replace(after, support=support_of(united), flags=flags)
            if summary != found.summary:
                after = replace(after, embedding=None, embedding_model=None)
            await desk.change(after)
            decision = self._decision(
                Action.MERGE,
                found,
                by,
                now,
                others=others,
                text_before=found.summary,
                text_after=summary,
                writer_before=found.written_by,
            )
            await desk.record(decision, self.event(decision))
            return Decided(status="merged", id=found.id, decision_id=decision.id, insight=Standing.of(after))

        return step

    async def _open_other(self, desk: Desk, group_id: str, other: UUID, now: datetime) -> Insight:
        insight = await at_desk(desk, group_id, other, version=None, now=now)
        await require_open(desk, insight)
        return insight

    # snooze

    def _snooze(self, group_id: str, wanted: Wanted, by: Principal) -> Step:
        until = self._until(wanted)

        async def step(desk: Desk) -> Decided:
            now = self._clock.now()
            found = await at_desk(desk, group_id, wanted.id, version=wanted.version, now=now)
            await require_open(desk, found)
            after = changed(found, now, InsightState.SNOOZED, snoozed_until=until)
            await desk.change(after)
            decision = self._decision(Action.SNOOZE, found, by, now, until=until, reason=wanted.reason)
            await desk.record(decision, self.event(decision))
            return Decided(status="snoozed", id=found.id, decision_id=decision.id, insight=Standing.of(after))

        return step

    def _until(self, wanted: Wanted) -> datetime:
        now = self._clock.now()
        until = limits.require_moment(wanted.until, "until")
        if until is None:
            days = 7.0 if wanted.days is None else wanted.days
            if not 0 < days <= LONGEST_SNOOZE.days:
                raise InvalidInput("snooze_days", field="days", limit=LONGEST_SNOOZE.days)
            until = now + timedelta(days=days)
        if not now < until <= now + LONGEST_SNOOZE:
            raise InvalidInput("snooze_until", field="until", limit=LONGEST_SNOOZE.days)
        return until

    # parts

    async def _read(self, group_id: str, insight_id: UUID) -> Insight:
        found = await self._reviewed.insight(group_id, insight_id)
        if found is None:
            raise NotFound("insight_not_found", id=insight_id, group=group_id)
        return awake(found, self._clock.now())

    def _text(self, text: str) -> str:
        return limits.require_text(text, "text", max_bytes=self._settings.max_content_bytes)

    def _decision(self, action: Action, insight: Insight, by: Principal, now: datetime, **more: object) -> Decision:
        return Decision(
            id=self._ids.new(),
            group_id=insight.group_id,
            action=action,
            by=by.name,
            at=now,
            insight_id=insight.id,
            **more,  # type: ignore[arg-type]
        )

    def event(self, decision: Decision) -> AuditEvent:
        about = f"insight {decision.insight_id}" if decision.insight_id else f"decision {decision.undoes}"
        return AuditEvent(
            id=self._ids.new(),
            group_id=decision.group_id,
            at=decision.at,
            actor=decision.by,
            action=f"{decision.action} insight" if decision.insight_id else decision.action.value,
            subject=about,
            detail={"decision": str(decision.id), "others": [str(one) for one in decision.others]},
        )


def _promoted(result: Promoted, after: Insight, plan: Plan) -> Decided:
    superseded = plan.text.supersedes
    return Decided(
        status="promoting" if result.waiting else "promoted",
        id=result.id,
        decision_id=result.decision_id,
        promotion_id=result.promotion_id,
        superseded=None if superseded == result.id else superseded,
        chunks=result.chunks,
        already=result.already,
        insight=Standing.of(after),
    )


def _rejected_value(insight: Insight) -> str:
    """What a tombstone stands for: the summary. Where it only quotes a source its frame sets it apart from the source,
    which is not rejected and may be said again; text like it is still flagged, by its vector."""
    value = normalised(insight.summary)
    said = {one for source in insight.sources for one in values_of(source.content)}
    return f"{QUOTED}{value}" if value in said else value


def _united(first: Insight, others: Sequence[Insight]) -> str:
    """Every text that says something else, one after the other: nothing is lost, and a person may shorten it."""
    texts = {normalised(one.summary): one.summary for one in reversed((first, *others))}
    return "\n".join(reversed(texts.values()))
