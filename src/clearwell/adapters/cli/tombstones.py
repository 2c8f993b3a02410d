"""``tombstone add``, ``tombstone list`` and ``tombstone lift``: values that must not come back."""

from collections.abc import Mapping
from typing import Annotated

import typer

from clearwell.adapters.cli.given import given_text, wanted_id
from clearwell.adapters.cli.printing import Terminal
from clearwell.adapters.cli.running import AsJson, Group, ask, ask_and_name, person, start
from clearwell.records import Json, Tombstone
from clearwell.text.hidden_text import escaped

tombstones = typer.Typer(help="Reject values, list the rejections and take them back.", rich_markup_mode=None)


@tombstones.command()
def add(
    group: Group,
    reason: Annotated[str, typer.Option("--reason", help="Why the value must not come back.")],
    value: Annotated[
        str | None, typer.Argument(metavar="[VALUE | -]", help="The value; - or nothing reads stdin.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Reject a text: it is refused from now on, and similar texts are flagged."""
    settings, terminal = start()
    rejected = given_text(value, settings)
    tombstone_id = ask(
        settings, lambda clearwell: clearwell.memory.add_tombstone(group, rejected, reason=reason, by=person())
    )
    if as_json:
        terminal.json({"id": str(tombstone_id), "group_id": group})
    else:
        terminal.tell("cli_tombstone_added", id=tombstone_id, group=group)


@tombstones.command(name="list")
def show_all(group: Group, as_json: AsJson = False) -> None:
    """Show a group's tombstones, the newest first. The values themselves are not kept."""
    settings, terminal = start()
    found, names = ask_and_name(settings, lambda clearwell: clearwell.memory.tombstones(group, by=person()))
    if as_json:
        terminal.json({"tombstones": [_json(one) for one in found]})
    elif not found:
        terminal.tell("cli_tombstone_none", group=group)
    else:
        headings = ["cli_head_id", "cli_head_kind", "cli_head_reason", "cli_head_made_by", "cli_head_created"]
        terminal.table([*headings, "cli_head_state"], [_row(one, terminal, names) for one in found])


@tombstones.command()
def lift(
    tombstone_id: Annotated[str, typer.Argument(metavar="ID", help="The id that `tombstone list` shows.")],
    group: Group,
    as_json: AsJson = False,
) -> None:
    """Take a rejection back. What was forgotten stays forgotten."""
    settings, terminal = start()
    lifted = wanted_id(tombstone_id, "tombstone_not_found", group=group)
    ask(settings, lambda clearwell: clearwell.memory.lift_tombstone(group, lifted, by=person()))
    if as_json:
        terminal.json({"id": str(lifted), "group_id": group, "lifted": True})
    else:
        terminal.tell("cli_tombstone_lifted", id=lifted, group=group)


def _row(one: Tombstone, terminal: Terminal, names: Mapping[str, str]) -> list[str]:
    return [
        str(one.id),
        terminal.words(f"tombstone_kind_{one.kind}"),
        escaped(one.reason),
        escaped(names.get(one.made_by, one.made_by)),
        terminal.moment(one.made_at),
        _state(one, terminal, names),
    ]


def _state(one: Tombstone, terminal: Terminal, names: Mapping[str, str]) -> str:
    if one.lifted_at is None or one.lifted_by is None:
        return terminal.words("cli_tombstone_stands")
    by = escaped(names.get(one.lifted_by, one.lifted_by))
    return terminal.words("cli_tombstone_is_lifted", by=by, at=terminal.moment(one.lifted_at))


def _json(one: Tombstone) -> Json:
    return {
        "id": str(one.id),
        "group_id": one.group_id,
        "kind": one.kind.value,
        "reason": one.reason,
        "made_by": one.made_by,
        "made_at": one.made_at.isoformat(),
        "lifted_by": one.lifted_by,
        "lifted_at": None if one.lifted_at is None else one.lifted_at.isoformat(),
    }
