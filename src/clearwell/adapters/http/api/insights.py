"""Review: what a digest offers, and what people decide on it."""

from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Body, Path, Query, Response
from pydantic import Field, PlainValidator, ValidationError
from pydantic_core import PydanticCustomError

from clearwell.adapters.http import openapi
from clearwell.adapters.http.fields import GroupedBody, GroupParameters, Id, Moment, PageParameters, RequestBody
from clearwell.adapters.http.problems import invalid_structure
from clearwell.adapters.http.request import ApiRequest, ApiRoute, mark_replay
from clearwell.errors import InvalidInput
from clearwell.records import Action, DecisionRequest, InsightState, NewMemory, Scope
from clearwell.views.decisions import DecisionBatchView, DecisionResultView
from clearwell.views.dossiers import DossierView
from clearwell.views.insights import InsightPageView

router = APIRouter(tags=["review"], route_class=ApiRoute)

MAX_DECISIONS = 100
PERSON = "A person's decision: the scope review is needed. group_id may be left out."
REFUSALS = openapi.problems(*openapi.WRITES, 404)
InsightId = Annotated[UUID, Path(alias="id")]
Version = Annotated[int | None, Field(ge=1, description="the version that was looked at; 409 where it is another now")]


class InsightParameters(PageParameters):
    """Which insights to list."""

    state: InsightState | None = None


class ChoiceInput(GroupedBody):
    """What to do with one insight. The group may be left out: it is found by the id."""

    may_be_blank = True

    version: Version = None

    def to_request(self, insight_id: UUID) -> DecisionRequest:
        raise NotImplementedError


class PromoteOutputInput(GroupedBody):
    """Promote an output as it is, or with other words. An output never changes, and so it has no version."""

    may_be_blank = True

    text: str | None = Field(None, description="the words to promote instead")
    scope: Annotated[Scope | None, Field(strict=False)] = Field(
        None, description="group, or agent: the own experience of agent_id"
    )
    agent_id: str | None = Field(None, description="makes it this agent's own experience")
    supersedes: Id | None = Field(None, description="the memory that this replaces")

    def owner(self) -> str | None:
        """The agent whose memory it becomes; None is the group."""
        if self.scope is Scope.AGENT and self.agent_id is None:
            raise InvalidInput("http_field_missing", field="agent_id")
        if self.scope is Scope.GROUP and self.agent_id is not None:
            raise InvalidInput("scope_with_agent", field="agent_id")
        return self.agent_id

    def to_record(self) -> NewMemory:
        return NewMemory(content=self.text or "", agent_id=self.owner(), supersedes=self.supersedes)


Side = Annotated[
    int | None, Field(ge=0, description="the side to promote, by its place in sides, of an insight that has any")
]
Despite = Annotated[
    list[Literal["contradiction"]],
    Field(max_length=1, description="contradiction: promote an insight as it is although it has sides"),
]


class PromoteInput(PromoteOutputInput, ChoiceInput):
    """Promote as it is, one of its sides, or with other words. All texts are kept."""

    side: Side = None
    despite: Despite = Field(default_factory=list)

    def to_request(self, insight_id: UUID) -> DecisionRequest:
        return DecisionRequest(
            action=Action.PROMOTE,
            id=insight_id,
            version=self.version,
            text=self.text,
            agent_id=self.owner(),
            supersedes=self.supersedes,
            side=self.side,
            despite=tuple(self.despite),
        )


class RejectInput(ChoiceInput):
    """Reject an insight."""

    reason: str = Field(description="the reason, shown when the text is refused again")

    def to_request(self, insight_id: UUID) -> DecisionRequest:
        return DecisionRequest(action=Action.REJECT, id=insight_id, version=self.version, reason=self.reason)


class MergeInput(ChoiceInput):
    """Merge other insights into one."""

    others: list[Id] = Field(
        alias="with", min_length=1, max_length=50, description="the insights that go into this one"
    )
    text: str | None = Field(None, description="the words of the merged insight; all summaries if left out")

    def to_request(self, insight_id: UUID) -> DecisionRequest:
        return DecisionRequest(
            action=Action.MERGE, id=insight_id, version=self.version, others=tuple(self.others), text=self.text
        )


class SnoozeInput(ChoiceInput):
    """Put an insight off."""

    until: Moment | None = Field(None, description="with a time zone")
    days: float | None = Field(None, allow_inf_nan=False, description="7 if until is left out too")

    def to_request(self, insight_id: UUID) -> DecisionRequest:
        return DecisionRequest(
            action=Action.SNOOZE, id=insight_id, version=self.version, until=self.until, days=self.days
        )


class UndoInput(ChoiceInput):
    """Take a decision back."""

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
    """One decision of many. Which fields count depends on the action."""

    id: Id
    action: Annotated[InsightAction, Field(strict=False)]
    version: Version = None
    text: str | None = None
    agent_id: str | None = None
    supersedes: Id | None = None
    side: Side = None
    despite: Despite = Field(default_factory=list)
    reason: str | None = None
    others: list[Id] = Field(default_factory=list, alias="with")
    until: Moment | None = None
    days: float | None = Field(None, allow_inf_nan=False)

    def to_request(self) -> DecisionRequest:
        return DecisionRequest(
            action=Action(self.action),
            id=self.id,
            version=self.version,
            text=self.text,
            agent_id=self.agent_id,
            supersedes=self.supersedes,
            side=self.side,
            despite=tuple(self.despite),
            reason=self.reason,
            others=tuple(self.others),
            until=self.until,
            days=self.days,
        )


def read_decision(value: object) -> DecisionRequest | InvalidInput:
    """One decision of a batch, or what is wrong with it: that is its own problem and not the batch's."""
    if not isinstance(value, dict):
        raise PydanticCustomError("dict_type", "not an object")
    try:
        return DecisionInput.model_validate(value).to_request()
    except ValidationError as error:
        return invalid_structure(error.errors(include_url=False, include_input=False))


class DecideInput(GroupedBody):
    """Many decisions in one group. Each is made, or has its problem."""

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
    summary="List a group's insights",
    description="The newest digest first, the best of each first, a page at a time. The scope review or admin is "
    "needed.",
    response_description="A page.",
    responses=openapi.problems(*openapi.READS),
)
async def insights(request: ApiRequest, parameters: Annotated[InsightParameters, Query()]) -> InsightPageView:
    found = await request.review.insights(
        request.group(parameters),
        by=request.caller,
        state=parameters.state,
        before=parameters.before,
        limit=parameters.limit + 1,
    )
    return InsightPageView.from_records(found, parameters.limit, request.language)


@router.get(
    "/api/v1/insights/{id}",
    summary="Read an insight with its sources and similar memories",
    description="Its sources with their verdicts, the nearest verified memories with a diff by words, what it "
    "duplicates, contradicts or would supersede, what like it was rejected, and what was decided. The scope review or "
    "admin is needed.",
    response_description="The insight.",
    responses=openapi.problems(*openapi.READS, 404),
)
async def insight(
    request: ApiRequest, insight_id: InsightId, parameters: Annotated[GroupParameters, Query()]
) -> DossierView:
    group_id = await request.group_of("insight", insight_id, parameters)
    dossier = await request.review.insight(group_id, insight_id, by=request.caller)
    return DossierView.from_dossier(dossier, request.language, await request.key_names())


@router.post(
    "/api/v1/insights/decide",
    summary="Decide on many insights at once",
    description="Each by itself, in order, with a result or a problem in its place. The scope review is needed.",
    response_description="One result each.",
    responses=openapi.problems(*openapi.WRITES),
)
async def decide_many(
    request: ApiRequest, wanted: Annotated[DecideInput, Body(openapi_examples=DECIDE_EXAMPLES)]
) -> DecisionBatchView:
    requests = [decision for decision in wanted.decisions if isinstance(decision, DecisionRequest)]
    results = iter(
        await request.review.decide_many(
            request.group(wanted), requests, by=request.caller, request=request.idempotency_key
        )
    )
    in_order = [next(results) if isinstance(decision, DecisionRequest) else decision for decision in wanted.decisions]
    return DecisionBatchView.from_records(in_order, request.language)


@router.post(
    "/api/v1/insights/{id}/promote",
    summary="Promote an insight",
    description="It can be retrieved as soon as the response arrives, unless the status is promoting: then the "
    f"embedding model is down, and the chunks follow when it is back. {PERSON}",
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
    description="Its sources are judged, and its words are not promoted until that is undone or the tombstone lifted; "
    f"the sources may be said again. {PERSON}",
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
    description=f"It stays pending, with the sources of all. {PERSON}",
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
    summary="Put an insight off",
    description=f"It is pending again when the time has come. {PERSON}",
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
    summary="Take back the last decision on an insight",
    description=f"As a new decision: what happened stays on record. {PERSON}",
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
        group_id, choice.to_request(insight_id), by=request.caller, request=request.idempotency_key
    )
    mark_replay(response, [result])
    return DecisionResultView.from_record(result)
