"""``spool list``, ``spool deliver`` and ``spool discard``: captures of the middleware that are not delivered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from clearwell.adapters.cli.command import AsJson, run, start

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clearwell.middleware import DeliveryStatus
    from clearwell.middleware.spool import SpoolReport
    from clearwell.settings import Settings
    from clearwell.views.spool import SpoolView

spool = typer.Typer(help="Captures of the middleware that wait for delivery, or were refused.", rich_markup_mode=None)

DELIVER_SECONDS = 600.0


@spool.command(name="list")
def show_all(as_json: AsJson = False) -> None:
    """List what waits for delivery, and what was refused, by memory and caller."""
    from clearwell.middleware.spool import read_spool

    settings, terminal = start()
    reports = read_spool(settings.spool_path)
    if as_json:
        terminal.answer(_describe_spool(settings.spool_path, reports))
    elif not reports:
        terminal.tell("cli_spool_empty", path=settings.spool_path)
    else:
        headings = [
            "cli_head_destination",
            "cli_head_waiting",
            "cli_head_oldest",
            "cli_head_refused",
            "cli_head_folder",
        ]
        rows = [
            [
                report.destination,
                f"{report.waiting:,}",
                "–" if report.oldest_at is None else terminal.moment(report.oldest_at),
                f"{report.refused:,}",
                str(report.path),
            ]
            for report in reports
        ]
        terminal.table(headings, rows)


@spool.command()
def deliver(
    url: Annotated[
        str | None, typer.Option("--url", help="The server; default: the one that runs on the data folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Deliver what ended processes left for a server, as an agent and with the key of the settings."""
    settings, terminal = start()
    status, ended = run(_deliver(settings, url))
    if as_json:
        from clearwell.views.spool import DeliveryView

        terminal.answer(DeliveryView.read(status))
    else:
        terminal.tell("cli_spool_delivered", delivered=status.delivered, refused=status.refused, waiting=status.waiting)
    if not ended:
        terminal.warn("cli_spool_not_delivered", reason=status.problem)
        raise typer.Exit(1)


@spool.command()
def discard(
    waiting: Annotated[
        bool, typer.Option("--waiting", help="Also what ended processes left and was not delivered.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Delete the captures that were refused."""
    from clearwell.adapters.cli.connection import operator
    from clearwell.middleware.spool import discard_refused, discard_waiting

    settings, terminal = start()
    operator(settings, "discard captures")  # an agent must not remove what it said
    refused = discard_refused(settings.spool_path)
    left = discard_waiting(settings.spool_path) if waiting else 0
    if as_json:
        from clearwell.views.spool import DiscardView

        terminal.answer(DiscardView(refused=refused, waiting=left))
    else:
        terminal.tell("cli_spool_discarded", refused=refused, waiting=left)


async def _deliver(settings: Settings, url: str | None) -> tuple[DeliveryStatus, bool]:
    from clearwell.client.client import AsyncClient
    from clearwell.middleware import MemoryMiddleware

    async with AsyncClient(url, settings=settings) as client:
        middleware = MemoryMiddleware(client, settings=settings)
        ended = await middleware.flush(seconds=DELIVER_SECONDS)
        status = middleware.status()
        await middleware.aclose(seconds=1)
    return status, ended


def _describe_spool(path: Path, reports: Sequence[SpoolReport]) -> SpoolView:
    from clearwell.views.spool import SpooledView, SpoolView

    found = [SpooledView.read(report, path=str(report.path), bytes=report.waiting_bytes) for report in reports]
    return SpoolView(path=str(path), destinations=tuple(found))


def count_spooled(reports: Sequence[SpoolReport]) -> tuple[int, int]:
    """How many captures wait, and how many were refused, for all memories."""
    return sum(report.waiting for report in reports), sum(report.refused for report in reports)
