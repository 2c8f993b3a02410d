"""``tombstone add``, ``tombstone list`` and ``tombstone lift``: rejected texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from clearwell.adapters.cli.arguments import read_text
from clearwell.adapters.cli.command import AsJson, Group, ask, start
from clearwell.adapters.cli.conflicts import show_copies
from clearwell.adapters.cli.ids import read_id
from clearwell.text.hidden_text import escape_hidden
from clearwell.text.short_ids import shorten_id
from clearwell.vocabulary import IdKind

if TYPE_CHECKING:
    from clearwell.adapters.cli.terminal import Terminal
    from clearwell.client.routes import ApiClient
    from clearwell.views.groups import IdView, TombstoneView

tombstones = typer.Typer(help="Reject texts, list tombstones and lift them.", rich_markup_mode=None)


@tombstones.command()
def add(
    group: Group,
    reason: Annotated[str, typer.Option("--reason", help="Why the text must not come back.")],
    value: Annotated[
        str | None, typer.Argument(metavar="[TEXT | -]", help="The text; read from stdin if it is - or omitted.")
    ] = None,
    withdraw: Annotated[
        bool, typer.Option("--withdraw", help="Also withdraw the verified memories that say it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Reject a text: it is refused, and similar texts are flagged."""
    settings, terminal = start()
    rejected = read_text(value, settings)
    added = ask(
        settings, terminal, lambda client: client.add_tombstone(group, rejected, reason=reason, withdraw=withdraw)
    )
    if as_json:
        terminal.answer(added)
    else:
        terminal.tell("cli_tombstone_added", id=added.id, group=group)
        show_copies(added, terminal)


@tombstones.command(name="list")
def show_all(group: Group, as_json: AsJson = False) -> None:
    """List the tombstones of a group, newest first. Rejected texts are not stored."""
    settings, terminal = start()
    found = ask(settings, terminal, lambda client: client.tombstones(group))
    if as_json:
        terminal.answer(found)
    elif not found.tombstones:
        terminal.tell("cli_tombstone_none", group=group)
    else:
        headings = ["cli_head_id", "cli_head_kind", "cli_head_reason", "cli_head_made_by", "cli_head_created"]
        terminal.table([*headings, "cli_head_state"], [_row(tombstone, terminal) for tombstone in found.tombstones])


@tombstones.command()
def lift(
    tombstone_id: Annotated[str, typer.Argument(metavar="ID", help="The ID that `tombstone list` shows.")],
    group: Group,
    as_json: AsJson = False,
) -> None:
    """Lift the tombstone of a rejected text."""
    settings, terminal = start()
    tombstone = read_id(tombstone_id, IdKind.TOMBSTONE, group=group)

    async def act(client: ApiClient) -> IdView:
        return await client.lift_tombstone(group, await tombstone.find(client))

    lifted = ask(settings, terminal, act)
    if as_json:
        terminal.answer(lifted)
    else:
        terminal.tell("cli_tombstone_lifted", id=lifted.id, group=group)


def _row(tombstone: TombstoneView, terminal: Terminal) -> list[str]:
    return [
        shorten_id(tombstone.id),
        terminal.words(f"tombstone_kind_{tombstone.kind}"),
        escape_hidden(tombstone.reason),
        escape_hidden(tombstone.made_by_name),
        terminal.moment(tombstone.made_at),
        _state(tombstone, terminal),
    ]


def _state(tombstone: TombstoneView, terminal: Terminal) -> str:
    if tombstone.lifted_at is None or tombstone.lifted_by_name is None:
        return terminal.words("cli_tombstone_stands")
    by = escape_hidden(tombstone.lifted_by_name)
    return terminal.words("cli_tombstone_is_lifted", by=by, at=terminal.moment(tombstone.lifted_at))
