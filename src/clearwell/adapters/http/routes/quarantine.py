"""Tier 1, the reviewer's side: every output with its whole fate."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from clearwell.adapters.http import answers, openapi
from clearwell.adapters.http.bodies import given
from clearwell.adapters.http.callers import Caller, group_in, group_of, running
from clearwell.adapters.http.inputs import QuarantineParameters, RequeueInput, RowInput, RowParameters
from clearwell.adapters.http.language import language_of
from clearwell.adapters.http.schemas.quarantine import PageAnswer, RequeueAnswer, RequeuedAnswer, RowAnswer
from clearwell.records import Admission

router = APIRouter(tags=["quarantine"])


@router.get(
    "/api/v1/quarantine",
    summary="List a group's quarantine",
    description="Newest first, a page at a time. The scope review or admin is needed. The group unassigned holds the "
    "captures that named no group.",
    responses=openapi.responses({200: ("A page.", [PageAnswer])}, openapi.READS),
)
async def rows(request: Request, caller: Caller, parameters: Annotated[QuarantineParameters, Query()]) -> Response:
    language, limit = language_of(request), parameters.limit
    found = await running(request).memory.quarantine_rows(
        group_in(parameters, caller), by=caller, where=parameters.where(), before=parameters.before, limit=limit + 1
    )
    return answers.page("rows", found, limit, lambda one: answers.quarantine_row(one, language))


@router.get(
    "/api/v1/quarantine/{id}",
    summary="Read one output and its fate",
    description="The scope review or admin is needed. group_id may be left out.",
    responses=openapi.responses({200: ("The row.", [RowAnswer])}, (*openapi.READS, 404)),
)
async def row(
    request: Request,
    caller: Caller,
    row_id: Annotated[UUID, Path(alias="id")],
    parameters: Annotated[RowParameters, Query()],
) -> Response:
    group_id = await group_of(request, caller, "row", row_id, parameters.named_group)
    found = await running(request).memory.quarantine_row(group_id, row_id, by=caller)
    return answers.answer(answers.quarantine_row(found, language_of(request)))


@router.post(
    "/api/v1/quarantine/{id}/requeue",
    summary="Put a refused output through the filter again",
    description="One that is pending is tried now. The scope admin is needed. group_id may be left out.",
    status_code=202,
    responses=openapi.responses(
        {
            202: ("It is pending again.", [RequeueAnswer]),
            200: ("It was pending already, and is tried now.", [RequeueAnswer]),
        },
        (*openapi.WRITES, 404),
    ),
    openapi_extra=openapi.body(RowInput, examples={"one": {"group_id": "grp-123"}}),
)
async def requeue(request: Request, caller: Caller, row_id: Annotated[UUID, Path(alias="id")]) -> Response:
    named, key = await given(request, caller, RowInput)
    group_id = await group_of(request, caller, "row", row_id, named.named_group)
    was = await running(request).memory.requeue(group_id, row_id, by=caller, request=key)
    return answers.answer({"id": row_id, "was": was}, 202 if was is Admission.REFUSED else 200)


@router.post(
    "/api/v1/quarantine/requeue",
    summary="Put everything that a check refused through the filter again",
    description="Up to 500 rows at a time, the oldest first; more says whether there are more. refused_by is the name "
    "of a check, judge_gave_up for what was refused because the judge never answered, or admission_failed for what was "
    "refused because its checks failed with an error. The scope admin is needed.",
    status_code=202,
    responses=openapi.responses({202: ("They are pending again.", [RequeuedAnswer])}, openapi.WRITES),
    openapi_extra=openapi.body(RequeueInput, examples={"one": {"group_id": "grp-123", "refused_by": "judge_gave_up"}}),
)
async def requeue_refused(request: Request, caller: Caller) -> Response:
    wanted, key = await given(request, caller, RequeueInput)
    done = await running(request).memory.requeue_refused(
        group_in(wanted, caller), wanted.refused_by, by=caller, request=key
    )
    return answers.answer({"requeued": done.rows, "more": done.more}, 202)
