"""Review: what a digest offers, and what people decide on it."""

from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Body, Path, Query, Response
from pydantic import Field, PlainValidator, ValidationError
from pydantic_core import PydanticCustomError

from clearwell.adapters.http import openapi
from clearwell.adapters.http.fields import (
    Acknowledge,
    GroupedBody,
    GroupParameters,
    Id,
    KeepInvisible,
    Moment,
    PageParameters,
    RequestBody,
)
from clearwell.adapters.http.request import ApiRequest, ApiRoute, mark_replay
from clearwell.errors import InvalidInput
from clearwell.flow import limits
from clearwell.records import Action, DecisionRequest, InsightState, NewMemory, Scope
from clearwell.views.decisions import DecisionBatchView, DecisionResultView
from clearwell.views.dossiers import DossierView
from clearwell.views.flaws import invalid_structure
from clearwell.views.insights import InsightPageView

router = APIRouter(tags=["review"], route_class=ApiRoute)

MAX_DECISIONS = 100
PERSON = "group_id is optional. Requires the scope review."
REFUSALS = openapi.problems(*openapi.WRITES, 404)
InsightId = Annotated[UUID, Path(alias="id")]
Version = Annotated[
    int | None, Field(ge=1, description="the version that was read; 409 if the insight has changed since then")
]


class InsightParameters(PageParameters):
    """Which insights to list."""

    state: InsightState | None = None


class ChoiceInput(GroupedBody):
    """A decision on one insight. The group is optional: it is found by the id."""

    may_be_blank = True

    version: Version = None

    def to_request(self, insight_id: UUID) -> DecisionRequest:
        raise NotImplementedError


MemoryScope = Annotated[Scope | None, Field(strict=False, description="group, or agent for a memory of agent_id only")]
Owner = Annotated[str | None, Field(description="makes it a memory of this agent only")]


class PromoteOutputInput(GroupedBody):
    """Promote an output as it is, or with another text. An output never changes, so it has no version."""

    may_be_blank = True

    text: str | None = Field(None, description="the text to promote instead")
    scope: MemoryScope = None
    agent_id: Owner = None
    supersedes: Id | None = Field(None, description="the memory that this supersedes")
    acknowledge: Acknowledge = Field(default_factory=list)
    keep_invisible: KeepInvisible = False

    def to_record(self) -> NewMemory:
        return NewMemory(
            content=self.text or "",
            agent_id=limits.require_owner(self.scope, self.agent_id),
            supersedes=self.supersedes,
            acknowledge=tuple(self.acknowledge),
            keep_invisible=self.keep_invisible,
        )


Side = Annotated[
    int | None, Field(ge=0, description="the side to promote, by its index in sides, if the insight has sides")
]
Despite = Annotated[
    list[Literal["contradiction"]],
    Field(
        max_length=1,
        description="contradiction: promote all sides as one memory, which has the flag contradiction",
    ),
]


class PromoteInput(PromoteOutputInput, ChoiceInput):
    """Promote an insight as it is, one of its sides, or another text. All texts are kept on record."""

    side: Side = None
    despite: Despite = Field(default_factory=list)

    def to_request(self, insight_id: UUID) -> DecisionRequest:
        return DecisionRequest(
            action=Action.PROMOTE,
            id=insight_id,
            version=self.version,
            text=self.text,
            agent_id=limits.require_owner(self.scope, self.agent_id),
            supersedes=self.supersedes,
            side=self.side,
            despite=tuple(self.despite),
            acknowledge=tuple(self.acknowledge),
            keep_invisible=self.keep_invisible,
        )


class RejectInput(ChoiceInput):
    """Reject an insight."""

    reason: str = Field(description="the reason, shown when the text is refused again")
    withdraw: bool = Field(False, description="also withdraw the memories and remove the entries that say the same")

    def to_request(self, insight_id: UUID) -> DecisionRequest:
        return DecisionRequest(
            action=Action.REJECT, id=insight_id, version=self.version, reason=self.reason, withdraw=self.withdraw
        )


class MergeInput(ChoiceInput):
    """Merge other insights into one."""

    others: list[Id] = Field(
        alias="with", min_length=1, max_length=50, description="the insights to merge into this one"
    )
    text: str | None = Field(None, description="the text of the merged insight; all summaries by default")

    def to_request(self, insight_id: UUID) -> DecisionRequest:
        return DecisionRequest(
            action=Action.MERGE, id=insight_id, version=self.version, others=tuple(self.others), text=self.text
        )


class SnoozeInput(ChoiceInput):
    """Snooze an insight."""

    until: Moment | None = Field(None, description="with a time zone")
    days: float | None = Field(None, allow_inf_nan=False, description="the number of days; 7 by default")

    def to_request(self, insight_id: UUID) -> DecisionRequest:
        return DecisionRequest(
            action=Action.SNOOZE, id=insight_id, version=self.version, until=self.until, days=self.days
        )


class UndoInput(ChoiceInput):
    """Undo a decision."""

    reason: str | None = None

    def to_request(self, insight_id: UUID) -> DecisionRequest:
        return DecisionRequest(action=Action.UNDO, id=insight_id, version=self.version, reason=self.reason)


class InsightAction(StrEnum):
    """What can be decided on an insight."""

    PROMOTE = Action.PROMOTE.value
    REJECT = Action.REJECT.value
    MERGE = Action.MERGE.value
    SNOOZE = Action.SNOOZE.value
    UNDO = Action.UNDO.value


class DecisionInput(RequestBody):
    """One of many decisions. The action determines which fields are used."""

    id: Id
    action: Annotated[InsightAction, Field(strict=False)]
    version: Version = None
    text: str | None = None
    scope: MemoryScope = None
    agent_id: Owner = None
    supersedes: Id | None = None
    side: Side = None
    despite: Despite = Field(default_factory=list)
    acknowledge: Acknowledge = Field(default_factory=list)
    keep_invisible: KeepInvisible = False
    reason: str | None = None
    others: list[Id] = Field(default_factory=list, alias="with")
    until: Moment | None = None
    days: float | None = Field(None, allow_inf_nan=False)
    withdraw: bool = False

    def to_request(self) -> DecisionRequest:
        return DecisionRequest(
            action=Action(self.action),
            id=self.id,
            version=self.version,
            text=self.text,
            agent_id=limits.require_owner(self.scope, self.agent_id),
            supersedes=self.supersedes,
            side=self.side,
            despite=tuple(self.despite),
            acknowledge=tuple(self.acknowledge),
            keep_invisible=self.keep_invisible,
            reason=self.reason,
            others=tuple(self.others),
            until=self.until,
            days=self.days,
            withdraw=self.withdraw,
        )


def read_decision(value: object) -> DecisionRequest | InvalidInput:
    """Read one decision of a batch, or its error, which does not affect the others."""
    if not isinstance(value, dict):
        raise PydanticCustomError("dict_type", "not an object")
    try:
        return DecisionInput.model_validate(value).to_request()
    except ValidationError as error:
        return invalid_structure(error.errors(include_url=False, include_input=False))
    except InvalidInput as error:
        return error


class DecideInput(GroupedBody):
    """Many decisions in one group. The answer has a result or a problem for each."""

    decisions: list[
        Annotated[DecisionRequest | InvalidInput, PlainValidator(read_decision, json_schema_input_type=DecisionInput)]
    ] = Field(min_length=1, max_length=MAX_DECISIONS)


PROMOTE_EXAMPLES = openapi.examples(
    **{
        "as it is": {},
        "in other words": {"version": 1, "text": "发布窗口定于每周二上午十点。"},
        "one of its sides": {"side": 0},
    }
)
REJECT_EXAMPLES = openapi.examples(one={"version": 1, "reason": "这只是一次测试。"})
MERGE_EXAMPLES = openapi.examples(two={"with": ["01234567-89ab-7cde-8f01-23456789abcd"]})
SNOOZE_EXAMPLES = openapi.examples(**{"a week": {"days": 7}})
UNDO_EXAMPLES = openapi.examples(**{"the last decision": {}})
DECIDE_EXAMPLES = openapi.examples(
    two={
        "group_id": "grp-123",
        "decisions": [
            {"id": "01234567-89ab-7cde-8f01-23456789abcd", "action": "promote"},
            {"id": "01234567-89ab-7cde-8f01-23456789abce", "action": "reject", "reason": "outdated"},
        ],
    }
)


@router.get(
    "/api/v1/insights",
    summary="List the insights of a group",
    description="Newest digest first, and the best insights of each digest first, in pages. Requires the scope "
    "review or admin.",
    response_description="One page.",
    responses=openapi.problems(*openapi.READS),
)
async def insights(request: ApiRequest, parameters: Annotated[InsightParameters, Query()]) -> InsightPageView:
    found = await request.review.insights(
        group=request.group(parameters),
        state=parameters.state,
        before=parameters.before,
        limit=parameters.limit + 1,
    )
    return InsightPageView.from_records(found, parameters.limit, request.language)


@router.get(
    "/api/v1/insights/{id}",
    summary="Read an insight with its sources and similar memories",
    description="The sources with their verdicts; the most similar verified memories with a word diff; which "
    "memories it duplicates, contradicts or would supersede; similar rejected texts; and the "
    "decisions so far. Requires the scope review or admin.",
    response_description="The insight.",
    responses=openapi.problems(*openapi.READS, 404),
)
async def insight(
    request: ApiRequest, insight_id: InsightId, parameters: Annotated[GroupParameters, Query()]
) -> DossierView:
    group_id = await request.group_of("insight", insight_id, parameters)
    dossier = await request.review.insight(insight_id, group=group_id)
    return DossierView.from_dossier(dossier, request.language, await request.key_names())


@router.post(
    "/api/v1/insights/decide",
    summary="Decide on many insights at once",
    description="Each decision is independent; the answer has a result or a problem for each, in order. Requires "
    "the scope review.",
    response_description="One result for each.",
    responses=openapi.problems(*openapi.WRITES),
)
async def decide_many(
    request: ApiRequest, wanted: Annotated[DecideInput, Body(openapi_examples=DECIDE_EXAMPLES)]
) -> DecisionBatchView:
    requests = [decision for decision in wanted.decisions if isinstance(decision, DecisionRequest)]
    results = iter(
        await request.review.decide_many(requests, group=request.group(wanted), idempotency_key=request.idempotency_key)
    )
    in_order = [next(results) if isinstance(decision, DecisionRequest) else decision for decision in wanted.decisions]
    return DecisionBatchView.from_records(in_order, request.language)


@router.post(
    "/api/v1/insights/{id}/promote",
    summary="Promote an insight",
    description="The memory can be retrieved as soon as the response arrives. With the status promoting, the embedding "
    f"model is down, and the memory can be retrieved when it responds again. {PERSON}",
    response_description="Done.",
    responses=REFUSALS,
)
async def promote(
    request: ApiRequest,
    response: Response,
    insight_id: InsightId,
    choice: Annotated[PromoteInput, Body(openapi_examples=PROMOTE_EXAMPLES)],
) -> DecisionResultView:
    return await _decide(request, response, insight_id, choice)


@router.post(
    "/api/v1/insights/{id}/reject",
    summary="Reject an insight",
    description="Its text cannot be promoted until the rejection is undone or the tombstone is lifted. Its sources are "
    f"not rejected. {PERSON}",
    response_description="Done.",
    responses=REFUSALS,
)
async def reject(
    request: ApiRequest,
    response: Response,
    insight_id: InsightId,
    choice: Annotated[RejectInput, Body(openapi_examples=REJECT_EXAMPLES)],
) -> DecisionResultView:
    return await _decide(request, response, insight_id, choice)


@router.post(
    "/api/v1/insights/{id}/merge",
    summary="Merge other insights into this one",
    description=f"The insight stays pending and gets the sources of all. {PERSON}",
    response_description="Done.",
    responses=REFUSALS,
)
async def merge(
    request: ApiRequest,
    response: Response,
    insight_id: InsightId,
    choice: Annotated[MergeInput, Body(openapi_examples=MERGE_EXAMPLES)],
) -> DecisionResultView:
    return await _decide(request, response, insight_id, choice)


@router.post(
    "/api/v1/insights/{id}/snooze",
    summary="Snooze an insight",
    description=f"The insight is pending again at the given time. {PERSON}",
    response_description="Done.",
    responses=REFUSALS,
)
async def snooze(
    request: ApiRequest,
    response: Response,
    insight_id: InsightId,
    choice: Annotated[SnoozeInput, Body(openapi_examples=SNOOZE_EXAMPLES)],
) -> DecisionResultView:
    return await _decide(request, response, insight_id, choice)


@router.post(
    "/api/v1/insights/{id}/undo",
    summary="Undo the last decision on an insight",
    description=f"The undo is a new decision; the earlier one stays on record. {PERSON}",
    response_description="Done.",
    responses=REFUSALS,
)
async def undo(
    request: ApiRequest,
    response: Response,
    insight_id: InsightId,
    choice: Annotated[UndoInput, Body(openapi_examples=UNDO_EXAMPLES)],
) -> DecisionResultView:
    return await _decide(request, response, insight_id, choice)


async def _decide(request: ApiRequest, response: Response, insight_id: UUID, choice: ChoiceInput) -> DecisionResultView:
    group_id = await request.group_of("insight", insight_id, choice)
    result = await request.review.decide(
        choice.to_request(insight_id), group=group_id, idempotency_key=request.idempotency_key
    )
    mark_replay(response, [result])
    return DecisionResultView.from_record(result)
