"""``quarantine``: the captured outputs of a group. ``explain``: what happened to one of them, and where it is now."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from clearwell.adapters.cli.arguments import RowId
from clearwell.adapters.cli.command import AsJson, Group, ask, program, start
from clearwell.adapters.cli.ids import read_id
from clearwell.adapters.cli.terminal import Terminal, shorten
from clearwell.adapters.cli.verdicts import name_check, name_flags, show_flags, show_verdicts
from clearwell.errors import Unavailable
from clearwell.text.hidden_text import escape_hidden
from clearwell.text.short_ids import shorten_id, shorten_ids
from clearwell.vocabulary import RULES, STATEMENT_KINDS, Admission, IdKind, Outcome, OutputState

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from clearwell.client.routes import ApiClient, QuarantineFields
    from clearwell.settings import Settings
    from clearwell.views.captures import QuarantinePageView, QuarantineRowView, SightingView, TracedOutputView
    from clearwell.views.memories import WorkingEntryView

SHOWN_CHARS = 4000
LISTED_WIDTH = 150
METADATA_WIDTH = 300
SIGHTINGS_LISTED = 20
STATEMENTS_LISTED = 10
STATEMENT_WIDTH = 160
COLORS = {Admission.ADMITTED: "green", Admission.REFUSED: "yellow", Admission.PENDING: "yellow"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedOutput:
    """A row of quarantine with its state in working memory. ``entry`` is set while the state is ``live``."""

    row: QuarantineRowView
    state: OutputState
    entry: WorkingEntryView | None = None

    @property
    def repeated_layer(self) -> str | None:
        """The tier of the text that the output repeats, or None."""
        for verdict in self.row.verdicts:
            if verdict.outcome is Outcome.FAIL and verdict.params.get("other") == str(self.row.sighting_of):
                return str(verdict.params["layer"])
        return None


def quarantine(
    group: Group,
    proposed: Annotated[
        bool, typer.Option("--proposed", help="Only outputs that agents proposed for review and nobody promoted.")
    ] = False,
    admission: Annotated[Admission | None, typer.Option("--admission", help="pending, admitted or refused.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Only outputs of this agent.")] = None,
    session: Annotated[str | None, typer.Option("--session", help="Only outputs of this session.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="The largest number to show.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the captured outputs of a group, newest first."""
    settings, terminal = start()
    wanted: QuarantineFields = {
        "proposed": proposed or None,
        "admission": admission,
        "agent_id": agent,
        "session_id": session,
    }
    found = ask(settings, terminal, lambda client: find_outputs(client, group, limit, wanted))
    if as_json:
        terminal.answer(found)
    elif not found.rows:
        terminal.tell("cli_quarantine_none_proposed" if proposed else "cli_quarantine_none", group=group)
    else:
        _list_rows(found.rows, terminal)
        if proposed:
            terminal.tell("cli_quarantine_promote", group=group, program=program())


async def find_outputs(client: ApiClient, group_id: str, limit: int, filters: QuarantineFields) -> QuarantinePageView:
    """The newest outputs that meet the filters, from as many pages as it takes."""
    wanted: QuarantineFields = {**filters, "limit": limit}
    page = await client.quarantine_rows(group_id, **wanted)
    while page.next is not None and len(page.rows) < limit:
        wanted = {**filters, "limit": limit - len(page.rows), "before": page.next}
        more = await client.quarantine_rows(group_id, **wanted)
        page = more.model_copy(update={"rows": page.rows + more.rows})
    return page


def _list_rows(rows: Sequence[QuarantineRowView], terminal: Terminal) -> None:
    for number, row in enumerate(rows, start=1):
        facts = [shorten_id(row.id), _name_admission(row, terminal), terminal.age(row.created_at)]
        facts += [escape_hidden(name) for name in (row.agent_id, row.session_id) if name is not None]
        terminal.line(f"{number:>2}. {' · '.join(facts)}", "bold")
        if row.flags:
            terminal.line(f"    ! {name_flags(row.flags, terminal)}", "yellow")
        terminal.block(shorten(row.content_shown, LISTED_WIDTH), indent=4)


def _name_admission(row: QuarantineRowView, terminal: Terminal) -> str:
    """How admission ended, with the check that refused the output."""
    name = terminal.words(f"admission_{row.admission}")
    refused_by = next((one.check for one in row.verdicts if one.outcome is Outcome.FAIL), None)
    return name if refused_by is None else terminal.format_pair(name, name_check(refused_by, terminal))


def explain(row_id: RowId, group: Group, as_json: AsJson = False) -> None:
    """Show everything that happened to a captured output."""
    settings, terminal = start()
    row, ttl = read_id(row_id, IdKind.ROW, group=group), timedelta(seconds=settings.working_ttl_seconds)

    async def read(client: ApiClient) -> TracedOutput:
        return await trace_output(client, group, await row.find(client), ttl=ttl, now=datetime.now(UTC))

    traced = ask(settings, terminal, read)
    if as_json:
        terminal.answer(_describe(traced))
    else:
        _show(traced, settings, terminal)


async def trace_output(
    client: ApiClient, group_id: str, row_id: UUID, *, ttl: timedelta, now: datetime
) -> TracedOutput:
    """Find an output and its state. ``ttl`` is the lifetime of an entry: one that is gone sooner was displaced."""
    row = await client.quarantine_row(group_id, row_id)
    if row.admission is not Admission.ADMITTED:
        pending = row.admission is Admission.PENDING
        return TracedOutput(row=row, state=OutputState.WAITING if pending else OutputState.REFUSED)
    try:
        live = await client.working_memory(group_id)
    except Unavailable:
        return TracedOutput(row=row, state=OutputState.UNKNOWN)
    entry = next((entry for entry in live.entries if entry.id == row_id), None)
    return TracedOutput(row=row, state=_find_state(row, entry, over=now - ttl), entry=entry)


def _find_state(row: QuarantineRowView, entry: WorkingEntryView | None, *, over: datetime) -> OutputState:
    if entry is not None:
        return OutputState.LIVE
    if row.removed_at is not None:
        return OutputState.REMOVED
    return OutputState.EXPIRED if row.settled_at is not None and row.settled_at <= over else OutputState.DISPLACED


def _describe(traced: TracedOutput) -> TracedOutputView:
    from clearwell.views.captures import TracedOutputView, WorkingStateView

    entry = traced.entry
    working = WorkingStateView(
        state=traced.state,
        expires_at=None if entry is None else entry.expires_at,
        expires_in_seconds=None if entry is None else entry.expires_in_seconds,
    )
    return TracedOutputView(**traced.row.model_dump(), working=working)


def _show(traced: TracedOutput, settings: Settings, terminal: Terminal) -> None:
    row = traced.row
    terminal.line(
        terminal.words(f"cli_explain_{row.admission}", id=row.id, group=row.group_id), f"bold {COLORS[row.admission]}"
    )
    named = [*_name_outcome(traced, settings, terminal), *_name_origin(row, terminal)]
    terminal.pairs([(terminal.words(code).capitalize(), value) for code, value in named])
    terminal.line()
    terminal.tell("cli_explain_text", style="bold")
    terminal.block(escape_hidden(row.content[:SHOWN_CHARS]) or terminal.words("cli_explain_erased"), indent=4)
    if len(row.content) > SHOWN_CHARS:
        more = terminal.words("cli_explain_text_more", count=len(row.content) - SHOWN_CHARS)
        terminal.line(f"    {more}")
    show_statements(row, terminal)
    show_verdicts(row.verdicts, terminal, measured=True)
    show_flags(row.flags, terminal)
    _show_sightings(row, terminal)


def _name_outcome(traced: TracedOutput, settings: Settings, terminal: Terminal) -> list[tuple[str, str]]:
    """How admission ended and where the output is now."""
    row = traced.row
    settled = terminal.words("cli_explain_not_yet") if row.settled_at is None else _when(row.settled_at, terminal)
    rows = [("cli_explain_settled", terminal.words("cli_explain_tries", when=settled, tries=row.attempts))]
    if row.next_try_at is not None:
        rows.append(("cli_explain_next_try", _next_try(row.next_try_at, terminal)))
    rows.append(("layer_working", _describe_state(traced, settings, terminal)))
    if row.removed_at is not None:
        rows.append(("cli_explain_removed", _when(row.removed_at, terminal)))
    if row.sighting_of is not None:
        layer = traced.repeated_layer
        code = "cli_explain_of_entry" if layer is None else f"cli_explain_of_{layer}"
        rows.append(("cli_explain_repeats", terminal.words(code, id=row.sighting_of)))
    return rows


def _describe_state(traced: TracedOutput, settings: Settings, terminal: Terminal) -> str:
    expires = None if traced.entry is None else traced.entry.expires_at
    return terminal.words(
        f"cli_state_{traced.state}",
        left="–" if expires is None else terminal.time_left(expires),
        hours=f"{settings.working_ttl_seconds / 3600:g}",
        size=settings.working_size,
        program=program(),
    )


def _name_origin(row: QuarantineRowView, terminal: Terminal) -> list[tuple[str, str]]:
    """The origin of the output."""
    rows = [
        ("cli_head_agent", escape_hidden(row.agent_id or "–")),
        ("cli_explain_node", escape_hidden(f"{row.node_id or '–'} ({row.node_type})")),
        ("cli_explain_session", escape_hidden(row.session_id or "–")),
        ("cli_explain_captured", f"{_when(row.created_at, terminal)} · {escape_hidden(row.captured_by)}"),
    ]
    if row.occurred_at != row.created_at:
        rows.append(("cli_explain_occurred", terminal.moment(row.occurred_at)))
    if row.partial:
        rows.append(("cli_explain_whole", terminal.words("cli_explain_partial")))
    if row.metadata:
        metadata = json.dumps(row.metadata, ensure_ascii=False)
        rows.append(("cli_explain_metadata", shorten(shorten_ids(escape_hidden(metadata)), METADATA_WIDTH)))
    return rows


def _when(moment: datetime, terminal: Terminal) -> str:
    return terminal.words("cli_moment_and_age", moment=terminal.moment(moment), age=terminal.age(moment))


def _next_try(moment: datetime, terminal: Terminal) -> str:
    if moment <= datetime.now(UTC):
        return terminal.words("cli_next_try_now")
    return terminal.words("cli_next_try_in", when=terminal.moment(moment), left=terminal.time_left(moment))


def show_statements(row: QuarantineRowView, terminal: Terminal) -> None:
    if not row.statements:
        return
    kinds = Counter(segment.kind for segment in row.statements)
    named = terminal.join_names(f"{terminal.words(f'segment_{kind}')} {count}" for kind, count in kinds.most_common())
    found = [segment for segment in row.statements if segment.kind in STATEMENT_KINDS]
    terminal.line()
    code = "cli_explain_statements" if found else "cli_explain_statements_none"
    terminal.tell(code, count=len(found), kinds=named, style="bold")
    if row.segmenter_problem is not None:
        terminal.tell("cli_explain_segmenter_problem", problem=row.segmenter_problem)
    elif row.segmented_by not in (None, RULES):
        terminal.tell("cli_explain_segmented_by", model=escape_hidden(row.segmented_by or ""))
    for segment in found[:STATEMENTS_LISTED]:
        text = " ".join(segment.text.split())
        terminal.block(f"· {shorten(escape_hidden(text), STATEMENT_WIDTH)}", indent=4)
    if len(found) > STATEMENTS_LISTED:
        terminal.tell("cli_explain_statements_more", count=len(found) - STATEMENTS_LISTED)
    if row.unsegmented_from is not None:
        share = row.unsegmented_from / len(row.content)
        terminal.tell("cli_explain_unsegmented", place=row.unsegmented_from, percent=f"{share:.0%}", style="yellow")


def _show_sightings(row: QuarantineRowView, terminal: Terminal) -> None:
    again = row.sightings or ()
    if not again:
        return
    terminal.line()
    others = sum(sighting.corroborates for sighting in again)
    terminal.tell("cli_explain_sightings", count=len(again), others=others, style="bold")
    headings = ["cli_head_id", "cli_head_agent", "cli_explain_session", "cli_head_when", "cli_head_meaning"]
    terminal.table(headings, [_sighting_row(sighting, terminal) for sighting in again[:SIGHTINGS_LISTED]])
    if len(again) > SIGHTINGS_LISTED:
        terminal.tell("cli_explain_sightings_more", count=len(again) - SIGHTINGS_LISTED)


def _sighting_row(sighting: SightingView, terminal: Terminal) -> list[str]:
    meaning = "cli_sighting_corroborates" if sighting.corroborates else "cli_sighting_repeats"
    agent, session = escape_hidden(sighting.agent_id or "–"), escape_hidden(sighting.session_id or "–")
    return [shorten_id(sighting.id), agent, session, terminal.moment(sighting.at), terminal.words(meaning)]
