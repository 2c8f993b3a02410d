"""``explain``: where a captured output came from, what the ingress pipeline decided, and what became of it."""

import json
from datetime import UTC, datetime, timedelta

from clearwell.adapters.cli.fate import Fate, fate_of
from clearwell.adapters.cli.given import RowId, wanted_id
from clearwell.adapters.cli.printing import Terminal, shortened
from clearwell.adapters.cli.running import AsJson, Group, opened, person, program, run, start
from clearwell.adapters.cli.verdicts import flags_json, show_flags, show_verdicts, verdict_json
from clearwell.records import Admission, Json, SeenAgain
from clearwell.settings import Settings
from clearwell.text.hidden_text import escaped

SHOWN_CHARS = 4000
METADATA_WIDTH = 300
SIGHTINGS_LISTED = 20
COLORS = {Admission.ADMITTED: "green", Admission.REFUSED: "yellow", Admission.PENDING: "yellow"}


def explain(row_id: RowId, group: Group, as_json: AsJson = False) -> None:
    """Tell the whole fate of a captured output."""
    settings, terminal = start()
    log_id = wanted_id(row_id, "row_not_found", group=group)

    async def work() -> Fate:
        async with opened(settings) as clearwell:
            ttl = timedelta(seconds=settings.working_ttl_seconds)
            return await fate_of(clearwell.memory, group, log_id, by=person(), ttl=ttl, now=datetime.now(UTC))

    fate = run(work())
    if as_json:
        terminal.json(_json(fate, terminal))
    else:
        _show(fate, settings, terminal)


def _show(fate: Fate, settings: Settings, terminal: Terminal) -> None:
    row, capture = fate.row, fate.row.capture
    title = terminal.words(f"cli_explain_{row.admission}", id=capture.id, group=capture.group_id)
    terminal.line(title, f"bold {COLORS[row.admission]}")
    named = [*_standing(fate, settings, terminal), *_origin(fate, terminal)]
    terminal.pairs([(terminal.words(code).capitalize(), value) for code, value in named])
    terminal.line()
    terminal.tell("cli_explain_text", style="bold")
    terminal.block(escaped(capture.content[:SHOWN_CHARS]), indent=4)
    if len(capture.content) > SHOWN_CHARS:
        more = terminal.words("cli_explain_text_more", count=len(capture.content) - SHOWN_CHARS)
        terminal.line(f"    {more}")
    show_verdicts(row.verdicts, terminal, measured=True)
    show_flags(row.flags, terminal)
    _show_sightings(fate, terminal)


def _standing(fate: Fate, settings: Settings, terminal: Terminal) -> list[tuple[str, str]]:
    """What became of it."""
    row = fate.row
    settled = terminal.words("cli_explain_not_yet") if row.settled_at is None else _when(row.settled_at, terminal)
    rows = [("cli_explain_settled", terminal.words("cli_explain_tries", when=settled, tries=row.attempts))]
    if row.next_try_at is not None:
        rows.append(("cli_explain_next_try", _next_try(row.next_try_at, terminal)))
    rows.append(("layer_working", _place(fate, settings, terminal)))
    if row.removed_at is not None:
        rows.append(("cli_explain_removed", _when(row.removed_at, terminal)))
    if row.sighting_of is not None:
        layer = fate.repeated_layer
        code = "cli_explain_of_entry" if layer is None else f"cli_explain_of_{layer}"
        rows.append(("cli_explain_repeats", terminal.words(code, id=row.sighting_of)))
    return rows


def _place(fate: Fate, settings: Settings, terminal: Terminal) -> str:
    expires = None if fate.entry is None else fate.entry.expires_at
    return terminal.words(
        f"cli_place_{fate.place}",
        left="–" if expires is None else terminal.left(expires),
        hours=f"{settings.working_ttl_seconds / 3600:g}",
        size=settings.working_size,
        program=program(),
    )


def _origin(fate: Fate, terminal: Terminal) -> list[tuple[str, str]]:
    """Where it came from."""
    capture = fate.row.capture
    rows = [
        ("cli_head_agent", escaped(capture.agent_id or "–")),
        ("cli_explain_node", escaped(f"{capture.node_id or '–'} ({capture.node_type})")),
        ("cli_explain_session", escaped(capture.session_id or "–")),
        ("cli_explain_captured", f"{_when(capture.created_at, terminal)} · {escaped(capture.captured_by)}"),
    ]
    if capture.occurred_at is not None and capture.occurred_at != capture.created_at:
        rows.append(("cli_explain_occurred", terminal.moment(capture.occurred_at)))
    if capture.partial:
        rows.append(("cli_explain_whole", terminal.words("cli_explain_partial")))
    if capture.metadata:
        metadata = json.dumps(dict(capture.metadata), ensure_ascii=False)
        rows.append(("cli_explain_metadata", shortened(escaped(metadata), METADATA_WIDTH)))
    return rows


def _when(moment: datetime, terminal: Terminal) -> str:
    return f"{terminal.moment(moment)} ({terminal.age(moment)})"


def _next_try(moment: datetime, terminal: Terminal) -> str:
    if moment <= datetime.now(UTC):
        return terminal.words("cli_next_try_now")
    return terminal.words("cli_next_try_in", when=terminal.moment(moment), left=terminal.left(moment))


def _show_sightings(fate: Fate, terminal: Terminal) -> None:
    again = fate.row.sightings or ()
    if not again:
        return
    terminal.line()
    others = sum(fate.is_corroborated_by(one) for one in again)
    terminal.tell("cli_explain_sightings", count=len(again), others=others, style="bold")
    headings = ["cli_head_id", "cli_head_agent", "cli_explain_session", "cli_head_when", "cli_head_meaning"]
    terminal.table(headings, [_sighting_row(one, fate, terminal) for one in again[:SIGHTINGS_LISTED]])
    if len(again) > SIGHTINGS_LISTED:
        terminal.tell("cli_explain_sightings_more", count=len(again) - SIGHTINGS_LISTED)


def _sighting_row(one: SeenAgain, fate: Fate, terminal: Terminal) -> list[str]:
    meaning = "cli_sighting_corroborates" if fate.is_corroborated_by(one) else "cli_sighting_repeats"
    agent, session = escaped(one.agent_id or "–"), escaped(one.session_id or "–")
    return [str(one.log_id), agent, session, terminal.moment(one.at), terminal.words(meaning)]


def _json(fate: Fate, terminal: Terminal) -> Json:
    row, capture = fate.row, fate.row.capture
    return {
        "id": str(capture.id),
        "group_id": capture.group_id,
        "session_id": capture.session_id,
        "node_id": capture.node_id,
        "node_type": capture.node_type,
        "agent_id": capture.agent_id,
        "content": capture.content,
        "content_shown": escaped(capture.content),
        "metadata": dict(capture.metadata),
        "partial": capture.partial,
        "occurred_at": _time(capture.occurred_at),
        "created_at": _time(capture.created_at),
        "captured_by": capture.captured_by,
        "admission": row.admission.value,
        "attempts": row.attempts,
        "next_try_at": _time(row.next_try_at),
        "settled_at": _time(row.settled_at),
        "removed_at": _time(row.removed_at),
        "working": _working_json(fate),
        "flags": flags_json(row.flags, terminal),
        "verdicts": [verdict_json(verdict, terminal) for verdict in row.verdicts],
        "sighting_of": None if row.sighting_of is None else str(row.sighting_of),
        "sightings": [_sighting_json(one, fate) for one in row.sightings or ()],
    }


def _working_json(fate: Fate) -> Json:
    expires = None if fate.entry is None else fate.entry.expires_at
    left = None if expires is None else (expires - datetime.now(UTC)).total_seconds()
    return {"state": fate.place.value, "expires_at": _time(expires), "expires_in_seconds": left}


def _sighting_json(one: SeenAgain, fate: Fate) -> Json:
    return {
        "id": str(one.log_id),
        "agent_id": one.agent_id,
        "session_id": one.session_id,
        "at": _time(one.at),
        "corroborates": fate.is_corroborated_by(one),
    }


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
