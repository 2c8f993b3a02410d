"""Digests: have one made, and read what it shows."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from clearwell.adapters.http import answers, digest_answers, openapi
from clearwell.adapters.http.bodies import given
from clearwell.adapters.http.callers import Caller, group_in, running
from clearwell.adapters.http.inputs import DigestInput, DigestsParameters, RowParameters
from clearwell.adapters.http.language import language_of
from clearwell.adapters.http.schemas.digests import DigestAnswer, DigestRequestAnswer, DigestsAnswer

router = APIRouter(tags=["digests"])


@router.post(
    "/api/v1/digests",
    summary="Have a digest made",
    description="A worker turns a group's quarantine into a few insights for a reviewer; ask for it by its id until "
    "its status is done. A group has one digest at a time: while one is being made, that one is the answer. The scope "
    "review or admin is needed.",
    status_code=202,
    responses=openapi.responses(
        {202: ("It is queued, or was running already.", [DigestRequestAnswer])}, openapi.WRITES
    ),
    openapi_extra=openapi.body(DigestInput, examples={"one": {"group_id": "grp-123"}}),
)
async def request_digest(request: Request, caller: Caller) -> Response:
    wanted, key = await given(request, caller, DigestInput)
    made, status = await running(request).memory.request_digest(group_in(wanted, caller), by=caller, request=key)
    location = {"Location": f"/api/v1/digests/{made}"}
    return answers.answer({"id": made, "group_id": group_in(wanted, caller), "status": status}, 202, location)


@router.get(
    "/api/v1/digests",
    summary="List a group's digests",
    description="Newest first, a page at a time, without their insights. The scope review or admin is needed.",
    responses=openapi.responses({200: ("A page.", [DigestsAnswer])}, openapi.READS),
)
async def digests(request: Request, caller: Caller, parameters: Annotated[DigestsParameters, Query()]) -> Response:
    limit, language = parameters.limit, language_of(request)
    found = await running(request).memory.digests(
        group_in(parameters, caller), by=caller, before=parameters.before, limit=limit + 1
    )
    return answers.page("digests", found, limit, lambda one: digest_answers.digest(one, language))


@router.get(
    "/api/v1/digests/{id}",
    summary="Read a digest",
    description="Its status and progress, and once it is done its insights with their sources. group_id may be left "
    "out. The scope review or admin is needed.",
    responses=openapi.responses({200: ("The digest.", [DigestAnswer])}, (*openapi.READS, 404)),
)
async def digest(
    request: Request,
    caller: Caller,
    digest_id: Annotated[UUID, Path(alias="id")],
    parameters: Annotated[RowParameters, Query()],
) -> Response:
    found = await running(request).memory.digest(digest_id, by=caller, group_id=parameters.named_group)
    return answers.answer(digest_answers.whole_digest(found, language_of(request)))
