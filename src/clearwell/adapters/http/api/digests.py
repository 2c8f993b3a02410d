"""Digests: request and read them."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body, Path, Query, Response

from clearwell.adapters.http import openapi
from clearwell.adapters.http.fields import GroupedBody, GroupParameters, PageParameters
from clearwell.adapters.http.request import ApiRequest, ApiRoute
from clearwell.views.digests import DigestPageView, DigestRequestView, DigestView

router = APIRouter(tags=["digests"], route_class=ApiRoute)


class DigestInput(GroupedBody):
    """The group to create a digest for."""


@router.post(
    "/api/v1/digests",
    summary="Request a digest",
    description="A worker condenses the quarantine of the group into a few insights for a reviewer. Read the "
    "digest by its id until its status is done or failed. A group has one digest at a time: if one is"
    " being created, that one is returned. Requires the scope review or admin.",
    status_code=202,
    response_description="The digest is queued, or was already running.",
    responses=openapi.problems(*openapi.WRITES),
)
async def request_digest(
    request: ApiRequest,
    response: Response,
    wanted: Annotated[DigestInput, Body(openapi_examples=openapi.examples(one={"group_id": "grp-123"}))],
) -> DigestRequestView:
    group_id = request.group(wanted)
    digest_id, status = await request.memory.request_digest(group=group_id, idempotency_key=request.idempotency_key)
    response.headers["Location"] = f"/api/v1/digests/{digest_id}"
    return DigestRequestView(id=digest_id, group_id=group_id, status=status)


@router.get(
    "/api/v1/digests",
    summary="List the digests of a group",
    description="Newest first, in pages, without their insights. Requires the scope review or admin.",
    response_description="One page.",
    responses=openapi.problems(*openapi.READS),
)
async def digests(request: ApiRequest, parameters: Annotated[PageParameters, Query()]) -> DigestPageView:
    found = await request.memory.digests(
        group=request.group(parameters), before=parameters.before, limit=parameters.limit + 1
    )
    return DigestPageView.from_records(found, parameters.limit, request.language)


@router.get(
    "/api/v1/digests/{id}",
    summary="Read a digest",
    description="Its status and progress and, when it is done, its insights with their sources. group_id is "
    "optional. Requires the scope review or admin.",
    response_description="The digest.",
    responses=openapi.problems(*openapi.READS, 404),
)
async def digest(
    request: ApiRequest,
    digest_id: Annotated[UUID, Path(alias="id")],
    parameters: Annotated[GroupParameters, Query()],
) -> DigestView:
    found = await request.memory.digest(digest_id, group=parameters.named_group)
    return DigestView.from_record(found, request.language)
