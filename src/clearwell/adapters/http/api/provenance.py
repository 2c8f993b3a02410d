"""Lists of memories, their provenance, promotion of outputs and entries, retraction, decisions and statistics."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body, Path, Query, Response
from pydantic import Field

from clearwell.adapters.http import openapi
from clearwell.adapters.http.api.insights import MAX_DECISIONS, UNDO_EXAMPLES, PromoteOutputInput, UndoInput
from clearwell.adapters.http.fields import (
    Acknowledge,
    GroupedBody,
    GroupParameters,
    Id,
    KeepInvisible,
    Moment,
    PageParameters,
)
from clearwell.adapters.http.request import ApiRequest, ApiRoute, mark_replay
from clearwell.flow.review.service import MAX_DAYS
from clearwell.ports import MemoryFilter
from clearwell.records import Action, MemoryState, Origin, SourceSelector
from clearwell.views.decisions import DecisionPageView, DecisionResultView
from clearwell.views.memories import PromotionBatchView, PromotionResultView
from clearwell.views.provenance import MemoryPageView, ProvenanceView, RetractionPreviewView
from clearwell.views.statistics import ActivityView, CalibrationView, ReviewCountsView, ReviewStatisticsView

router = APIRouter(tags=["review"], route_class=ApiRoute)

PERSON = "Requires the scope review."
READER = "Requires the scope review or admin."
REFUSALS = openapi.problems(*openapi.WRITES, 404)
RowId = Annotated[UUID, Path(alias="id")]
PromoteOutputBody = Annotated[
    PromoteOutputInput,
    Body(
        openapi_examples=openapi.examples(
            **{"as it is": {"group_id": "grp-123"}, "in other words": {"text": "发布窗口定于每周二上午十点。"}}
        )
    ),
]


class UndoDecisionInput(UndoInput):
    """Undo a decision by its id."""

    only: Annotated[Action | None, Field(strict=False)] = Field(
        None, description="refuse a decision of another kind, such as retract"
    )


class PromoteManyInput(GroupedBody):
    """Outputs to promote as they are. The answer has a result or a problem for each."""

    ids: list[str] = Field(min_length=1, max_length=MAX_DECISIONS, description="ids of outputs")
    origin: Annotated[Origin, Field(strict=False)] = Field(
        Origin.QUARANTINE, description="quarantine, or working for entries that have not expired"
    )
    acknowledge: Acknowledge = Field(default_factory=list)
    keep_invisible: KeepInvisible = False


class MemoryListParameters(PageParameters):
    """Which promoted memories to list."""

    state: MemoryState | None = Field(None, description="verified, promoting, withdrawn or forgotten; all by default")
    origin: Origin | None = Field(None, description="what they were promoted from")
    agent_id: str | None = Field(None, description="memories of this agent, and what it said")
    session_id: str | None = None
    promoted_by: str | None = Field(None, description="who decided: the value of decided_by")
    since: Moment | None = Field(None, description="promoted at this time or later")
    until: Moment | None = Field(None, description="promoted before this time")
    words: str | None = Field(None, description="a part of the text, in upper or lower case")
    disputed: bool = Field(False, description="only memories that contradict another one")
    unused: bool = Field(False, description="only memories that no agent was ever given")
    ids: list[UUID] | None = Field(None, max_length=200, description="only these memories")

    def to_filter(self) -> MemoryFilter:
        return MemoryFilter(
            state=self.state,
            origin=self.origin,
            agent_id=self.agent_id,
            session_id=self.session_id,
            promoted_by=self.promoted_by,
            since=self.since,
            until=self.until,
            words=self.words,
            disputed=self.disputed,
            unused=self.unused,
            ids=self.ids,
        )


class WithdrawInput(GroupedBody):
    """Why a memory is withdrawn."""

    reason: str = Field(description="why it no longer holds")


class RetractInput(GroupedBody):
    """Without a token, list what would be withdrawn; with the token of that list, withdraw it."""

    source: Id | None = Field(None, description="the id of an output")
    session_id: str | None = None
    agent_id: str | None = None
    memory_id: Id | None = Field(None, description="the id of one memory")
    token: str | None = Field(None, description="the token of the list; only listed memories are withdrawn")
    reason: str | None = None
    tombstones: bool = Field(False, description="also reject what the memories say; needs a reason")

    def to_selector(self) -> SourceSelector:
        return SourceSelector(
            source=self.source, session_id=self.session_id, agent_id=self.agent_id, memory_id=self.memory_id
        )


PROMOTE_MANY_EXAMPLES = openapi.examples(
    two={
        "group_id": "grp-123",
        "ids": ["01234567-89ab-7cde-8f01-23456789abcd", "01234567-89ab-7cde-8f01-23456789abce"],
    }
)
WITHDRAW_EXAMPLES = openapi.examples(
    outdated={"group_id": "grp-123", "reason": "The policy changed in October."},
)
RETRACT_EXAMPLES = openapi.examples(list={"group_id": "grp-123", "session_id": "meeting-1"})


@router.post(
    "/api/v1/quarantine/{id}/promote",
    summary="Promote an output from quarantine",
    description=f"The memory keeps the session, agent and time of the output. group_id is optional. {PERSON}",
    response_description="Stored as verified memory.",
    responses=REFUSALS,
)
async def promote_row(
    request: ApiRequest, response: Response, row_id: RowId, wanted: PromoteOutputBody
) -> PromotionResultView:
    group_id = await request.group_of("row", row_id, wanted)
    result = await request.review.promote_row(
        row_id, wanted.to_record(), group=group_id, idempotency_key=request.idempotency_key
    )
    mark_replay(response, [result])
    return PromotionResultView.from_record(result)


@router.post(
    "/api/v1/quarantine/promote",
    summary="Promote many outputs at once",
    description="Promotes the outputs as they are; the answer has a result or a problem for each, in order. With "
    f"origin: working, only entries of working memory that have not expired. {PERSON}",
    response_description="One result for each.",
    responses=openapi.problems(*openapi.WRITES),
)
async def promote_outputs(
    request: ApiRequest, wanted: Annotated[PromoteManyInput, Body(openapi_examples=PROMOTE_MANY_EXAMPLES)]
) -> PromotionBatchView:
    results = await request.review.promote_outputs(
        wanted.ids,
        origin=wanted.origin,
        acknowledge=wanted.acknowledge,
        keep_invisible=wanted.keep_invisible,
        group=request.group(wanted),
        idempotency_key=request.idempotency_key,
    )
    return PromotionBatchView.from_records(results, request.language)


@router.post(
    "/api/v1/working/{group_id:text}/{id}/promote",
    summary="Promote an entry of working memory",
    description=f"The memory keeps the session, agent and time of the entry. {PERSON}",
    response_description="Stored as verified memory.",
    responses=REFUSALS,
)
async def promote_entry(
    request: ApiRequest, response: Response, group_id: str, entry_id: RowId, wanted: PromoteOutputBody
) -> PromotionResultView:
    result = await request.review.promote_entry(
        entry_id, wanted.to_record(), group=group_id, idempotency_key=request.idempotency_key
    )
    mark_replay(response, [result])
    return PromotionResultView.from_record(result)


@router.get(
    "/api/v1/memories",
    summary="List the memories of a group",
    description="Promoted memories, newest first, in pages: what they say, who promoted them, whether they are valid, "
    f"when they were last given to an agent, and what they contradict. {READER}",
    response_description="One page.",
    responses=openapi.problems(*openapi.READS),
)
async def memories(request: ApiRequest, parameters: Annotated[MemoryListParameters, Query()]) -> MemoryPageView:
    found = await request.review.memories(
        group=request.group(parameters),
        where=parameters.to_filter(),
        before=parameters.before,
        limit=parameters.limit + 1,
    )
    return MemoryPageView.from_records(found, parameters.limit, request.language, await request.key_names())


@router.post(
    "/api/v1/memories/{id}/withdraw",
    summary="Withdraw a memory",
    description="It is no longer retrieved. History is kept, and POST /api/v1/decisions/{id}/undo restores it. "
    f"{PERSON}",
    response_description="Withdrawn.",
    responses=REFUSALS,
)
async def withdraw(
    request: ApiRequest,
    response: Response,
    memory_id: RowId,
    wanted: Annotated[WithdrawInput, Body(openapi_examples=WITHDRAW_EXAMPLES)],
) -> DecisionResultView:
    group_id = await request.group_of("memory", memory_id, wanted)
    result = await request.review.withdraw(
        memory_id, reason=wanted.reason, group=group_id, idempotency_key=request.idempotency_key
    )
    mark_replay(response, [result])
    return DecisionResultView.from_record(result)


@router.get(
    "/api/v1/memories/{id}/origin",
    summary="Where a memory comes from",
    description=f"Its promotion, the decisions on it, and the insights and outputs that it is based on. {READER}",
    response_description="The origin.",
    responses=openapi.problems(*openapi.READS, 404),
)
async def origin(
    request: ApiRequest, memory_id: RowId, parameters: Annotated[GroupParameters, Query()]
) -> ProvenanceView:
    group_id = await request.group_of("memory", memory_id, parameters)
    found = await request.review.origin(memory_id, group=group_id)
    return ProvenanceView.from_record(memory_id, found, request.language, await request.key_names())


@router.get(
    "/api/v1/quarantine/{id}/influence",
    summary="Which memories are based on an output",
    description=f"The insights, promotions and memories that are based on it, and what it repeats. {READER}",
    response_description="The influence.",
    responses=openapi.problems(*openapi.READS, 404),
)
async def influence(
    request: ApiRequest, row_id: RowId, parameters: Annotated[GroupParameters, Query()]
) -> ProvenanceView:
    group_id = await request.group_of("row", row_id, parameters)
    found = await request.review.influence(row_id, group=group_id)
    return ProvenanceView.from_record(row_id, found, request.language, await request.key_names())


@router.post(
    "/api/v1/memories/retract",
    summary="Withdraw the memories that are based on a source, session or agent",
    description="Without a token, lists what would be withdrawn. With the token of that list, withdraws exactly that "
    "in one step; if it has changed since, nothing is withdrawn (409). History is kept, and "
    f"POST /api/v1/decisions/{{id}}/undo restores the memories. {PERSON}",
    response_description="Listed or withdrawn.",
    responses=openapi.problems(*openapi.WRITES),
)
async def retract(
    request: ApiRequest, response: Response, wanted: Annotated[RetractInput, Body(openapi_examples=RETRACT_EXAMPLES)]
) -> RetractionPreviewView | DecisionResultView:
    group_id, selector = request.group(wanted), wanted.to_selector()
    if wanted.token is None:
        preview = await request.review.preview_retraction(selector, group=group_id)
        return RetractionPreviewView.from_record(preview, request.language, await request.key_names())
    result = await request.review.retract(
        selector,
        token=wanted.token,
        reason=wanted.reason,
        tombstones=wanted.tombstones,
        group=group_id,
        idempotency_key=request.idempotency_key,
    )
    mark_replay(response, [result])
    return DecisionResultView.from_record(result)


@router.get(
    "/api/v1/decisions",
    summary="List the decisions of a group",
    description=f"Newest first, in pages. {READER}",
    response_description="One page.",
    responses=openapi.problems(*openapi.READS),
)
async def decisions(request: ApiRequest, parameters: Annotated[PageParameters, Query()]) -> DecisionPageView:
    found = await request.review.decisions(
        group=request.group(parameters), before=parameters.before, limit=parameters.limit + 1
    )
    return DecisionPageView.from_records(found, parameters.limit, await request.key_names())


@router.post(
    "/api/v1/decisions/{id}/undo",
    summary="Undo a decision",
    description=f"The undo is a new decision; the earlier one stays on record. {PERSON}",
    response_description="Undone.",
    responses=REFUSALS,
)
async def undo(
    request: ApiRequest,
    response: Response,
    decision_id: RowId,
    wanted: Annotated[UndoDecisionInput, Body(openapi_examples=UNDO_EXAMPLES)],
) -> DecisionResultView:
    group_id = await request.group_of("decision", decision_id, wanted)
    result = await request.review.undo(
        decision_id,
        group=group_id,
        reason=wanted.reason,
        only=wanted.only,
        idempotency_key=request.idempotency_key,
    )
    mark_replay(response, [result])
    return DecisionResultView.from_record(result)


@router.get(
    "/api/v1/review/calibration",
    summary="How reliable the confidence of agents is",
    description=f"By agent, in steps of 0.1. It informs reviewers and changes no threshold. {READER}",
    response_description="The table.",
    responses=openapi.problems(*openapi.READS),
)
async def calibration(request: ApiRequest, parameters: Annotated[GroupParameters, Query()]) -> CalibrationView:
    return CalibrationView.from_records(await request.review.calibration(group=request.group(parameters)))


class ActivityParameters(GroupParameters):
    """How many days to show."""

    days: int = Field(30, ge=1, le=MAX_DAYS, description="the number of days, today included")


@router.get(
    "/api/v1/review/activity",
    summary="What happened in a group, day by day",
    description="Outputs that were admitted, and refused by each check, decisions, and the median time to a decision, "
    f"for each of the last days in UTC. {READER}",
    response_description="The days, the oldest first.",
    responses=openapi.problems(*openapi.READS),
)
async def activity(request: ApiRequest, parameters: Annotated[ActivityParameters, Query()]) -> ActivityView:
    days = await request.review.activity(group=request.group(parameters), days=parameters.days)
    return ActivityView.from_records(days)


@router.get(
    "/api/v1/review/counts",
    summary="What a group has now",
    description="How many insights wait for a decision, how many memories are valid, and how many promotions are still "
    f"to be written. {READER}",
    response_description="The counts.",
    responses=openapi.problems(*openapi.READS),
)
async def counts(request: ApiRequest, parameters: Annotated[GroupParameters, Query()]) -> ReviewCountsView:
    return ReviewCountsView.read(await request.review.counts(group=request.group(parameters)))


@router.get(
    "/api/v1/review/numbers",
    summary="Review statistics",
    description="Time to decision, accept rates, the share of memories that were retrieved, and the yield of digests. "
    f"{READER}",
    response_description="The statistics.",
    responses=openapi.problems(*openapi.READS),
)
async def statistics(request: ApiRequest, parameters: Annotated[GroupParameters, Query()]) -> ReviewStatisticsView:
    return ReviewStatisticsView.from_record(await request.review.statistics(group=request.group(parameters)))
