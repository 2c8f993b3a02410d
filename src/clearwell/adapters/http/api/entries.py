"""The lower tiers: rows of quarantine with everything that became of them, and live entries of working memory."""

from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body, Path, Query, Response
from pydantic import Field

from clearwell.adapters.http import openapi
from clearwell.adapters.http.fields import GroupedBody, GroupParameters, Moment, PageParameters, RowInput
from clearwell.adapters.http.request import ApiRequest, ApiRoute
from clearwell.ports import QuarantineFilter
from clearwell.records import Admission
from clearwell.views.captures import CaptureView, QuarantinePageView, QuarantineRowView, RequeuedRowView, RequeuedView
from clearwell.views.groups import IdView
from clearwell.views.memories import WorkingMemoryView

router = APIRouter(route_class=ApiRoute)

QUARANTINE, WORKING = "quarantine", "working memory"
MAX_IDS = 200
EntryId = Annotated[UUID, Path(alias="id")]


class QuarantineParameters(PageParameters):
    """Which rows of quarantine to list."""

    session_id: str | None = None
    agent_id: str | None = None
    node_type: str | None = None
    admission: Admission | None = None
    flag: str | None = Field(None, description="only outputs with this flag, such as conflict or hidden_text")
    words: str | None = Field(None, description="only outputs with these words in their text, in any case")
    since: Moment | None = Field(None, description="captured at this time or later")
    until: Moment | None = Field(None, description="captured before this time")
    proposed: bool | None = Field(
        None, description="with true, only outputs that agents proposed for review and nobody promoted"
    )
    ids: list[UUID] | None = Field(None, max_length=MAX_IDS, description="only these outputs")

    def to_filter(self) -> QuarantineFilter:
        return QuarantineFilter(
            session_id=self.session_id,
            agent_id=self.agent_id,
            node_type=self.node_type,
            admission=self.admission,
            flag=self.flag,
            words=self.words,
            since=self.since,
            until=self.until,
            proposed=self.proposed,
            ids=self.ids,
        )


class RequeueInput(GroupedBody):
    """Which refused outputs to queue again."""

    refused_by: str = Field(description="a check, judge_gave_up or admission_failed")


class AdmitInput(RowInput):
    """Why a refused output is admitted."""

    reason: str | None = Field(None, description="why the refusal was wrong")


ADMIT_EXAMPLES = openapi.examples(one={"group_id": "grp-123", "reason": "It quotes the policy."})
REQUEUE_EXAMPLES = openapi.examples(one={"group_id": "grp-123", "refused_by": "judge_gave_up"})


@router.get(
    "/api/v1/quarantine",
    tags=[QUARANTINE],
    summary="List the quarantine of a group",
    description="Newest first, in pages. A page compares up to 10,000 outputs with node_type, admission, flag, words "
    "and proposed, so it can be short or empty although next is not null. The group unassigned has the captures "
    "without a group. Requires the scope review or admin.",
    response_description="One page.",
    responses=openapi.problems(*openapi.READS),
)
async def rows(request: ApiRequest, parameters: Annotated[QuarantineParameters, Query()]) -> QuarantinePageView:
    page = await request.memory.quarantine_page(
        group=request.group(parameters), where=parameters.to_filter(), before=parameters.before, limit=parameters.limit
    )
    return QuarantinePageView.from_record(page, request.language)


@router.get(
    "/api/v1/quarantine/{id}",
    tags=[QUARANTINE],
    summary="Read an output with everything that happened to it",
    description="group_id is optional. Requires the scope review or admin.",
    response_description="The output.",
    responses=openapi.problems(*openapi.READS, 404),
)
async def row(
    request: ApiRequest, row_id: EntryId, parameters: Annotated[GroupParameters, Query()]
) -> QuarantineRowView:
    group_id = await request.group_of("row", row_id, parameters)
    return QuarantineRowView.from_record(await request.memory.quarantine_row(row_id, group=group_id), request.language)


@router.post(
    "/api/v1/quarantine/{id}/requeue",
    tags=[QUARANTINE],
    summary="Queue a refused output for the ingress pipeline again",
    description="A pending output is checked now. group_id is optional. Requires the scope admin.",
    status_code=202,
    response_description="The output is pending again.",
    responses={
        200: {"description": "It was pending already, and is tried now.", "model": RequeuedRowView},
        **openapi.problems(*openapi.WRITES, 404),
    },
)
async def requeue(
    request: ApiRequest,
    response: Response,
    row_id: EntryId,
    named: Annotated[RowInput, Body(openapi_examples=openapi.examples(one={"group_id": "grp-123"}))],
) -> RequeuedRowView:
    group_id = await request.group_of("row", row_id, named)
    was = await request.memory.requeue(row_id, group=group_id, idempotency_key=request.idempotency_key)
    response.status_code = 202 if was is Admission.REFUSED else 200
    return RequeuedRowView(id=row_id, was=was)


@router.post(
    "/api/v1/quarantine/{id}/admit",
    tags=[QUARANTINE],
    summary="Admit an output that was refused",
    description="A person admits it to working memory in one step. It keeps its verdicts and flags, and gets a "
    "verdict with the name of the person and the reason. 409 if it was not refused, if its text "
    "was rejected (lift the tombstone first), or if it was forgotten. group_id is optional. Requires the scope "
    "review.",
    response_description="The output is in working memory.",
    responses=openapi.problems(*openapi.WRITES, 404),
)
async def admit(
    request: ApiRequest, row_id: EntryId, named: Annotated[AdmitInput, Body(openapi_examples=ADMIT_EXAMPLES)]
) -> CaptureView:
    group_id = await request.group_of("row", row_id, named)
    receipt = await request.memory.admit_refused(
        row_id, group=group_id, reason=named.reason, idempotency_key=request.idempotency_key
    )
    return CaptureView.from_record(receipt, request.language)


@router.post(
    "/api/v1/quarantine/{id}/assign",
    tags=[QUARANTINE],
    summary="Assign an output without a group to a group",
    description="The group gets a row of its own with the same output, whose admission starts; the row in the reserved "
    "group unassigned stays. A repeated request gets the same row. Requires the scope admin in every group.",
    status_code=202,
    response_description="The output is stored in the group.",
    responses=openapi.problems(*openapi.WRITES, 404),
)
async def assign(
    request: ApiRequest,
    row_id: EntryId,
    named: Annotated[RowInput, Body(openapi_examples=openapi.examples(one={"group_id": "grp-123"}))],
) -> CaptureView:
    receipt = await request.memory.assign(row_id, group=request.group(named))
    return CaptureView.from_record(receipt, request.language)


@router.post(
    "/api/v1/quarantine/requeue",
    tags=[QUARANTINE],
    summary="Queue all outputs that a check refused again",
    description="Up to 500 outputs at a time, oldest first; more says whether there are more. refused_by is the "
    "name of a check, judge_gave_up for outputs that were refused because the judge did not answer, "
    "or admission_failed for outputs whose checks failed with an error. Requires the scope admin.",
    status_code=202,
    response_description="The outputs are pending again.",
    responses=openapi.problems(*openapi.WRITES),
)
async def requeue_refused(
    request: ApiRequest, wanted: Annotated[RequeueInput, Body(openapi_examples=REQUEUE_EXAMPLES)]
) -> RequeuedView:
    requeued = await request.memory.requeue_refused(
        wanted.refused_by, group=request.group(wanted), idempotency_key=request.idempotency_key
    )
    return RequeuedView.from_record(requeued)


@router.get(
    "/api/v1/working/{group_id:text}",
    tags=[WORKING],
    summary="Read the working memory of a group",
    description="The entries that have not expired, newest first, all unverified. Requires the scope read.",
    response_description="The entries.",
    responses=openapi.problems(*openapi.READS),
)
async def entries(request: ApiRequest, group_id: str) -> WorkingMemoryView:
    found = await request.memory.working_memory(group=group_id)
    return WorkingMemoryView.from_records(found, datetime.now(UTC), request.language)


@router.delete(
    "/api/v1/working/{group_id:text}/{id}",
    tags=[WORKING],
    summary="Remove an entry of working memory",
    description="Its output stays in quarantine, and a rebuild does not restore the entry. Requires the scope "
    "review or admin.",
    response_description="It was removed.",
    responses=openapi.problems(*openapi.READS, 404, 409),
)
async def remove(request: ApiRequest, group_id: str, entry_id: EntryId) -> IdView:
    await request.memory.remove_working_entry(entry_id, group=group_id, idempotency_key=request.idempotency_key)
    return IdView(id=entry_id)
