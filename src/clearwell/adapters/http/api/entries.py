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
EntryId = Annotated[UUID, Path(alias="id")]


class QuarantineParameters(PageParameters):
    """Which rows of quarantine to list."""

    session_id: str | None = None
    agent_id: str | None = None
    node_type: str | None = None
    admission: Admission | None = None
    since: Moment | None = Field(None, description="captured at this time or later")
    until: Moment | None = Field(None, description="captured before this time")

    def to_filter(self) -> QuarantineFilter:
        return QuarantineFilter(
            session_id=self.session_id,
            agent_id=self.agent_id,
            node_type=self.node_type,
            admission=self.admission,
            since=self.since,
            until=self.until,
        )


class RequeueInput(GroupedBody):
    """Which refused rows to put back."""

    refused_by: str = Field(description="a check, judge_gave_up or admission_failed")


class AdmitInput(RowInput):
    """Why a refused output is admitted."""

    reason: str | None = Field(None, description="why it should not have been refused")


ADMIT_EXAMPLES = openapi.examples(one={"group_id": "grp-123", "reason": "It quotes the policy."})
REQUEUE_EXAMPLES = openapi.examples(one={"group_id": "grp-123", "refused_by": "judge_gave_up"})


@router.get(
    "/api/v1/quarantine",
    tags=[QUARANTINE],
    summary="List a group's quarantine",
    description="Newest first, a page at a time. The scope review or admin is needed. The group unassigned holds the "
    "captures that named no group.",
    response_description="A page.",
    responses=openapi.problems(*openapi.READS),
)
async def rows(request: ApiRequest, parameters: Annotated[QuarantineParameters, Query()]) -> QuarantinePageView:
    found = await request.memory.quarantine_rows(
        request.group(parameters),
        by=request.caller,
        where=parameters.to_filter(),
        before=parameters.before,
        limit=parameters.limit + 1,
    )
    return QuarantinePageView.from_records(found, parameters.limit, request.language)


@router.get(
    "/api/v1/quarantine/{id}",
    tags=[QUARANTINE],
    summary="Read one output and its fate",
    description="The scope review or admin is needed. group_id may be left out.",
    response_description="The row.",
    responses=openapi.problems(*openapi.READS, 404),
)
async def row(
    request: ApiRequest, row_id: EntryId, parameters: Annotated[GroupParameters, Query()]
) -> QuarantineRowView:
    group_id = await request.group_of("row", row_id, parameters)
    return QuarantineRowView.from_record(
        await request.memory.quarantine_row(group_id, row_id, by=request.caller), request.language
    )


@router.post(
    "/api/v1/quarantine/{id}/requeue",
    tags=[QUARANTINE],
    summary="Queue a refused output for the ingress pipeline again",
    description="One that is pending is tried now. The scope admin is needed. group_id may be left out.",
    status_code=202,
    response_description="It is pending again.",
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
    was = await request.memory.requeue(group_id, row_id, by=request.caller, request=request.idempotency_key)
    response.status_code = 202 if was is Admission.REFUSED else 200
    return RequeuedRowView(id=row_id, was=was)


@router.post(
    "/api/v1/quarantine/{id}/admit",
    tags=[QUARANTINE],
    summary="Admit an output that was refused",
    description="A person puts it into working memory in one step. It keeps its verdicts and flags, and gets a verdict "
    "that names the person and the reason. 409 if it is not refused, or if its text was rejected or forgotten: lift "
    "the tombstone first. The scope review is needed. group_id may be left out.",
    response_description="It is in working memory.",
    responses=openapi.problems(*openapi.WRITES, 404),
)
async def admit(
    request: ApiRequest, row_id: EntryId, named: Annotated[AdmitInput, Body(openapi_examples=ADMIT_EXAMPLES)]
) -> CaptureView:
    group_id = await request.group_of("row", row_id, named)
    receipt = await request.memory.admit_refused(
        group_id, row_id, by=request.caller, reason=named.reason, request=request.idempotency_key
    )
    return CaptureView.from_record(receipt, request.language)


@router.post(
    "/api/v1/quarantine/requeue",
    tags=[QUARANTINE],
    summary="Queue everything that a check refused again",
    description="Up to 500 rows at a time, the oldest first; more says whether there are more. refused_by is the name "
    "of a check, judge_gave_up for what was refused because the judge never answered, or admission_failed for what was "
    "refused because its checks failed with an error. The scope admin is needed.",
    status_code=202,
    response_description="They are pending again.",
    responses=openapi.problems(*openapi.WRITES),
)
async def requeue_refused(
    request: ApiRequest, wanted: Annotated[RequeueInput, Body(openapi_examples=REQUEUE_EXAMPLES)]
) -> RequeuedView:
    requeued = await request.memory.requeue_refused(
        request.group(wanted), wanted.refused_by, by=request.caller, request=request.idempotency_key
    )
    return RequeuedView.from_record(requeued)


@router.get(
    "/api/v1/working/{group_id:path}",
    tags=[WORKING],
    summary="Read a group's working memory",
    description="The live entries, newest first, each unverified. The scope read is needed.",
    response_description="The live entries.",
    responses=openapi.problems(*openapi.READS),
)
async def entries(request: ApiRequest, group_id: str) -> WorkingMemoryView:
    found = await request.memory.working_memory(group_id, by=request.caller)
    return WorkingMemoryView.from_records(found, datetime.now(UTC), request.language)


@router.delete(
    "/api/v1/working/{group_id:path}/{id}",
    tags=[WORKING],
    summary="Take one entry out of working memory",
    description="It stays in quarantine, and a rebuild does not bring it back. The scope review or admin is needed.",
    response_description="It is gone.",
    responses=openapi.problems(*openapi.READS, 404, 409),
)
async def remove(request: ApiRequest, group_id: str, entry_id: EntryId) -> IdView:
    await request.memory.remove_working_entry(group_id, entry_id, by=request.caller, request=request.idempotency_key)
    return IdView(id=entry_id)
