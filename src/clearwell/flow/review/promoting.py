"""An insight becomes knowledge, in its own words or in a person's."""

from dataclasses import replace

from clearwell.errors import ClearwellError, Conflict
from clearwell.flow import limits
from clearwell.flow.ingress.policies import said_by
from clearwell.flow.promotion.eligibility import as_it_is, says_the_same
from clearwell.flow.promotion.promoter import Plan, Promoter, Wording
from clearwell.flow.review.standing import changed, current, load_insight, read, require_open, state_word
from clearwell.flow.review.wanted import Moved, Step
from clearwell.offload import offload
from clearwell.ports import Clock, DecisionTransaction, ReviewStore
from clearwell.records import (
    DecisionRequest,
    DecisionResult,
    Insight,
    InsightState,
    InsightStatus,
    NewMemory,
    Origin,
    Principal,
    PromotionResult,
)
from clearwell.settings import Settings


class PromotingInsights:
    def __init__(self, reviewed: ReviewStore, promoter: Promoter, clock: Clock, settings: Settings) -> None:
        self._reviewed = reviewed
        self._promoter = promoter
        self._clock = clock
        self._settings = settings

    async def prepared(self, group_id: str, wanted: DecisionRequest, by: Principal) -> Step:
        insight = await read(self._reviewed, group_id, wanted.id, now=self._clock.now())
        text = insight.summary
        if wanted.text is not None:
            text = limits.require_readable(wanted.text, "text", max_bytes=self._settings.max_content_bytes)
        (plan,) = await self._promoter.planned(group_id, [_memory(insight, text, wanted)])

        async def step(transaction: DecisionTransaction) -> DecisionResult:
            now = self._clock.now()
            found = await load_insight(transaction, group_id, wanted.id, version=wanted.version, now=now)
            if found.state is InsightState.PROMOTED:
                before = await _promoted_before(transaction, found, plan)
                if wanted.supersedes in (None, before.id):
                    return before
            else:
                await require_open(transaction, found)
            if wanted.text is None and found.summary != insight.summary:
                raise Moved(found.id)
            edited = text != found.summary
            wording = Wording(
                insight_id=found.id, before=found.summary if edited else None, after=text if edited else None
            )
            (result,) = await self._promoter.write(transaction, group_id, [plan], by=by, wording=wording)
            if isinstance(result, ClearwellError):
                raise result
            if not result.recorded:
                return _promoted(result, found, plan)
            after = changed(found, now, InsightState.PROMOTED)
            await transaction.update_insight(after)
            await transaction.mark_judged([one.log_id for one in found.sources], by=found.id)
            return _promoted(result, after, plan)

        return step


def _memory(insight: Insight, text: str, wanted: DecisionRequest) -> NewMemory:
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


async def _promoted_before(transaction: DecisionTransaction, insight: Insight, plan: Plan) -> DecisionResult:
    """The same decision again is the same answer. Other words or readers are another decision: undo first."""
    last = await transaction.find_last_decision(insight.id)
    if last is None or last.memory_id is None:
        await require_open(transaction, insight)
        raise Conflict("insight_decided", id=insight.id, state=state_word(insight))
    state = (await transaction.find_promotions([last.memory_id])).get(last.memory_id)
    if state is None or state.state == "withdrawn":
        raise Conflict("promoted_withdrawn", current={"memory_id": str(last.memory_id)}, id=insight.id)
    if not await offload(len(plan.text.content), says_the_same, state, plan.text):
        there = {**await current(transaction, insight), **as_it_is(state)}
        raise Conflict("insight_promoted_otherwise", current=there, id=insight.id, memory=last.memory_id)
    return DecisionResult(
        status="promoting" if state.waiting else "promoted",
        id=last.memory_id,
        decision_id=last.id,
        promotion_id=state.promotion.id,
        chunks=state.chunks,
        already=True,
        insight=_standing(insight, waiting=state.waiting),
    )


def _promoted(result: PromotionResult, after: Insight, plan: Plan) -> DecisionResult:
    superseded = plan.text.supersedes
    return DecisionResult(
        status="promoting" if result.waiting else "promoted",
        id=result.id,
        decision_id=result.decision_id,
        promotion_id=result.promotion_id,
        superseded=None if superseded == result.id else superseded,
        chunks=result.chunks,
        already=result.already,
        insight=_standing(after, waiting=result.waiting),
    )


def _standing(insight: Insight, *, waiting: bool) -> InsightStatus:
    """As it is read: promoting while its memory is still to come."""
    standing = InsightStatus.of(insight)
    return replace(standing, state=InsightState.PROMOTING) if waiting else standing
