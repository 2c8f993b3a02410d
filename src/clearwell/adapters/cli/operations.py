"""The commands of an operator. Each one imports what it needs when it runs, so that help is fast."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated, Any

import typer

from clearwell.adapters.cli.command import AsJson, log_to_stderr, run, start


def serve(
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option("--port", "-p", min=1, max=65535, help="Port to listen on.")] = None,
    workers: Annotated[
        int,
        typer.Option(
            "--workers",
            "-w",
            min=1,
            max=16,
            help="Processes that answer requests; one of them also does the background work.",
        ),
    ] = 1,
    access_log: Annotated[bool, typer.Option("--access-log", help="Log every request.")] = False,
) -> None:
    """Run the API, the worker and the bundled servers."""
    from clearwell.adapters.cli.server import run_server
    from clearwell.settings import Settings

    chosen: dict[str, Any] = {"host": host, "port": port}
    settings = Settings(**{name: value for name, value in chosen.items() if value is not None})
    run_server(settings, workers=workers, access_log=access_log)


def worker() -> None:
    """Run a worker without the API.

    It admits pending outputs, creates digests and carries out waiting promotions. Several can run at once.
    """
    from clearwell.adapters.cli.server import run_worker

    settings, terminal = start()
    run_worker(settings, terminal)


def migrate(as_json: AsJson = False) -> None:
    """Update the database schema to this version."""
    from clearwell.adapters.cli import installation

    settings, terminal = start()
    installation.migrate(settings, terminal, as_json=as_json)


def reembed(
    model: Annotated[str, typer.Option("--model", "-m", help="The new model: its name in the API, or 'offline'.")],
    base_url: Annotated[str | None, typer.Option(help="Address of its API; the configured one by default.")] = None,
    dimensions: Annotated[
        int | None, typer.Option(min=1, help="Dimensions to request; those of the model by default.")
    ] = None,
    wait: Annotated[
        float | None, typer.Option(min=0, help="Seconds for running programs to load the new model.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Change the embedding model of long-term memory.

    Everything can keep running. The command can be interrupted and continues when it is run again.
    """
    from clearwell.adapters.cli import vectors

    settings, terminal = start()
    vectors.reembed(settings, terminal, model, base_url=base_url, dimensions=dimensions, wait=wait, as_json=as_json)


def rebuild(as_json: AsJson = False) -> None:
    """Rebuild lost and changed chunks of long-term memory.

    What was promoted, withdrawn or rejected stays so. Everything can keep running. The command can be interrupted and
    continues when it is run again.
    """
    from clearwell.adapters.cli import vectors

    settings, terminal = start()
    vectors.rebuild(settings, terminal, as_json=as_json)


def backup(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder for the backup.")],
    as_json: AsJson = False,
) -> None:
    """Back up the data folder while it is in use.

    The backup has everything that was stored before the command began: the database, the key and the heads
    of the audit, and the settings file. Working memory is rebuilt from quarantine.
    """
    from clearwell.adapters.cli.backup import back_up

    settings, terminal = start()
    back_up(settings, terminal, folder, as_json=as_json)


def restore(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a backup.")],
    as_json: AsJson = False,
) -> None:
    """Verify a backup and restore it to an empty data folder.

    Restore only a backup that you or somebody you trust has made: it contains programs of the database.
    """
    from clearwell.adapters.cli.backup import restore as restore_folder

    settings, terminal = start()
    restore_folder(settings, terminal, folder, as_json=as_json)


def index(as_json: AsJson = False) -> None:
    """Build the indexes that large groups need.

    Drops indexes that are no longer needed. A running serve does both automatically.
    """
    from clearwell.adapters.cli import vectors

    settings, terminal = start()
    vectors.index(settings, terminal, as_json=as_json)


def status(as_json: AsJson = False) -> None:
    """Show servers, schema, model and counts. Starts nothing."""
    from clearwell.adapters.cli.status import describe_status, find_status, show_status

    settings, terminal = start()
    found = run(find_status(settings))
    if as_json:
        terminal.answer(describe_status(found, settings, terminal))
    else:
        show_status(found, settings, terminal)


def data(as_json: AsJson = False) -> None:
    """Show where the data is, its size, and how to remove it."""
    from clearwell.adapters.cli.installation import show_data

    settings, terminal = start()
    show_data(settings, terminal, as_json=as_json)


def doctor(
    group: Annotated[str | None, typer.Option("--group", "-g", help="Check this group too.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check every component and say how to fix problems."""
    from clearwell.adapters.cli.doctor import examine

    settings, terminal = start()
    log_to_stderr(terminal, level=logging.ERROR)  # what does not answer is a finding
    findings = run(examine(settings, terminal, group))
    if as_json:
        terminal.answer(findings.view)
    else:
        findings.show()
        terminal.line()
        terminal.tell(findings.summary, warnings=findings.warnings)
    if not findings.healthy:
        raise typer.Exit(1)


def settings(as_json: AsJson = False) -> None:
    """Show all settings, with passwords and keys hidden."""
    from clearwell.adapters.cli.installation import show_settings

    effective, terminal = start()
    show_settings(effective, terminal, as_json=as_json)
