"""``working list``, ``working remove`` and ``working rebuild``: what agents are shown now."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from clearwell.adapters.cli.given import wanted_id
from clearwell.adapters.cli.printing import Terminal, shortened
from clearwell.adapters.cli.running import AsJson, Group, ask, person, start
from clearwell.adapters.cli.verdicts import flag_names
from clearwell.records import Json, Label, WorkingEntry
from clearwell.text.hidden_text import escaped

working = typer.Typer(help="Look at working memory, take an entry out, or make it anew.", rich_markup_mode=None)

SHOWN_WIDTH = 150


@working.command(name="list")
def show_all(group: Group, as_json: AsJson = False) -> None:
    """Show the live entries of a group, the newest first."""
    settings, terminal = start()
    found = ask(settings, lambda clearwell: clearwell.memory.working_memory(group, by=person()))
    if as_json:
        terminal.json({"entries": [_json(entry, terminal) for entry in found]})
    elif not found:
        terminal.tell("cli_working_none", group=group)
    else:
        terminal.tell("cli_working_entries", group=group, count=len(found), size=settings.working_size, style="bold")
        _show(found, terminal)


@working.command()
def remove(
    entry_id: Annotated[str, typer.Argument(metavar="ID", help="The id that `working list` shows.")],
    group: Group,
    as_json: AsJson = False,
) -> None:
    """Take one entry out of working memory. It stays in quarantine."""
    settings, terminal = start()
    removed = wanted_id(entry_id, "entry_not_found", group=group)
    ask(settings, lambda clearwell: clearwell.memory.remove_working_entry(group, removed, by=person()))
    if as_json:
        terminal.json({"id": str(removed), "group_id": group, "removed": True})
    else:
        terminal.tell("cli_working_removed", id=removed, group=group)


@working.command()
def rebuild(
    group: Annotated[str | None, typer.Option("--group", "-g", help="This group only; without it all.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make working memory anew from quarantine, and say how many entries each group has."""
    settings, terminal = start()
    rebuilt = ask(settings, lambda clearwell: clearwell.memory.rebuild_working_memory(group, by=person()))
    if as_json:
        terminal.json({"groups": {**rebuilt}})
    elif not rebuilt:
        terminal.tell("cli_rebuild_nothing")
    else:
        terminal.tell("cli_rebuilt", groups=len(rebuilt), entries=sum(rebuilt.values()))
        terminal.pairs([(escaped(name), str(entries)) for name, entries in rebuilt.items()])


def _show(found: Sequence[WorkingEntry], terminal: Terminal) -> None:
    for number, entry in enumerate(found, start=1):
        facts = [terminal.age(entry.created_at)]
        if entry.expires_at is not None:
            facts.append(terminal.left(entry.expires_at))
        if entry.agent_id is not None:
            facts.append(escaped(entry.agent_id))
        terminal.line(f"{number:>2}. {terminal.words('label_ephemeral')}  {' · '.join(facts)}", "bold")
        terminal.line(f"    {entry.id}")
        if entry.flags:
            terminal.line(f"    ! {flag_names(entry.flags, terminal)}", "yellow")
        terminal.block(shortened(escaped(entry.content), SHOWN_WIDTH), indent=4)


def _json(entry: WorkingEntry, terminal: Terminal) -> Json:
    now, expires, occurred = datetime.now(UTC), entry.expires_at, entry.occurred_at
    return {
        "id": str(entry.id),
        "group_id": entry.group_id,
        "content": entry.content,
        "content_shown": escaped(entry.content),
        "label": Label.EPHEMERAL.value,
        "label_text": terminal.words("label_ephemeral"),
        "verified": False,
        "session_id": entry.session_id,
        "agent_id": entry.agent_id,
        "node_type": entry.node_type,
        "occurred_at": None if occurred is None else occurred.isoformat(),
        "created_at": entry.created_at.isoformat(),
        "expires_at": None if expires is None else expires.isoformat(),
        "age_seconds": max(0.0, (now - entry.created_at).total_seconds()),
        "expires_in_seconds": None if expires is None else (expires - now).total_seconds(),
        "flags": list(entry.flags),
        "cut": entry.cut,
        "metadata": dict(entry.metadata),
    }
