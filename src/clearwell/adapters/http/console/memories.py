"""Long-term memory: the list of memories with filters, one with its origin, and what a person can do with it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Annotated, Literal
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import Response

from clearwell.adapters.http.console.fields import Filters, Optional, end_of, start_of
from clearwell.adapters.http.console.ids import find_id
from clearwell.adapters.http.console.inbox import read_id
from clearwell.adapters.http.console.navigation import page_url
from clearwell.adapters.http.console.request import NOTICE, ConsoleRequest, ConsoleRoute
from clearwell.adapters.http.console.templates import Notice
from clearwell.adapters.http.problems import make_printable
from clearwell.errors import NotFound
from clearwell.flow.review.dossier import diff_words
from clearwell.ports import MemoryFilter
from clearwell.records import Action, DiffPiece, MemoryState, Origin
from clearwell.views.provenance import ListedMemoryView, MemoryPageView, ProvenanceView
from clearwell.vocabulary import IdKind

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)

PAGE = 30
EVERY = "all"
MAX_VERSIONS = 20
"""This many later and this many earlier versions of a memory are shown."""


class MemoryFilters(Filters):
    """Which memories to show."""

    state: Literal["verified", "promoting", "withdrawn", "forgotten", "all"] = "verified"
    origin: Optional[Origin] = None
    agent: Optional[str] = None
    session: Optional[str] = None
    by: Optional[str] = None
    since: Optional[date] = None
    until: Optional[date] = None
    q: Optional[str] = None
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
            words=self.q,
            disputed=self.disputed,
            unused=self.unused,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A memory in the line of those that superseded one another, with the words that differ from the one before."""

    memory: ListedMemoryView
    diff: Sequence[DiffPiece]

    @property
    def as_of(self) -> datetime:
        """A moment just after it was promoted, as exact as the field of a form is."""
        after = self.memory.decided_at + timedelta(milliseconds=1)
        return after.replace(microsecond=after.microsecond // 1000 * 1000)


@router.get("/g/{group:path}/memories")
async def memories(request: ConsoleRequest, group: str, filters: Annotated[MemoryFilters, Query()]) -> Response:
    """A page of the list. An id leads to its memory."""
    if filters.q is not None and (found_id := await find_id(request, group, filters.q, IdKind.MEMORY)):
        return request.redirect(f"{page_url(group, 'memories')}/{found_id}")
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
async def memory(request: ConsoleRequest, group: str, memory_id: str) -> Response:
    """One memory, by its id or the short form of it."""
    whole = read_id(memory_id)
    if whole is None:
        whole = await find_id(request, group, memory_id, IdKind.MEMORY)
        if whole is None:
            raise NotFound("console_no_memory", id=make_printable(memory_id))
        return request.redirect(f"{page_url(group, 'memories')}/{whole}")
    return await _show_memory(request, group, whole)


async def _show_memory(request: ConsoleRequest, group: str, memory_id: UUID) -> Response:
    found = await request.review.origin(memory_id, group=group)
    origin = ProvenanceView.from_record(memory_id, found, request.language, await request.key_names())
    spans = {
        source.log_id: source.span
        for insight in origin.insights
        for source in insight.sources
        if source.span is not None
    }
    versions = await find_versions(request, group, origin)
    others = await read_memories(request, group, origin.conflicts_with)
    return request.page(
        "memory.html",
        group=group,
        origin=origin,
        spans=spans,
        undone={decision.undoes for decision in origin.decisions},
        used=next(version.memory for version in versions if version.memory.memory_id == memory_id),
        versions=versions,
        contradicted=list(others.values()),
    )


@router.post("/g/{group:path}/memories/{memory_id}/withdraw")
async def withdraw(request: ConsoleRequest, group: str, memory_id: UUID) -> Response:
    await request.review.withdraw(memory_id, group=group, reason=request.sent.get("reason", ""))
    return request.redirect(f"{page_url(group, 'memories')}/{memory_id}", notice=f"{NOTICE}memory_withdrawn")


@router.post("/g/{group:path}/memories/{memory_id}/replace")
async def replace(request: ConsoleRequest, group: str, memory_id: UUID) -> Response:
    made = await request.memory.promote(
        request.sent.get("text", ""), group=group, supersedes=memory_id, acknowledge=request.acknowledged
    )
    notice = Notice(f"{NOTICE}memory_replaced", len(made.removed), bool(made.degraded))
    return request.redirect(f"{page_url(group, 'memories')}/{made.id}", notice=notice)


@router.post("/g/{group:path}/memories/{memory_id}/undo")
async def undo(request: ConsoleRequest, group: str, memory_id: UUID) -> Response:
    await request.review.undo(UUID(request.sent.get("decision", "")), group=group)
    return request.redirect(f"{page_url(group, 'memories')}/{memory_id}", notice=f"{NOTICE}decision_undone")


async def find_versions(request: ConsoleRequest, group: str, origin: ProvenanceView) -> list[Version]:
    """A memory, those that superseded it one after the other, and those that it superseded in turn, newest first."""
    ids = [*reversed(await find_successors(request, group, origin)), origin.id]
    found = await read_memories(request, group, ids)
    line = [found[each] for each in ids if each in found]
    while (earlier := line[-1].supersedes) is not None and len(line) < len(ids) + MAX_VERSIONS:
        read = await read_memories(request, group, [earlier])
        if earlier not in read or earlier in {memory.memory_id for memory in line}:
            break
        line.append(read[earlier])
    before = [memory.content for memory in line[1:]] + [line[-1].content]
    return [
        Version(memory=memory, diff=diff_words(old, memory.content)) for memory, old in zip(line, before, strict=True)
    ]


async def find_successors(request: ConsoleRequest, group: str, origin: ProvenanceView) -> list[UUID]:
    """The memory that superseded this one, the one that superseded that, and so on."""
    found: list[UUID] = []
    following = find_successor(origin)
    while following is not None and following not in (origin.id, *found) and len(found) < MAX_VERSIONS:
        found.append(following)
        read = await request.review.origin(following, group=group)
        following = find_successor(ProvenanceView.from_record(following, read, request.language, {}))
    return found


def find_successor(origin: ProvenanceView) -> UUID | None:
    """The memory that superseded this one, by the last decision that is not undone."""
    undone = {decision.undoes for decision in origin.decisions}
    found = [
        decision.memory_id
        for decision in origin.decisions
        if decision.action is Action.PROMOTE and decision.supersedes == origin.id and decision.id not in undone
    ]
    return found[-1] if found and found[-1] != origin.id else None


async def read_memories(request: ConsoleRequest, group: str, ids: Iterable[UUID]) -> Mapping[UUID, ListedMemoryView]:
    """Memories in every state, by id; the last promotion of each."""
    wanted = list(ids)
    if not wanted:
        return {}
    listed = await request.review.memories(group=group, where=MemoryFilter(ids=wanted))
    names = await request.key_names()
    views = [ListedMemoryView.from_listed(memory, request.language, names) for memory in reversed(listed)]
    return {view.memory_id: view for view in views}
