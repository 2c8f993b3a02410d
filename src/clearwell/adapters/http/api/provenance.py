"""Lists of memories, where they come from, what rests on an output, and their withdrawal."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body, Path, Query, Response
from pydantic import Field

from clearwell.adapters.http import openapi
from clearwell.adapters.http.fields import GroupedBody, GroupParameters, Id, Moment, PageParameters
from clearwell.adapters.http.request import ApiRequest, ApiRoute, mark_replay
from clearwell.ports import MemoryFilter
from clearwell.records import MemoryState, Origin, SourceSelector
from clearwell.views.decisions import DecisionResultView
from clearwell.views.provenance import MemoryPageView, ProvenanceView, RetractionPreviewView

router = APIRouter(tags=["review"], route_class=ApiRoute)

PERSON = "Requires the scope review."
READER = "Requires the scope review or admin."
REFUSALS = openapi.problems(*openapi.WRITES, 404)
RowId = Annotated[UUID, Path(alias="id")]


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


WITHDRAW_EXAMPLES = openapi.examples(
    outdated={"group_id": "grp-123", "reason": "The policy changed in October."},
)
RETRACT_EXAMPLES = openapi.examples(list={"group_id": "grp-123", "session_id": "meeting-1"})


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
