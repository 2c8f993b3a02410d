"""``events``: what happens in a group, as it happens."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated

import typer

from clearwell.adapters.cli.command import AsJson, Group, run, start
from clearwell.adapters.cli.terminal import Terminal
from clearwell.text.hidden_text import escape_hidden
from clearwell.vocabulary import EventType

if TYPE_CHECKING:
    from clearwell.records import Event, Json
    from clearwell.settings import Settings

STYLES = {
    EventType.ADMITTED: "green",
    EventType.REFUSED: "yellow",
    EventType.PROMOTED: "bold green",
    EventType.RESET: "yellow",
    EventType.DEGRADED: "red",
}


def events(
    group: Group,
    after: Annotated[
        str | None, typer.Option("--after", metavar="ID", help="Begin after the event with this ID, instead of now.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Follow the events of a group until Ctrl-C. With --json each line is one event."""
    settings, terminal = start()
    run(_follow(settings, terminal, group, after, as_json=as_json))


async def _follow(settings: Settings, terminal: Terminal, group: str, after: str | None, *, as_json: bool) -> None:
    from clearwell.adapters.cli.connection import connect
    from clearwell.views.events import EventView

    async with connect(settings, terminal) as connection, aclosing(await connection.events(group, after)) as following:
        async for event in following:
            if as_json:
                terminal.answer(EventView.from_record(event), on_one_line=True)
            else:
                _show(event, terminal)


def _show(event: Event, terminal: Terminal) -> None:
    name = terminal.words(f"event_{event.type}")
    speakers = [escape_hidden(part) for part in (event.agent_id, event.session_id, event.node_id) if part is not None]
    facts = [f"{field}={escape_hidden(_describe(value))}" for field, value in event.data.items()]
    parts = [f"{event.at.astimezone():%H:%M:%S}", name, " · ".join(speakers), " ".join(facts)]
    terminal.line("  ".join(part for part in parts if part), STYLES.get(event.type, ""))


def _describe(value: Json) -> str:
    if isinstance(value, list):
        return ",".join(str(part) for part in value) or "–"
    return str(value)
