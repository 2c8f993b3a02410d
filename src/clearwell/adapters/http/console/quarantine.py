"""Quarantine: the outputs of a group by filters, and one output with everything that happened to it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Annotated, Literal, get_args
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Query
from markupsafe import Markup
from starlette.responses import Response

from clearwell.adapters.http.console.fields import Filters, Optional, end_of, start_of
from clearwell.adapters.http.console.ids import find_id
from clearwell.adapters.http.console.inbox import read_id
from clearwell.adapters.http.console.markdown import highlight, show_plain
from clearwell.adapters.http.console.navigation import page_url
from clearwell.adapters.http.console.request import NOTICE, ConsoleRequest, ConsoleRoute
from clearwell.adapters.http.problems import make_printable
from clearwell.errors import NotFound, Unavailable
from clearwell.messages import Language, catalogue, say
from clearwell.ports import QuarantineFilter
from clearwell.records import Admission, Json, NewMemory, Outcome, Verdict, WorkingEntry
from clearwell.text.short_ids import shorten_id
from clearwell.views.captures import QuarantinePageView, QuarantineRowView, StatementView
from clearwell.views.provenance import ProvenanceView
from clearwell.vocabulary import Flag, IdKind, Layer

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)

PAGE = 40
OutputFlag = Literal[
    Flag.CONFLICT,
    Flag.HIDDEN_TEXT,
    Flag.INSTRUCTION_LIKE,
    Flag.CLAIMS_AUTHORITY,
    Flag.NEAR_REJECTED,
    Flag.CITES_MEMORY,
    Flag.SELF_CONSISTENCY_NOT_CHECKED,
]


class OutputFilters(Filters):
    """Which outputs to show."""

    admission: Optional[Admission] = None
    agent: Optional[str] = None
    session: Optional[str] = None
    node_type: Optional[str] = None
    flag: Optional[OutputFlag] = None
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
    """A page, or the part of one that goes on where the search for ``shown`` outputs stopped.

    Whoever searches for an id is led to its output.
    """
    if filters.q is not None and not shown and (found_id := await find_id(request, group, filters.q, IdKind.ROW)):
        return request.redirect(_output_url(group, found_id))
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
        flags=get_args(OutputFlag),
    )


@router.get("/g/{group:path}/quarantine/{log_id}")
async def output(request: ConsoleRequest, group: str, log_id: str, start: int = 0, end: int = 0) -> Response:
    """One output, by its id or the short form of it. A part of it that the address names is highlighted."""
    whole = read_id(log_id)
    if whole is None:
        whole = await find_id(request, group, log_id, IdKind.ROW)
        if whole is None:
            raise NotFound("console_no_output", id=make_printable(log_id))
        return request.redirect(_output_url(group, whole))
    return await _show_output(request, group, whole, start, end)


async def _show_output(request: ConsoleRequest, group: str, log_id: UUID, start: int, end: int) -> Response:
    found = await request.memory.quarantine_row(log_id, group=group)
    row = QuarantineRowView.from_record(found, request.language)
    provenance = await request.review.influence(log_id, group=group)
    is_part = 0 <= start < end <= len(row.content)
    return request.page(
        "output.html",
        group=group,
        row=row,
        verdicts=[write_verdict(verdict, group, request.language) for verdict in found.verdicts],
        is_part=is_part,
        marked=highlight(row.content, start, end)
        if is_part
        else mark_segments(row.content, row.statements or (), request.language),
        entry=await _find_entry(request, group, log_id),
        influence=ProvenanceView.from_record(log_id, provenance, request.language, await request.key_names()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictLine:
    """A verdict as the page shows it."""

    check: str
    outcome: Outcome
    value: str
    threshold: str
    reason: Markup


@router.post("/g/{group:path}/quarantine/{log_id}/admit")
async def admit(request: ConsoleRequest, group: str, log_id: UUID) -> Response:
    await request.memory.admit_refused(log_id, group=group, reason=request.sent.get("reason"))
    return request.redirect(_output_url(group, log_id), notice=f"{NOTICE}output_admitted")


@router.post("/g/{group:path}/quarantine/{log_id}/requeue")
async def requeue(request: ConsoleRequest, group: str, log_id: UUID) -> Response:
    await request.memory.requeue(log_id, group=group)
    return request.redirect(_output_url(group, log_id), notice=f"{NOTICE}output_requeued")


@router.post("/g/{group:path}/quarantine/{log_id}/promote")
async def promote(request: ConsoleRequest, group: str, log_id: UUID) -> Response:
    text = NewMemory(content=request.sent.get("text", "").strip(), acknowledge=request.acknowledged)
    made = await request.review.promote_row(log_id, text, group=group)
    return request.redirect(f"{page_url(group, 'memories')}/{made.id}", notice=f"{NOTICE}entry_promoted")


def write_verdict(verdict: Verdict, group: str, language: Language) -> VerdictLine:
    """A verdict in words. What it names by its id is a link, and what a command would do is a button of the page."""
    own = f"console_{verdict.reason}"
    reason = (replace(verdict, reason=own) if own in catalogue() else verdict).explanation(language)
    other = verdict.params.get("other")
    shown = show_plain(reason)
    if isinstance(other, str) and (named := read_id(other)) is not None:
        layer = str(verdict.params.get("layer", Layer.WORKING))
        before, _, after = reason.partition(other)
        link = Markup('<a class="mono" href="{}" title="{}">{}</a>')
        place = find_place(group, layer, named)
        shown = Markup("{}{}{}").format(
            show_plain(before), link.format(place, other, shorten_id(other)), show_plain(after)
        )
    return VerdictLine(
        check=verdict.check,
        outcome=verdict.outcome,
        value=_write_value(verdict.value),
        threshold=_write_value(verdict.threshold),
        reason=shown,
    )


def _write_value(value: Json) -> str:
    """A measured value: 50 instead of 50.0. A kind of instruction is none: the reason says it in words."""
    match value:
        case None:
            return "–"
        case float():
            return repr(value).removesuffix(".0")
        case str() if f"address_{value}" in catalogue():
            return "–"
        case _:
            return str(value)


def find_place(group: str, layer: str, named: UUID) -> str:
    """The page of an entry, which is that of its output, or of a memory."""
    return f"{page_url(group, 'memories' if layer == Layer.LONGTERM else 'quarantine')}/{named}"


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
    """The entry of an output, if it is in working memory, that responds and the person may read it."""
    if not request.may_read:
        return None
    try:
        entries = await request.memory.working_memory(group=group)
    except Unavailable:
        return None
    return next((entry for entry in entries if entry.id == log_id), None)


def time_of(log_id: UUID) -> datetime:
    """The time at which an id was made."""
    return datetime.fromtimestamp((log_id.int >> 80) / 1000, UTC)


def _output_url(group: str, log_id: UUID) -> str:
    return f"{page_url(group, 'quarantine')}/{log_id}"
