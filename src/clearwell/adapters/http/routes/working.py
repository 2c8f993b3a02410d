"""Tier 2: what passed the filter, for a day."""

from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from clearwell.adapters.http import answers, openapi
from clearwell.adapters.http.bodies import idempotency_key
from clearwell.adapters.http.callers import Caller, running
from clearwell.adapters.http.language import language_of
from clearwell.adapters.http.schemas.memory import WorkingAnswer
from clearwell.adapters.http.schemas.quarantine import IdAnswer

router = APIRouter(tags=["working memory"])


@router.get(
    "/api/v1/working/{group_id:path}",
    summary="Read a group's working memory",
    description="The live entries, newest first, each unverified. The scope read is needed.",
    responses=openapi.responses({200: ("The live entries.", [WorkingAnswer])}, openapi.READS),
)
async def entries(request: Request, caller: Caller, group_id: str) -> Response:
    found = await running(request).memory.working_memory(group_id, by=caller)
    now, language = datetime.now(UTC), language_of(request)
    return answers.answer({"entries": [answers.working_entry(one, now, language) for one in found]})


@router.delete(
    "/api/v1/working/{group_id:path}/{id}",
    summary="Take one entry out of working memory",
    description="It stays in quarantine, and a rebuild does not bring it back. The scope review or admin is needed.",
    responses=openapi.responses({200: ("It is gone.", [IdAnswer])}, (*openapi.READS, 404, 409)),
)
async def remove(
    request: Request, caller: Caller, group_id: str, entry_id: Annotated[UUID, Path(alias="id")]
) -> Response:
    key = idempotency_key(request, caller, b"")
    await running(request).memory.remove_working_entry(group_id, entry_id, by=caller, request=key)
    return answers.answer({"id": entry_id})
