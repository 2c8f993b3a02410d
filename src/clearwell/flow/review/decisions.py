"""The decisions on an insight: promote, reject, merge and snooze.

Each is a class with two methods. ``prepare`` checks the request and does what takes time, such as embedding, while no
transaction is open. ``apply`` then carries the decision out in a transaction in which nobody else decides in the
group. Where the text of the insight has changed in between, ``apply`` raises InsightChanged and is prepared again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from clearwell.errors import ClearwellError, Conflict, EmbedderUnavailable, InvalidInput
from clearwell.flow import limits
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.ingress.knowledge import Knowledge
from clearwell.flow.ingress.policies import said_by
from clearwell.flow.promotion.planning import PromotionPlan, PromotionPlanner
from clearwell.flow.promotion.writing import PromotedInsight, PromotionWriter, describe_memory, has_same_content
from clearwell.flow.review.insights import (
    InsightChanged,
    build_next_version,
    count_support,
    describe_status,
    load_insight,
    name_state,
    read_insight,
    require_open,
)
from clearwell.offload import offload
from clearwell.ports import Clock, DecisionTransaction, Embedder, Ids, ReviewStore
from clearwell.records import (
    Action,
    Decision,
    DecisionRequest,
    DecisionResult,
    Insight,
    InsightBeforeMerge,
    InsightState,
    InsightStatus,
    NewMemory,
    Origin,
    Principal,
    PromotionResult,
    Tombstone,
    TombstoneKind,
    Vector,
    Writer,
)
from clearwell.settings import Settings
from clearwell.text.normalisation import find_values, frame_summary, normalise

MAX_MERGED = 50
DEFAULT_SNOOZE_DAYS = 7.0
MAX_SNOOZE = timedelta(days=3650)


class DecisionRecorder:
    """Stores a decision on an insight with its audit event."""

    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._audit_events = AuditEvents(clock, ids)

    async def record(self, transaction: DecisionTransaction, decision: Decision) -> None:
        event = self._audit_events.make(
            f"{decision.action} insight",
            f"insight {decision.insight_id}",
            decision.group_id,
            by=decision.by,
            at=decision.at,
            decision=str(decision.id),
            others=[str(one) for one in decision.others],
        )
        await transaction.record_decisions([(decision, event)])


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedPromotion:
    """An insight that is ready to be promoted, as it was when it was read, and the plan of its text."""

    request: DecisionRequest
    insight: Insight
    plan: PromotionPlan


class InsightPromotion:
    """Promotes an insight, in its own words or in a person's."""

    def __init__(
        self, review: ReviewStore, planner: PromotionPlanner, writer: PromotionWriter, clock: Clock, settings: Settings
    ) -> None:
        self._review = review
        self._planner = planner
        self._writer = writer
        self._clock = clock
        self._settings = settings

    async def prepare(self, group_id: str, request: DecisionRequest) -> PreparedPromotion:
        """Read the insight, and chunk and embed the text that it is to have as a memory."""
        insight = await read_insight(self._review, group_id, request.id, now=self._clock.now())
        text = insight.summary
        if request.text is not None:
            text = limits.require_readable(request.text, "text", max_bytes=self._settings.max_content_bytes)
        (plan,) = await self._planner.plan(group_id, [_build_memory(insight, text, request)])
        return PreparedPromotion(request=request, insight=insight, plan=plan)

    async def apply(
        self, transaction: DecisionTransaction, prepared: PreparedPromotion, by: Principal
    ) -> DecisionResult:
        """Store the memory, mark the insight as promoted and its sources as judged, and record the decision."""
        request, plan, now = prepared.request, prepared.plan, self._clock.now()
        group_id = prepared.insight.group_id
        insight = await load_insight(transaction, group_id, request.id, version=request.version, now=now)
        if insight.state is InsightState.PROMOTED:
            earlier = await _find_earlier_promotion(transaction, insight, plan)
            if request.supersedes in (None, earlier.id):
                return earlier
        else:
            await require_open(transaction, insight)
        if request.text is None and insight.summary != prepared.insight.summary:
            raise InsightChanged
        promoted = _compare_texts(insight, plan.text.content)
        (result,) = await self._writer.write(transaction, group_id, [plan], by=by, insight=promoted)
        if isinstance(result, ClearwellError):
            raise result
        if not result.recorded:
            return _describe_promotion(result, insight, plan)
        updated = build_next_version(insight, now, InsightState.PROMOTED)
        await transaction.update_insight(updated)
        await transaction.mark_decided({one.log_id: insight.id for one in insight.sources})
        return _describe_promotion(result, updated, plan)


def _build_memory(insight: Insight, text: str, request: DecisionRequest) -> NewMemory:
    agents = {one.agent_id for one in insight.sources}
    return NewMemory(
        content=text,
        author=next(iter(agents)) if len(agents) == 1 else None,
        occurred_at=max((one.occurred_at for one in insight.sources), default=None),
        agent_id=limits.require_id(request.agent_id, "agent_id"),
        metadata=said_by(one.node_type for one in insight.sources),
        origin=Origin.INSIGHT,
        origin_id=insight.id,
        supersedes=request.supersedes,
    )


def _compare_texts(insight: Insight, text: str) -> PromotedInsight:
    """Name the insight, with both texts if the promoted one differs from its summary."""
    if text == insight.summary:
        return PromotedInsight(insight_id=insight.id)
    return PromotedInsight(insight_id=insight.id, text_before=insight.summary, text_after=text)


async def _find_earlier_promotion(
    transaction: DecisionTransaction, insight: Insight, plan: PromotionPlan
) -> DecisionResult:
    """The answer to the same promotion before. Raises where that had other words or readers: undo it first."""
    last = await transaction.find_last_decision(insight.id)
    if last is None or last.memory_id is None:
        await require_open(transaction, insight)
        raise Conflict("insight_decided", id=insight.id, state=name_state(insight))
    state = (await transaction.find_promotions([last.memory_id])).get(last.memory_id)
    if state is None or state.state == "withdrawn":
        raise Conflict("promoted_withdrawn", current={"memory_id": str(last.memory_id)}, id=insight.id)
    if not await has_same_content(state, plan.text):
        current = {**await describe_status(transaction, insight), **describe_memory(state)}
        raise Conflict("insight_promoted_otherwise", current=current, id=insight.id, memory=last.memory_id)
    return DecisionResult(
        status="promoting" if state.waiting else "promoted",
        id=last.memory_id,
        decision_id=last.id,
        promotion_id=state.promotion.id,
        chunks=state.chunks,
        already=True,
        insight=_describe_promoted(insight, waiting=state.waiting),
    )


def _describe_promotion(result: PromotionResult, insight: Insight, plan: PromotionPlan) -> DecisionResult:
    superseded = plan.text.supersedes
    return DecisionResult(
        status="promoting" if result.waiting else "promoted",
        id=result.id,
        decision_id=result.decision_id,
        promotion_id=result.promotion_id,
        superseded=None if superseded == result.id else superseded,
        chunks=result.chunks,
        already=result.already,
        insight=_describe_promoted(insight, waiting=result.waiting),
    )


def _describe_promoted(insight: Insight, *, waiting: bool) -> InsightStatus:
    """An insight whose memory is still to come is shown as promoting."""
    status = InsightStatus.of(insight)
    return replace(status, state=InsightState.PROMOTING) if waiting else status


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRejection:
    """An insight that is ready to be rejected, with the hash and the vector of the value that is to stay out."""

    request: DecisionRequest
    reason: str
    insight: Insight
    value_hash: bytes
    vector: Vector | None


class InsightRejection:
    """Rejects an insight: its value does not come back, and similar text is flagged."""

    def __init__(
        self,
        review: ReviewStore,
        knowledge: Knowledge,
        embedder: Embedder,
        recorder: DecisionRecorder,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._review = review
        self._knowledge = knowledge
        self._embedder = embedder
        self._recorder = recorder
        self._clock = clock
        self._ids = ids

    async def prepare(self, group_id: str, request: DecisionRequest) -> PreparedRejection:
        """Read the insight, and hash and embed its value."""
        reason = limits.require_nonblank_reason(request.reason)
        insight = await read_insight(self._review, group_id, request.id, now=self._clock.now())
        size = len(insight.summary) + sum(len(one.content) for one in insight.sources)
        value = await offload(size, _find_rejected_value, insight)
        value_hash = await self._knowledge.hash_value(group_id, value)
        vector = await self._embed(insight)
        return PreparedRejection(request=request, reason=reason, insight=insight, value_hash=value_hash, vector=vector)

    async def apply(
        self, transaction: DecisionTransaction, prepared: PreparedRejection, by: Principal
    ) -> DecisionResult:
        """Add the tombstone, mark the insight as rejected and its sources as judged, and record the decision."""
        request, now = prepared.request, self._clock.now()
        group_id = prepared.insight.group_id
        insight = await load_insight(transaction, group_id, request.id, version=request.version, now=now)
        if insight.state is InsightState.REJECTED:
            return await _find_earlier_rejection(transaction, insight)
        await require_open(transaction, insight)
        if insight.summary != prepared.insight.summary:
            raise InsightChanged
        tombstone_id, added = await self._insert_tombstone(transaction, prepared, by, now)
        rejected = build_next_version(insight, now, InsightState.REJECTED)
        await transaction.update_insight(rejected)
        await transaction.mark_decided({one.log_id: insight.id for one in insight.sources})
        decision = Decision(
            id=self._ids.new(),
            group_id=group_id,
            action=Action.REJECT,
            by=by.name,
            at=now,
            insight_id=insight.id,
            tombstone_id=tombstone_id,
            reason=prepared.reason,
            already=not added,
        )
        await self._recorder.record(transaction, decision)
        return DecisionResult(
            status="rejected",
            id=insight.id,
            decision_id=decision.id,
            tombstone_id=tombstone_id,
            insight=InsightStatus.of(rejected),
        )

    async def _insert_tombstone(
        self, transaction: DecisionTransaction, prepared: PreparedRejection, by: Principal, now: datetime
    ) -> tuple[UUID | None, bool]:
        """The tombstone of the value, and whether it is new: the value may have been rejected before."""
        tombstone = Tombstone(
            id=self._ids.new(),
            group_id=prepared.insight.group_id,
            kind=TombstoneKind.REJECTED,
            reason=prepared.reason,
            made_by=by.name,
            made_at=now,
        )
        value_hash, model = prepared.value_hash, self._embedder.model
        if await transaction.insert_tombstone(tombstone, value_hash, embedding=prepared.vector, model=model):
            return tombstone.id, True
        in_force = (await transaction.find_tombstones([value_hash])).get(value_hash)
        return None if in_force is None else in_force.id, False

    async def _embed(self, insight: Insight) -> Vector | None:
        """The vector of the summary; None where the model does not answer."""
        if insight.embedding is not None and insight.embedding_model == self._embedder.model:
            return insight.embedding
        try:
            (vector,) = await self._embedder.embed([insight.summary])
        except EmbedderUnavailable:
            return None
        return vector


async def _find_earlier_rejection(transaction: DecisionTransaction, insight: Insight) -> DecisionResult:
    last = await transaction.find_last_decision(insight.id)
    return DecisionResult(
        status="rejected",
        id=insight.id,
        decision_id=None if last is None else last.id,
        tombstone_id=None if last is None else last.tombstone_id,
        already=True,
        insight=InsightStatus.of(insight),
    )


def _find_rejected_value(insight: Insight) -> str:
    """The value that a tombstone is for: the summary.

    A summary that only quotes a source is refused as a summary alone: it is not promoted, but the source is not
    rejected and may be said again. Similar text is flagged either way.
    """
    value = normalise(insight.summary)
    source_values = {one for source in insight.sources for one in find_values(source.content)}
    return frame_summary(value) if value in source_values else value


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedMerge:
    """A merge that was checked: the insights to merge into the first, and its text where a person wrote one."""

    group_id: str
    request: DecisionRequest
    others: tuple[UUID, ...]
    text: str | None


class InsightMerge:
    """Merges insights about the same thing into one, with the sources of all."""

    def __init__(self, recorder: DecisionRecorder, clock: Clock, ids: Ids, settings: Settings) -> None:
        self._recorder = recorder
        self._clock = clock
        self._ids = ids
        self._settings = settings

    def prepare(self, group_id: str, request: DecisionRequest) -> PreparedMerge:
        """Check the request. A merge needs nothing from outside of the transaction."""
        others = tuple(dict.fromkeys(one for one in request.others if one != request.id))
        if not 1 <= len(others) <= MAX_MERGED:
            raise InvalidInput("merge_with_whom", field="with", limit=MAX_MERGED)
        text = request.text
        if text is not None:
            text = limits.require_readable(text, "text", max_bytes=self._settings.max_content_bytes)
        return PreparedMerge(group_id=group_id, request=request, others=others, text=text)

    async def apply(self, transaction: DecisionTransaction, prepared: PreparedMerge, by: Principal) -> DecisionResult:
        """Move the sources, mark the other insights as merged, and record the decision with what was before it."""
        request, group_id, now = prepared.request, prepared.group_id, self._clock.now()
        first = await load_insight(transaction, group_id, request.id, version=request.version, now=now)
        await require_open(transaction, first)
        others = [await self._load_open(transaction, group_id, one, now) for one in prepared.others]
        await transaction.merge_sources(first.id, prepared.others)
        for other in others:
            await transaction.update_insight(build_next_version(other, now, InsightState.MERGED, merged_into=first.id))
        with_sources = (await transaction.find_insights([first.id]))[first.id]
        merged = _build_merged(with_sources, first, others, text=prepared.text, now=now)
        await transaction.update_insight(merged)
        decision = Decision(
            id=self._ids.new(),
            group_id=group_id,
            action=Action.MERGE,
            by=by.name,
            at=now,
            insight_id=first.id,
            others=prepared.others,
            text_before=first.summary,
            text_after=merged.summary,
            writer_before=first.written_by,
            before=InsightBeforeMerge(flags=first.flags, contradictions=first.contradictions, support=first.support),
        )
        await self._recorder.record(transaction, decision)
        return DecisionResult(status="merged", id=first.id, decision_id=decision.id, insight=InsightStatus.of(merged))

    async def _load_open(
        self, transaction: DecisionTransaction, group_id: str, insight_id: UUID, now: datetime
    ) -> Insight:
        insight = await load_insight(transaction, group_id, insight_id, version=None, now=now)
        await require_open(transaction, insight)
        return insight


def _build_merged(
    insight: Insight, first: Insight, others: Sequence[Insight], *, text: str | None, now: datetime
) -> Insight:
    """The first insight with the sources, flags and contradictions of all. A new text has no vector yet."""
    everything = (first, *others)
    contradictions = {(one.of, one.against, one.layer): one for each in everything for one in each.contradictions}
    merged = replace(
        build_next_version(insight, now, InsightState.PENDING),
        summary=text or _join_summaries(everything),
        written_by=first.written_by if text is None else Writer.PERSON,
        support=count_support(insight),
        flags=tuple(dict.fromkeys(flag for one in everything for flag in one.flags)),
        contradictions=tuple(contradictions.values()),
    )
    return merged if merged.summary == first.summary else replace(merged, embedding=None, embedding_model=None)


def _join_summaries(insights: Sequence[Insight]) -> str:
    """Every summary that says something else, one after the other: nothing is lost, and a person may shorten it."""
    texts = {normalise(one.summary): one.summary for one in reversed(insights)}
    return "\n".join(reversed(texts.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedSnooze:
    """A snooze that was checked, with the moment at which the insight is pending again."""

    group_id: str
    request: DecisionRequest
    until: datetime
    reason: str | None


class InsightSnooze:
    """Puts an insight off: it is pending again when its time has come."""

    def __init__(self, recorder: DecisionRecorder, clock: Clock, ids: Ids) -> None:
        self._recorder = recorder
        self._clock = clock
        self._ids = ids

    def prepare(self, group_id: str, request: DecisionRequest) -> PreparedSnooze:
        """Check the request. A snooze needs nothing from outside of the transaction."""
        until, reason = self._find_end(request), limits.require_reason(request.reason)
        return PreparedSnooze(group_id=group_id, request=request, until=until, reason=reason)

    async def apply(self, transaction: DecisionTransaction, prepared: PreparedSnooze, by: Principal) -> DecisionResult:
        """Mark the insight as snoozed and record the decision."""
        request, now = prepared.request, self._clock.now()
        insight = await load_insight(transaction, prepared.group_id, request.id, version=request.version, now=now)
        await require_open(transaction, insight)
        snoozed = build_next_version(insight, now, InsightState.SNOOZED, snoozed_until=prepared.until)
        await transaction.update_insight(snoozed)
        decision = Decision(
            id=self._ids.new(),
            group_id=prepared.group_id,
            action=Action.SNOOZE,
            by=by.name,
            at=now,
            insight_id=insight.id,
            until=prepared.until,
            reason=prepared.reason,
        )
        await self._recorder.record(transaction, decision)
        return DecisionResult(
            status="snoozed", id=insight.id, decision_id=decision.id, insight=InsightStatus.of(snoozed)
        )

    def _find_end(self, request: DecisionRequest) -> datetime:
        now = self._clock.now()
        if request.until is not None and request.days is not None:
            raise InvalidInput("snooze_twice", field="until", other="days")
        until = limits.require_moment(request.until, "until")
        if until is None:
            days = DEFAULT_SNOOZE_DAYS if request.days is None else request.days
            if not 0 < days <= MAX_SNOOZE.days:
                raise InvalidInput("snooze_days", field="days", limit=MAX_SNOOZE.days)
            until = now + timedelta(days=days)
        if not now < until <= now + MAX_SNOOZE:
            raise InvalidInput("snooze_until", field="until", limit=MAX_SNOOZE.days)
        return until
