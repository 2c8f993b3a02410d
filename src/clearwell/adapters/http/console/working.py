"""Working memory of a group: the entries of now, until when each is there, and what a person can do with it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from clearwell.adapters.http.console.inbox import read_id
from clearwell.adapters.http.console.navigation import page_url
from clearwell.adapters.http.console.request import NOTICE, ConsoleRequest, ConsoleRoute
from clearwell.errors import InvalidInput, WorkingMemoryUnavailable
from clearwell.ports import MemoryFilter
from clearwell.records import MemoryState, NewMemory, Origin, WorkingEntry
from clearwell.views.memories import WorkingEntryView

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)


Done = Literal["promoted", "removed", "undone"]
MAX_PROMOTED = 200
"""This many of the newest promotions are compared with the entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What became of an entry: its text, the page of the memory or output that it is now, and what can be undone."""

    action: Done
    entry_id: UUID
    text: str
    address: str
    decision_id: UUID | None = None


@router.get("/g/{group:path}/working")
async def working(request: ConsoleRequest, group: str) -> Response:
    return await _show(request, group)


@router.post("/g/{group:path}/working/{entry_id}/promote")
async def promote(request: ConsoleRequest, group: str, entry_id: UUID) -> Response:
    text = NewMemory(content="", acknowledge=request.acknowledged)
    made = await request.review.promote_entry(entry_id, text, group=group)
    decided = made.decision_id if made.recorded and not made.already else None
    return await _show_change(request, group, entry_id, "promoted", place=f"memories/{made.id}", decision_id=decided)


@router.post("/g/{group:path}/working/{entry_id}/undo")
async def undo(request: ConsoleRequest, group: str, entry_id: UUID) -> Response:
    """Undo the promotion of an entry."""
    decision_id = read_id(request.sent.get("decision", ""))
    if decision_id is None:
        raise InvalidInput("console_nothing_selected", field="decision")
    await request.review.undo(decision_id, group=group)
    return await _show_change(request, group, entry_id, "undone", place=f"quarantine/{entry_id}")


@router.post("/g/{group:path}/working/{entry_id}/remove")
async def remove(request: ConsoleRequest, group: str, entry_id: UUID) -> Response:
    await request.memory.remove_working_entry(entry_id, group=group)
    return await _show_change(request, group, entry_id, "removed", place=f"quarantine/{entry_id}")


async def _show_change(
    request: ConsoleRequest, group: str, entry_id: UUID, action: Done, *, place: str, decision_id: UUID | None = None
) -> Response:
    """The entries of now with a message about the change; without a script the page, which says what was done."""
    if not request.is_fragment:
        return request.redirect(page_url(group, "working"), notice=f"{NOTICE}entry_{action}")
    row = await request.memory.quarantine_row(entry_id, group=group)
    change = Change(
        action=action,
        entry_id=entry_id,
        text=row.capture.content,
        address=page_url(group, place),
        decision_id=decision_id,
    )
    return await _show(request, group, change)


async def find_promoted(request: ConsoleRequest, group: str, entries: Iterable[WorkingEntry]) -> dict[UUID, UUID]:
    """The memories that entries were promoted to, by entry."""
    ids = {entry.id: entry.created_at for entry in entries}
    if not ids:
        return {}
    found = {}
    for origin in (Origin.WORKING, Origin.QUARANTINE):
        where = MemoryFilter(origin=origin, since=min(ids.values()))
        for memory in await request.review.memories(group=group, where=where, limit=MAX_PROMOTED):
            promotion = memory.promotion.promotion
            is_valid = memory.promotion.state in (MemoryState.VERIFIED, MemoryState.PROMOTING)
            if is_valid and promotion.text.origin_id in ids:
                found[promotion.text.origin_id] = promotion.memory_id
    return found


async def _show(request: ConsoleRequest, group: str, change: Change | None = None) -> Response:
    now = datetime.now(UTC)
    try:
        found, is_down = await request.memory.working_memory(group=group), False
    except WorkingMemoryUnavailable:
        found, is_down = [], True
    entries = [WorkingEntryView.from_record(entry, now, request.language) for entry in found]
    template = (
        "working.html" if not request.is_fragment else "working_changed.html" if change else "working_entries.html"
    )
    promoted = await find_promoted(request, group, found)
    return request.page(template, group=group, entries=entries, promoted=promoted, change=change, is_down=is_down)
