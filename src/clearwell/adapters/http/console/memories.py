"""Long-term memory: the list of memories with filters, one with its origin, and what a person can do with it."""

from datetime import date
from typing import Annotated, Literal
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import Response

from clearwell.adapters.http.console.fields import Filters, Optional, end_of, start_of
from clearwell.adapters.http.console.navigation import page_url
from clearwell.adapters.http.console.request import ConsoleRequest, ConsoleRoute
from clearwell.ports import MemoryFilter
from clearwell.records import MemoryState, Origin
from clearwell.views.provenance import MemoryPageView, ProvenanceView

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)

PAGE = 30
EVERY = "all"


class MemoryFilters(Filters):
    """Which memories to show."""

    state: Literal["verified", "promoting", "withdrawn", "forgotten", "all"] = "verified"
    origin: Optional[Origin] = None
    agent: Optional[str] = None
    session: Optional[str] = None
    by: Optional[str] = None
    since: Optional[date] = None
    until: Optional[date] = None
    words: Optional[str] = None
    disputed: bool = False
    unused: bool = False

    def to_filter(self) -> MemoryFilter:
        return MemoryFilter(
            state=None if self.state == EVERY else MemoryState(self.state),
            origin=self.origin,
            agent_id=self.agent,
            session_id=self.session,
            promoted_by=self.by,
            since=start_of(self.since),
            until=end_of(self.until),
            words=self.words,
            disputed=self.disputed,
            unused=self.unused,
        )


@router.get("/g/{group:path}/memories")
async def memories(request: ConsoleRequest, group: str, filters: Annotated[MemoryFilters, Query()]) -> Response:
    found = await request.review.memories(group=group, where=filters.to_filter(), before=filters.before, limit=PAGE + 1)
    page = MemoryPageView.from_records(found, PAGE, request.language, await request.key_names())
    return request.page(
        "memories.html",
        group=group,
        memories=page.memories,
        next=None if page.next is None else urlencode({**filters.kept, "before": str(page.next)}),
        filters=filters,
        states=(*MemoryState, EVERY),
        origins=tuple(Origin),
    )


@router.get("/g/{group:path}/memories/{memory_id}")
async def memory(request: ConsoleRequest, group: str, memory_id: UUID) -> Response:
    found = await request.review.origin(memory_id, group=group)
    origin = ProvenanceView.from_record(memory_id, found, request.language, await request.key_names())
    spans = {
        source.log_id: source.span
        for insight in origin.insights
        for source in insight.sources
        if source.span is not None
    }
    undone = {decision.undoes for decision in origin.decisions}
    return request.page("memory.html", group=group, origin=origin, spans=spans, undone=undone)


@router.post("/g/{group:path}/memories/{memory_id}/withdraw")
async def withdraw(request: ConsoleRequest, group: str, memory_id: UUID) -> Response:
    await request.review.withdraw(memory_id, group=group, reason=request.sent.get("reason", ""))
    return request.redirect(f"{page_url(group, 'memories')}/{memory_id}")


@router.post("/g/{group:path}/memories/{memory_id}/replace")
async def replace(request: ConsoleRequest, group: str, memory_id: UUID) -> Response:
    made = await request.memory.promote(
        request.sent.get("text", ""), group=group, supersedes=memory_id, acknowledge=request.acknowledged
    )
    return request.redirect(f"{page_url(group, 'memories')}/{made.id}")


@router.post("/g/{group:path}/memories/{memory_id}/undo")
async def undo(request: ConsoleRequest, group: str, memory_id: UUID) -> Response:
    await request.review.undo(UUID(request.sent.get("decision", "")), group=group)
    return request.redirect(f"{page_url(group, 'memories')}/{memory_id}")
