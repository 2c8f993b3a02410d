"""``keys create``, ``keys list`` and ``keys revoke``."""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from clearwell.adapters.cli.command import AsJson, UsageProblem, program, run, start
from clearwell.adapters.cli.ids import choose, parse_whole
from clearwell.text.short_ids import shorten_id
from clearwell.vocabulary import Right

if TYPE_CHECKING:
    from uuid import UUID

    from clearwell.adapters.cli.terminal import Terminal
    from clearwell.flow.access.keys import KeyRing
    from clearwell.records import ApiKey, Principal
    from clearwell.settings import Settings
    from clearwell.views.installation import KeyView

keys = typer.Typer(help="Create, list and revoke API keys.", rich_markup_mode=None)


@keys.command()
def create(
    scope: Annotated[
        list[str], typer.Option("--scope", help="capture, read, review or admin; repeat it, or separate with commas.")
    ],
    group: Annotated[
        list[str] | None, typer.Option("--group", "-g", help="A group that the key covers; can be repeated.")
    ] = None,
    all_groups: Annotated[bool, typer.Option("--all-groups", help="The key covers every group.")] = False,
    agent: Annotated[str | None, typer.Option("--agent", help="Bind the key to this agent.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="A name for the key.")] = None,
    as_json: AsJson = False,
) -> None:
    """Create a key and show it once."""
    settings, terminal = start()
    by = _operator(settings, "create key")
    rights = parse_rights(scope)
    groups = parse_groups(group, all_groups=all_groups)

    async def work() -> tuple[ApiKey, str, bool, bool]:
        async with open_ring(settings) as ring:
            first = not await ring.any_key_ever()
            key, secret = await ring.create(
                name=name or "+".join(sorted(rights)), rights=rights, groups=groups, agent_id=agent, by=by
            )
            return key, secret, first, has_reviewer(await ring.list())

    key, secret, first, reviewed = run(work())
    if as_json:
        from clearwell.views.installation import PrintedKeyView

        terminal.answer(PrintedKeyView.from_new(key, secret))
    else:
        show_new(key, secret, terminal)
    if first:
        terminal.warn("cli_key_first", place=settings.data_dir if settings.database_url is None else "DATABASE_URL")
    if not reviewed:
        terminal.warn("cli_key_no_reviewer", command=reviewer_command(groups))


@keys.command(name="list")
def show_all(as_json: AsJson = False) -> None:
    """List all keys, without their secrets."""
    settings, terminal = start()
    _operator(settings, "list keys")

    async def work() -> list[ApiKey]:
        async with open_ring(settings) as ring:
            return await ring.list()

    from clearwell.views.installation import KeysView

    found = KeysView.from_records(run(work()))
    if as_json:
        terminal.answer(found)
    elif not found.keys:
        terminal.tell("cli_key_none", program=program())
    else:
        headings = ["cli_head_id", "cli_head_name", "cli_head_scopes", "cli_head_groups", "cli_head_agent"]
        terminal.table([*headings, "cli_head_created", "cli_head_state"], [_row(key, terminal) for key in found.keys])


@keys.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The ID that `keys list` shows.")], as_json: AsJson = False
) -> None:
    """Revoke a key with immediate effect."""
    settings, terminal = start()
    by = _operator(settings, "revoke key")

    async def work() -> UUID:
        async with open_ring(settings) as ring:
            found = parse_whole(key_id) or _find_key(key_id, await ring.list())
            await ring.revoke(found, by=by)
            return found

    revoked = run(work())
    if as_json:
        from clearwell.views.installation import RevokedKeyView

        terminal.answer(RevokedKeyView(id=revoked))
    else:
        terminal.tell("cli_key_revoked", id=revoked)


def _find_key(text: str, found: list[ApiKey]) -> UUID:
    """The key whose id ends so. A revoked one cannot be meant."""
    ending = text.strip().lower()
    standing = [key.id for key in found if key.revoked_at is None]
    return choose(text, [one for one in standing if shorten_id(one) == ending], "key_not_found")


def _operator(settings: Settings, what: str) -> Principal:
    from clearwell.adapters.cli.connection import operator

    return operator(settings, what)


@asynccontextmanager
async def open_ring(settings: Settings) -> AsyncIterator[KeyRing]:
    from clearwell.app import open_keys
    from clearwell.servers import running_postgres

    async with running_postgres(settings) as postgres, open_keys(settings, postgres.url) as ring:
        yield ring


def parse_rights(scopes: list[str]) -> frozenset[Right]:
    names = [name.strip() for scope in scopes for name in scope.split(",") if name.strip()]
    for name in names:
        if name not in [right.value for right in Right]:
            raise UsageProblem("cli_scope_unknown", field="--scope", scope=name)
    return frozenset(Right(name) for name in names)


def parse_groups(groups: list[str] | None, *, all_groups: bool) -> frozenset[str] | None:
    if all_groups and groups:
        raise UsageProblem("cli_group_twice", field="--group")
    if not all_groups and not groups:
        raise UsageProblem("cli_group_missing", field="--group")
    return None if all_groups else frozenset(groups or ())


def has_reviewer(found: list[ApiKey]) -> bool:
    return any(Right.REVIEW in key.rights and key.revoked_at is None for key in found)


def reviewer_command(groups: frozenset[str] | None) -> str:
    covered = ["--all-groups"] if groups is None else [word for group in sorted(groups) for word in ("--group", group)]
    return f"{program()} {shlex.join(['keys', 'create', '--scope', 'read,review', *covered])}"


def show_new(key: ApiKey, secret: str, terminal: Terminal) -> None:
    terminal.tell("cli_key_created", id=key.id)
    terminal.line()
    terminal.command(f"  {secret}", "bold")
    terminal.line()
    terminal.tell("cli_key_once")
    groups = terminal.words("cli_all_groups") if key.groups is None else ", ".join(sorted(key.groups))
    rows = [("cli_head_scopes", ", ".join(sorted(key.rights))), ("cli_head_groups", groups)]
    if key.agent_id is not None:
        rows.append(("cli_head_agent", key.agent_id))
    terminal.pairs([(terminal.words(code), value) for code, value in rows])


def _row(key: KeyView, terminal: Terminal) -> list[str]:
    groups = terminal.words("cli_all_groups") if key.groups is None else ", ".join(key.groups)
    state = "cli_key_valid" if key.revoked_at is None else "cli_key_is_revoked"
    return [
        shorten_id(key.id),
        key.name,
        ", ".join(key.scopes),
        groups,
        key.agent_id or "–",
        terminal.moment(key.created_at),
        terminal.words(state),
    ]
