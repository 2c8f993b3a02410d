"""Quarantine: the outputs of a group by filters, and one output with everything that happened to it."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Query
from markupsafe import Markup
from starlette.responses import Response

from clearwell.adapters.http.console.fields import Filters, Optional, end_of, start_of
from clearwell.adapters.http.console.markdown import show_plain
from clearwell.adapters.http.console.navigation import page_url
from clearwell.adapters.http.console.request import ConsoleRequest, ConsoleRoute
from clearwell.errors import NotAllowed, Unavailable
from clearwell.messages import Language, say
from clearwell.ports import QuarantineFilter
from clearwell.records import Admission, NewMemory, Outcome, WorkingEntry
from clearwell.views.captures import QuarantinePageView, QuarantineRowView, StatementView
from clearwell.views.provenance import ProvenanceView

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)

PAGE = 40


class OutputFilters(Filters):
    """Which outputs to show."""

    admission: Optional[Admission] = None
    agent: Optional[str] = None
    session: Optional[str] = None
    node_type: Optional[str] = None
    flag: Optional[str] = None
    q: Optional[str] = None
    since: Optional[date] = None
    until: Optional[date] = None

    def to_filter(self) -> QuarantineFilter:
        return QuarantineFilter(
            admission=self.admission,
            agent_id=self.agent,
            session_id=self.session,
            node_type=self.node_type,
            flag=self.flag,
            words=self.q,
            since=start_of(self.since),
            until=end_of(self.until),
        )


@router.get("/g/{group:path}/quarantine")
async def quarantine(
    request: ConsoleRequest, group: str, filters: Annotated[OutputFilters, Query()], shown: int = 0
) -> Response:
    """A page, or the part of one that goes on where the search for ``shown`` outputs stopped."""
    wanted = max(PAGE - shown, 1)
    found = await request.memory.quarantine_page(
        group=group, where=filters.to_filter(), before=filters.before, limit=wanted
    )
    page = QuarantinePageView.from_record(found, request.language)
    return request.page(
        "quarantine_rows.html" if request.is_fragment else "quarantine.html",
        group=group,
        rows=[(row, _name_refusal(row)) for row in page.rows],
        shown=shown + len(page.rows),
        next=None if page.next is None else urlencode({**filters.kept, "before": str(page.next)}),
        searched_to=None if page.next is None or len(page.rows) == wanted else time_of(page.next),
        filters=filters,
        admissions=tuple(Admission),
    )


@router.get("/g/{group:path}/quarantine/{log_id}")
async def output(request: ConsoleRequest, group: str, log_id: UUID) -> Response:
    row = QuarantineRowView.from_record(await request.memory.quarantine_row(log_id, group=group), request.language)
    provenance = await request.review.influence(log_id, group=group)
    return request.page(
        "output.html",
        group=group,
        row=row,
        marked=mark_segments(row.content, row.statements or (), request.language),
        entry=await _find_entry(request, group, log_id),
        influence=ProvenanceView.from_record(log_id, provenance, request.language, await request.key_names()),
    )


@router.post("/g/{group:path}/quarantine/{log_id}/admit")
async def admit(request: ConsoleRequest, group: str, log_id: UUID) -> Response:
    await request.memory.admit_refused(log_id, group=group, reason=request.sent.get("reason"))
    return request.redirect(_output_url(group, log_id))


@router.post("/g/{group:path}/quarantine/{log_id}/requeue")
async def requeue(request: ConsoleRequest, group: str, log_id: UUID) -> Response:
    await request.memory.requeue(log_id, group=group)
    return request.redirect(_output_url(group, log_id))


@router.post("/g/{group:path}/quarantine/{log_id}/promote")
async def promote(request: ConsoleRequest, group: str, log_id: UUID) -> Response:
    text = NewMemory(content=request.sent.get("text", "").strip(), acknowledge=request.acknowledged)
    made = await request.review.promote_row(log_id, text, group=group)
    return request.redirect(f"{page_url(group, 'memories')}/{made.id}")


def mark_segments(content: str, segments: Sequence[StatementView], language: Language) -> Markup:
    """A text with its segments marked by kind, as it is otherwise."""
    parts, place = [Markup("")], 0
    for segment in sorted(segments, key=lambda each: each.span.start):
        start, end = max(segment.span.start, place), segment.span.end
        if end <= start:
            continue
        parts.append(show_plain(content[place:start]))
        parts.append(
            Markup('<span class="segment segment-{}" title="{}">{}</span>').format(
                segment.kind, say(f"segment_{segment.kind}", language), show_plain(content[start:end])
            )
        )
        place = end
    return Markup("").join([*parts, show_plain(content[place:])])


def _name_refusal(row: QuarantineRowView) -> str | None:
    """The check that refused an output."""
    return next((verdict.check for verdict in row.verdicts if verdict.outcome is Outcome.FAIL), None)


async def _find_entry(request: ConsoleRequest, group: str, log_id: UUID) -> WorkingEntry | None:
    """The entry of an output, if it is in working memory and that responds."""
    try:
        entries = await request.memory.working_memory(group=group)
    except (Unavailable, NotAllowed):
        return None
    return next((entry for entry in entries if entry.id == log_id), None)


def time_of(log_id: UUID) -> datetime:
    """The time at which an id was made."""
    return datetime.fromtimestamp((log_id.int >> 80) / 1000, UTC)


def _output_url(group: str, log_id: UUID) -> str:
    return f"{page_url(group, 'quarantine')}/{log_id}"
