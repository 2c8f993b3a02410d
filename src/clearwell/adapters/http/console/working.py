"""Working memory of a group: the entries of now, until when each is there, and what a person can do with it."""

from datetime import UTC, datetime
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from clearwell.adapters.http.console.navigation import page_url
from clearwell.adapters.http.console.request import ConsoleRequest, ConsoleRoute
from clearwell.records import NewMemory
from clearwell.views.memories import WorkingEntryView

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)


@router.get("/g/{group:path}/working")
async def working(request: ConsoleRequest, group: str) -> Response:
    now = datetime.now(UTC)
    found = await request.memory.working_memory(group=group)
    entries = [WorkingEntryView.from_record(entry, now, request.language) for entry in found]
    template = "working_entries.html" if request.is_fragment else "working.html"
    return request.page(template, group=group, entries=entries)


@router.post("/g/{group:path}/working/{entry_id}/promote")
async def promote(request: ConsoleRequest, group: str, entry_id: UUID) -> Response:
    text = NewMemory(content="", acknowledge=request.acknowledged)
    made = await request.review.promote_entry(entry_id, text, group=group)
    return request.redirect(f"{page_url(group, 'memories')}/{made.id}")


@router.post("/g/{group:path}/working/{entry_id}/remove")
async def remove(request: ConsoleRequest, group: str, entry_id: UUID) -> Response:
    await request.memory.remove_working_entry(entry_id, group=group)
    return request.redirect(page_url(group, "working"))
