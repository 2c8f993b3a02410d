"""``explain``: where a captured output came from, what the ingress pipeline decided, and what became of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from clearwell.adapters.cli.arguments import RowId, parse_id
from clearwell.adapters.cli.command import AsJson, Group, ask, program, start
from clearwell.adapters.cli.terminal import Terminal, shortened
from clearwell.adapters.cli.verdicts import show_flags, show_verdicts
from clearwell.errors import Unavailable
from clearwell.text.hidden_text import escaped
from clearwell.vocabulary import Admission, Outcome

if TYPE_CHECKING:
    from uuid import UUID

    from clearwell.client.client import Client
    from clearwell.records import Json
    from clearwell.settings import Settings
    from clearwell.views.captures import QuarantineRowView, SightingView
    from clearwell.views.memories import WorkingEntryView

SHOWN_CHARS = 4000
METADATA_WIDTH = 300
SIGHTINGS_LISTED = 20
COLORS = {Admission.ADMITTED: "green", Admission.REFUSED: "yellow", Admission.PENDING: "yellow"}


class Place(StrEnum):
    """Where an output stands with working memory now."""

    WAITING = "waiting"
    REFUSED = "refused"
    LIVE = "live"
    REMOVED = "removed"
    EXPIRED = "expired"
    DISPLACED = "displaced"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFate:
    """A row of quarantine and where it is now. ``entry`` is there while it is live."""

    row: QuarantineRowView
    place: Place
    entry: WorkingEntryView | None = None

    @property
    def repeated_layer(self) -> str | None:
        """The tier of what it only said again."""
        for verdict in self.row.verdicts:
            if verdict.outcome is Outcome.FAIL and verdict.params.get("other") == str(self.row.sighting_of):
                return str(verdict.params["layer"])
        return None


def explain(row_id: RowId, group: Group, as_json: AsJson = False) -> None:
    """Tell the whole fate of a captured output."""
    settings, terminal = start()
    log_id = parse_id(row_id, "row_not_found", group=group)
    ttl = timedelta(seconds=settings.working_ttl_seconds)
    fate = ask(settings, terminal, lambda client: find_fate(client, group, log_id, ttl=ttl, now=datetime.now(UTC)))
    if as_json:
        terminal.json({**fate.row.model_dump(mode="json"), "working": _describe_place(fate)})
    else:
        _show(fate, settings, terminal)


async def find_fate(client: Client, group_id: str, row_id: UUID, *, ttl: timedelta, now: datetime) -> OutputFate:
    """``ttl`` is the life of an entry: what is gone before its end did not expire."""
    row = await client.quarantine_row(group_id, row_id)
    if row.admission is not Admission.ADMITTED:
        return OutputFate(row=row, place=Place.WAITING if row.admission is Admission.PENDING else Place.REFUSED)
    try:
        live = await client.working_memory(group_id)
    except Unavailable:
        return OutputFate(row=row, place=Place.UNKNOWN)
    entry = next((entry for entry in live.entries if entry.id == row_id), None)
    return OutputFate(row=row, place=_find_place(row, entry, over=now - ttl), entry=entry)


def _find_place(row: QuarantineRowView, entry: WorkingEntryView | None, *, over: datetime) -> Place:
    if entry is not None:
        return Place.LIVE
    if row.removed_at is not None:
        return Place.REMOVED
    return Place.EXPIRED if row.settled_at is not None and row.settled_at <= over else Place.DISPLACED


def _describe_place(fate: OutputFate) -> Json:
    entry = None if fate.entry is None else fate.entry.model_dump(mode="json")
    return {
        "state": fate.place.value,
        "expires_at": None if entry is None else entry["expires_at"],
        "expires_in_seconds": None if entry is None else entry["expires_in_seconds"],
    }


def _show(fate: OutputFate, settings: Settings, terminal: Terminal) -> None:
    row = fate.row
    terminal.line(
        terminal.words(f"cli_explain_{row.admission}", id=row.id, group=row.group_id), f"bold {COLORS[row.admission]}"
    )
    named = [*_name_state(fate, settings, terminal), *_name_origin(row, terminal)]
    terminal.pairs([(terminal.words(code).capitalize(), value) for code, value in named])
    terminal.line()
    terminal.tell("cli_explain_text", style="bold")
    terminal.block(escaped(row.content[:SHOWN_CHARS]), indent=4)
    if len(row.content) > SHOWN_CHARS:
        more = terminal.words("cli_explain_text_more", count=len(row.content) - SHOWN_CHARS)
        terminal.line(f"    {more}")
    show_verdicts(row.verdicts, terminal, measured=True)
    show_flags(row.flags, terminal)
    _show_sightings(row, terminal)


def _name_state(fate: OutputFate, settings: Settings, terminal: Terminal) -> list[tuple[str, str]]:
    """What became of it."""
    row = fate.row
    settled = terminal.words("cli_explain_not_yet") if row.settled_at is None else _when(row.settled_at, terminal)
    rows = [("cli_explain_settled", terminal.words("cli_explain_tries", when=settled, tries=row.attempts))]
    if row.next_try_at is not None:
        rows.append(("cli_explain_next_try", _next_try(row.next_try_at, terminal)))
    rows.append(("layer_working", _name_place(fate, settings, terminal)))
    if row.removed_at is not None:
        rows.append(("cli_explain_removed", _when(row.removed_at, terminal)))
    if row.sighting_of is not None:
        layer = fate.repeated_layer
        code = "cli_explain_of_entry" if layer is None else f"cli_explain_of_{layer}"
        rows.append(("cli_explain_repeats", terminal.words(code, id=row.sighting_of)))
    return rows


def _name_place(fate: OutputFate, settings: Settings, terminal: Terminal) -> str:
    expires = None if fate.entry is None else fate.entry.expires_at
    return terminal.words(
        f"cli_place_{fate.place}",
        left="–" if expires is None else terminal.left(expires),
        hours=f"{settings.working_ttl_seconds / 3600:g}",
        size=settings.working_size,
        program=program(),
    )


def _name_origin(row: QuarantineRowView, terminal: Terminal) -> list[tuple[str, str]]:
    """Where it came from."""
    rows = [
        ("cli_head_agent", escaped(row.agent_id or "–")),
        ("cli_explain_node", escaped(f"{row.node_id or '–'} ({row.node_type})")),
        ("cli_explain_session", escaped(row.session_id or "–")),
        ("cli_explain_captured", f"{_when(row.created_at, terminal)} · {escaped(row.captured_by)}"),
    ]
    if row.occurred_at != row.created_at:
        rows.append(("cli_explain_occurred", terminal.moment(row.occurred_at)))
    if row.partial:
        rows.append(("cli_explain_whole", terminal.words("cli_explain_partial")))
    if row.metadata:
        metadata = json.dumps(row.metadata, ensure_ascii=False)
        rows.append(("cli_explain_metadata", shortened(escaped(metadata), METADATA_WIDTH)))
    return rows


def _when(moment: datetime, terminal: Terminal) -> str:
    return f"{terminal.moment(moment)} ({terminal.age(moment)})"


def _next_try(moment: datetime, terminal: Terminal) -> str:
    if moment <= datetime.now(UTC):
        return terminal.words("cli_next_try_now")
    return terminal.words("cli_next_try_in", when=terminal.moment(moment), left=terminal.left(moment))


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
    agent, session = escaped(sighting.agent_id or "–"), escaped(sighting.session_id or "–")
    return [str(sighting.id), agent, session, terminal.moment(sighting.at), terminal.words(meaning)]
