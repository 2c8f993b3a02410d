"""``working list``, ``working remove`` and ``working rebuild``: what agents are shown now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from clearwell.adapters.cli.command import AsJson, Group, ask, run, start
from clearwell.adapters.cli.ids import read_id
from clearwell.adapters.cli.terminal import Terminal, shorten
from clearwell.adapters.cli.verdicts import name_flags
from clearwell.text.hidden_text import escape_hidden
from clearwell.text.short_ids import shorten_id
from clearwell.vocabulary import IdKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clearwell.client.routes import ApiClient
    from clearwell.settings import Settings
    from clearwell.views.groups import IdView
    from clearwell.views.memories import WorkingEntryView

working = typer.Typer(help="List, remove and rebuild entries of working memory.", rich_markup_mode=None)

SHOWN_WIDTH = 150


@working.command(name="list")
def show_all(group: Group, as_json: AsJson = False) -> None:
    """List the entries of a group, newest first."""
    settings, terminal = start()
    found = ask(settings, terminal, lambda client: client.working_memory(group))
    if as_json:
        terminal.answer(found)
    elif not found.entries:
        terminal.tell("cli_working_none", group=group)
    else:
        count = len(found.entries)
        terminal.tell("cli_working_entries", group=group, count=count, size=settings.working_size, style="bold")
        _show(found.entries, terminal)


@working.command()
def remove(
    entry_id: Annotated[str, typer.Argument(metavar="ID", help="The ID that `working list` shows.")],
    group: Group,
    as_json: AsJson = False,
) -> None:
    """Remove an entry. Its output stays in quarantine."""
    settings, terminal = start()
    entry = read_id(entry_id, IdKind.ROW, group=group, missing="entry_not_found")

    async def act(client: ApiClient) -> IdView:
        return await client.remove_working_entry(group, await entry.find(client))

    removed = ask(settings, terminal, act)
    if as_json:
        terminal.answer(removed)
    else:
        terminal.tell("cli_working_removed", id=removed.id, group=group)


@working.command()
def rebuild(
    group: Annotated[str | None, typer.Option("--group", "-g", help="Only this group; all groups by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Rebuild working memory from quarantine."""
    settings, terminal = start()
    rebuilt = run(_rebuild(settings, terminal, group))
    if as_json:
        from clearwell.views.maintenance import WorkingRebuildView

        terminal.answer(WorkingRebuildView(groups=rebuilt))
    elif not rebuilt:
        terminal.tell("cli_rebuild_nothing")
    else:
        terminal.tell("cli_rebuilt", groups=len(rebuilt), entries=sum(rebuilt.values()))
        terminal.pairs([(escape_hidden(name), str(entries)) for name, entries in rebuilt.items()])


async def _rebuild(settings: Settings, terminal: Terminal, group: str | None) -> Mapping[str, int]:
    """An operation on the store itself, which no route offers."""
    from clearwell.adapters.cli.connection import open_program, person

    async with open_program(settings, terminal) as clearwell:
        return await clearwell.memory.acting_as(person(settings)).rebuild_working_memory(group=group)


def _show(entries: Sequence[WorkingEntryView], terminal: Terminal) -> None:
    for number, entry in enumerate(entries, start=1):
        facts = [shorten_id(entry.id), terminal.age(entry.created_at)]
        if entry.expires_at is not None:
            facts.append(terminal.time_left(entry.expires_at))
        if entry.agent_id is not None:
            facts.append(escape_hidden(entry.agent_id))
        terminal.line(f"{number:>2}. {entry.label_text}  {' · '.join(facts)}", "bold")
        if entry.flags:
            terminal.line(f"    ! {name_flags(entry.flags, terminal)}", "yellow")
        terminal.block(shorten(entry.content_shown, SHOWN_WIDTH), indent=4)
