"""``digest run``, ``digest show`` and ``digest list``: what a group's quarantine says together."""

import asyncio
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn
from rich.table import Column

from clearwell.adapters.cli.given import wanted_id
from clearwell.adapters.cli.insights import digest_json, show_digest
from clearwell.adapters.cli.printing import Terminal, shortened, visible
from clearwell.adapters.cli.running import AsJson, Group, ask, opened, person, program, run, start
from clearwell.app import Clearwell
from clearwell.records import Digest, DigestStatus
from clearwell.text.hidden_text import escaped
from clearwell.worker import digest_worker, sweep

digests = typer.Typer(help="Turn a group's quarantine into insights for a reviewer.", rich_markup_mode=None)

LOOK_SECONDS = 0.1
STEPS = 1000
BAR_WIDTH = 20


@digests.command(name="run")
def run_now(group: Group, as_json: AsJson = False) -> None:
    """Have a digest made now, and show its insights."""
    settings, terminal = start()

    async def work() -> Digest:
        async with opened(settings) as clearwell, digest_worker(clearwell, scheduled=False):
            await sweep(clearwell)
            return await _followed(clearwell, group, terminal)

    made = run(work())
    if as_json:
        terminal.json(digest_json(made, terminal))
    else:
        show_digest(made, terminal)
    if made.status is DigestStatus.FAILED:
        raise typer.Exit(1)


@digests.command()
def show(
    digest_id: Annotated[str, typer.Argument(metavar="ID", help="The id that `digest list` shows.")],
    as_json: AsJson = False,
) -> None:
    """Show one digest: where it stands, and its insights with their sources."""
    settings, terminal = start()
    wanted = wanted_id(digest_id, "digest_not_found")
    found = ask(settings, lambda clearwell: clearwell.memory.digest(wanted, by=person()))
    if as_json:
        terminal.json(digest_json(found, terminal))
    else:
        show_digest(found, terminal)


@digests.command(name="list")
def show_all(
    group: Group,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="So many at most.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show a group's digests, the newest first."""
    settings, terminal = start()
    found = ask(settings, lambda clearwell: clearwell.memory.digests(group, by=person(), limit=limit))
    if as_json:
        terminal.json({"digests": [digest_json(one, terminal, insights=False) for one in found]})
    elif not found:
        terminal.tell("cli_digest_none", group=group, program=program())
    else:
        headings = ["cli_head_id", "cli_head_state", "cli_head_created", "cli_head_made_by", "cli_digest_head_note"]
        terminal.table(headings, [_row(one, terminal) for one in found])


def _row(one: Digest, terminal: Terminal) -> list[str]:
    status = terminal.words(f"digest_status_{one.status}", percent=round(100 * one.progress))
    note = escaped(one.explanation(terminal.language) or "–")
    return [str(one.id), status, terminal.moment(one.created_at), escaped(one.requested_by), note]


async def _followed(clearwell: Clearwell, group: str, terminal: Terminal) -> Digest:
    """The digest when it has ended. Whoever does it, this process or another, its progress is shown."""
    made, _ = await clearwell.memory.request_digest(group, by=person())
    warned: str | None = None
    with _bar(terminal) as bar:
        task = None if bar is None else bar.add_task("", total=STEPS)
        while True:
            found = await clearwell.memory.digest(made, by=person(), group_id=group)
            if found.ended:
                return found
            note = visible(escaped(found.explanation(terminal.language) or terminal.words("cli_digest_waits")))
            if bar is not None and task is not None:
                told = beside_bar(note, terminal.err.width)
                bar.update(task, completed=round(STEPS * found.progress), description=told)
            if found.note == "digest_put_off" and note != warned:
                warned = note
                terminal.warn("cli_digest_put_off", note=note)
            await asyncio.sleep(LOOK_SECONDS)


def _bar(terminal: Terminal) -> AbstractContextManager[Progress | None]:
    """On stderr, so that the result can be piped; only where somebody looks."""
    if not terminal.err.is_terminal:
        return nullcontext()
    return Progress(*bar_columns(), console=terminal.err, transient=True)


def bar_columns() -> tuple[ProgressColumn, ...]:
    """The note may quote an agent, so it is no markup."""
    return (
        BarColumn(bar_width=BAR_WIDTH, table_column=Column(min_width=BAR_WIDTH, no_wrap=True)),
        TextColumn("{task.percentage:>3.0f}%", markup=False, table_column=Column(min_width=4, no_wrap=True)),
        TextColumn("{task.description}", markup=False),
    )


def beside_bar(note: str, width: int) -> str:
    """So much of a note as fits beside the bar in a terminal of this width: bar and percentage stay."""
    return shortened(note, max(width - BAR_WIDTH - len(" 100%  "), 1))
