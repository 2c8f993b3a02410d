"""Values that must not come back."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from clearwell.adapters.http import answers, openapi
from clearwell.adapters.http.bodies import given
from clearwell.adapters.http.callers import Caller, group_in, group_of_row, names, running
from clearwell.adapters.http.inputs import GroupParameters, RowInput, TombstoneInput
from clearwell.adapters.http.schemas.quarantine import IdAnswer, TombstonesAnswer

router = APIRouter(tags=["tombstones"])
EXAMPLES = {"one": {"group_id": "grp-123", "value": "服务器的管理口令是 admin123。", "reason": "不实，且涉及口令"}}


@router.get(
    "/api/v1/tombstones",
    summary="List a group's tombstones",
    description="The newest first, lifted ones too. The values themselves are not kept. The scope review or admin is "
    "needed.",
    responses=openapi.responses({200: ("The tombstones.", [TombstonesAnswer])}, openapi.READS),
)
async def tombstones(request: Request, caller: Caller, parameters: Annotated[GroupParameters, Query()]) -> Response:
    found = await running(request).memory.tombstones(group_in(parameters, caller), by=caller)
    known = await names(request)
    return answers.answer({"tombstones": [answers.tombstone(one, known) for one in found]})


@router.post(
    "/api/v1/tombstones",
    summary="Reject a value",
    description="It is refused at ingress from now on, however it is written; text like it is flagged. The scope "
    "review or admin is needed.",
    status_code=201,
    responses=openapi.responses({201: ("It stands.", [IdAnswer])}, openapi.WRITES),
    openapi_extra=openapi.body(TombstoneInput, examples=EXAMPLES),
)
async def add(request: Request, caller: Caller) -> Response:
    wanted, key = await given(request, caller, TombstoneInput)
    made = await running(request).memory.add_tombstone(
        group_in(wanted, caller),
        wanted.value,
        reason=wanted.reason,
        by=caller,
        request=key,
    )
    return answers.answer({"id": made}, 201)


@router.post(
    "/api/v1/tombstones/{id}/lift",
    summary="Take a rejection back",
    description="What was forgotten stays forgotten. The scope review or admin is needed.",
    responses=openapi.responses({200: ("It is lifted.", [IdAnswer])}, (*openapi.WRITES, 404)),
    openapi_extra=openapi.body(RowInput, examples={"one": {"group_id": "grp-123"}}),
)
async def lift(request: Request, caller: Caller, tombstone_id: Annotated[UUID, Path(alias="id")]) -> Response:
    named, key = await given(request, caller, RowInput)
    group_id = group_of_row(named.named_group, caller)
    await running(request).memory.lift_tombstone(group_id, tombstone_id, by=caller, request=key)
    return answers.answer({"id": tombstone_id})
