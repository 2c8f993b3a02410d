"""Promote an insight: its text becomes a memory."""

from dataclasses import dataclass, replace

from clearwell.errors import ClearwellError, Conflict
from clearwell.flow import limits
from clearwell.flow.ingress.policies import describe_speakers
from clearwell.flow.promotion.planning import PromotionPlan, PromotionPlanner
from clearwell.flow.promotion.screening import screen_text
from clearwell.flow.promotion.writing import PromotedInsight, PromotionWriter, describe_memory, has_same_content
from clearwell.flow.review.insights import (
    InsightChanged,
    build_next_version,
    describe_status,
    load_insight,
    name_state,
    read_insight,
    require_open,
)
from clearwell.flow.review.sides import choose_text, find_text, promotes_all_sides, select_sources
from clearwell.ports import Clock, DecisionTransaction, ReviewStore
from clearwell.records import (
    DecisionRequest,
    DecisionResult,
    Insight,
    InsightState,
    InsightStatus,
    MemoryState,
    NewMemory,
    Origin,
    Principal,
    PromotionResult,
)
from clearwell.settings import Settings
from clearwell.vocabulary import Flag


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedPromotion:
    """An insight that is ready to be promoted, as it was when it was read, and the plan of its text."""

    request: DecisionRequest
    insight: Insight
    plan: PromotionPlan


class InsightPromotion:
    """Promotes an insight: as it is, one of its sides or all of them, or in a person's words."""

    def __init__(
        self, review: ReviewStore, planner: PromotionPlanner, writer: PromotionWriter, clock: Clock, settings: Settings
    ) -> None:
        self._review = review
        self._planner = planner
        self._writer = writer
        self._clock = clock
        self._settings = settings

    async def prepare(self, group_id: str, request: DecisionRequest) -> PreparedPromotion:
        """Read the insight, and chunk and embed the text to promote."""
        insight = await read_insight(self._review, group_id, request.id, now=self._clock.now())
        text = choose_text(insight, request, self._settings)
        sources = [] if request.text is not None else select_sources(insight, request)
        memory = await screen_text(_build_memory(insight, text, request), [one.content for one in sources])
        if promotes_all_sides(insight, request):
            memory = replace(memory, flags=(*memory.flags, Flag.CONTRADICTION))
        (plan,) = await self._planner.plan(group_id, [memory])
        return PreparedPromotion(request=request, insight=insight, plan=plan)

    async def apply(
        self, transaction: DecisionTransaction, prepared: PreparedPromotion, by: Principal
    ) -> DecisionResult:
        """Store the memory, mark the insight as promoted and its sources as decided, and record the decision."""
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
        promoted = _compare_texts(insight, plan.text.content, request)
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
    """The text with what its sources say of it. The words of a person have no flags of the sources."""
    sources = select_sources(insight, request)
    agents = {one.agent_id for one in sources}
    flags = () if request.text is not None else tuple(flag for one in sources for flag in one.flags)
    return NewMemory(
        content=text,
        author=next(iter(agents)) if len(agents) == 1 else None,
        occurred_at=max((one.occurred_at for one in sources), default=None),
        agent_id=limits.require_id(request.agent_id, "agent_id"),
        metadata=describe_speakers(one.node_type for one in sources),
        origin=Origin.INSIGHT,
        origin_id=insight.id,
        supersedes=request.supersedes,
        acknowledge=request.acknowledge,
        keep_invisible=request.keep_invisible,
        flags=flags,
    )


def _compare_texts(insight: Insight, text: str, request: DecisionRequest) -> PromotedInsight:
    """Name the insight and the outputs of its side, with both texts if it was promoted in other words."""
    side = None if request.side is None else tuple(one.log_id for one in select_sources(insight, request))
    if text in (insight.summary, find_text(insight)):
        return PromotedInsight(insight_id=insight.id, side_sources=side)
    return PromotedInsight(insight_id=insight.id, side_sources=side, text_before=insight.summary, text_after=text)


async def _find_earlier_promotion(
    transaction: DecisionTransaction, insight: Insight, plan: PromotionPlan
) -> DecisionResult:
    """Return the answer to the same promotion before. Raises if that had another text or scope."""
    last = await transaction.find_last_decision(insight.id)
    if last is None or last.memory_id is None:
        await require_open(transaction, insight)
        raise Conflict("insight_decided", id=insight.id, state=name_state(insight))
    state = (await transaction.find_promotions([last.memory_id])).get(last.memory_id)
    if state is not None and state.state is MemoryState.FORGOTTEN:
        raise Conflict("memory_forgotten", current={"memory_id": str(last.memory_id)}, id=last.memory_id)
    if state is None or state.state is MemoryState.WITHDRAWN:
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
        conflicts_with=result.conflicts_with,
        insight=_describe_promoted(insight, waiting=result.waiting),
    )


def _describe_promoted(insight: Insight, *, waiting: bool) -> InsightStatus:
    """Describe a promoted insight; it is promoting while its memory waits for the model."""
    status = InsightStatus.of(insight)
    return replace(status, state=InsightState.PROMOTING) if waiting else status
