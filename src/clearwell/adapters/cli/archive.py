"""``export`` and ``import``: groups as files."""

from __future__ import annotations

import os
import shlex
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from clearwell.adapters.cli.command import AsJson, UsageProblem, program, run, start
from clearwell.adapters.cli.questions import prompt
from clearwell.adapters.cli.terminal import Terminal, size

if TYPE_CHECKING:
    from clearwell.adapters.cli.connection import Connection
    from clearwell.records import ExportHeader
    from clearwell.settings import Settings


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")],
    group: Annotated[list[str] | None, typer.Option("--group", "-g", help="The group; can be repeated.")] = None,
    all_groups: Annotated[bool, typer.Option("--all", help="All groups.")] = False,
    as_json: AsJson = False,
) -> None:
    """Export groups to a file, signed by this installation.

    The file has every text of the groups. It is as confidential as the database.
    """
    if bool(group) == all_groups:
        raise UsageProblem("export_which", field="--group, --all")
    settings, terminal = start()
    exported = run(_export(settings, terminal, file, list(dict.fromkeys(group or ()))))
    if as_json:
        from clearwell.views.archive import ExportView

        terminal.answer(ExportView.read(exported))
        return
    terminal.tell(
        "cli_export_done", file=file, groups=len(exported.groups), rows=exported.rows, size=size(exported.bytes),
        style="green",
    )  # fmt: skip
    terminal.tell("cli_export_key", fingerprint=exported.fingerprint)


def import_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An export of Clearwell, or a file with texts.")],
    trust: Annotated[
        str | None,
        typer.Option("--trust", metavar="FINGERPRINT", help="Trust the installation whose key has this fingerprint."),
    ] = None,
    group: Annotated[
        str | None, typer.Option("--group", "-g", help="The group of texts that are no export of Clearwell.")
    ] = None,
    as_captures: Annotated[
        bool, typer.Option("--as-captures", help="Only capture the texts of an export, unverified.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import groups from an export, or capture the texts of another file.

    What Clearwell has exported and signed keeps its IDs, times and deciders. Everything else is captured and passes
    through the ingress pipeline. The command can be interrupted and continues when it is run again.
    """
    from clearwell.adapters.cli.archive_file import is_export
    from clearwell.adapters.cli.captured_file import capture_file

    settings, terminal = start()
    if as_captures or not is_export(file):
        if group is None:
            raise UsageProblem("import_needs_group", field="--group", file=file)
        capture_file(settings, terminal, file, group, as_json=as_json)
        return
    if group is not None:
        raise UsageProblem("import_has_groups", field="--group", file=file)
    imported = run(_import(settings, terminal, file, trust))
    if as_json:
        from clearwell.views.archive import ImportedFileView

        terminal.answer(ImportedFileView.read(imported))
        return
    terminal.tell(
        "cli_import_done", groups=len(imported.groups), stored=imported.stored, known=imported.known, style="green"
    )
    if imported.refused:
        terminal.warn("cli_import_refused", count=imported.refused)
    terminal.tell("cli_import_working", program=program())


@dataclass
class ExportSummary:
    """What was written."""

    groups: list[str] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0
    fingerprint: str = ""


@dataclass
class ImportSummary:
    """What became of the rows of a file."""

    groups: list[str] = field(default_factory=list)
    stored: int = 0
    known: int = 0
    refused: int = 0


async def _export(settings: Settings, terminal: Terminal, file: Path, groups: list[str]) -> ExportSummary:
    from clearwell.adapters.cli.connection import connect
    from clearwell.adapters.cli.known_groups import require_group
    from clearwell.adapters.cli.progress import show_progress
    from clearwell.flow.archive.format import read_header
    from clearwell.signing import fingerprint

    exported = ExportSummary()
    async with connect(settings, terminal) as connection:
        named = groups or [one.group_id for one in (await connection.client.groups()).groups]
        if not named:
            raise UsageProblem("export_no_groups", field="--all")
        for group_id in groups:
            await require_group(connection.client, group_id, terminal)
        with (
            _new_file(file) as written,
            show_progress(terminal, "cli_archive_progress", "cli_archive_step") as report,
        ):
            for group_id in named:
                header: ExportHeader | None = None
                async for line in _complete(connection, group_id):
                    header = header or read_header(line)
                    exported.bytes += written.write(line.encode() + b"\n")
                    exported.rows += line.startswith('{"kind":') and '"kind":"seal"' not in line[:40]
                    report(exported.rows, max(exported.rows, header.rows))
                assert header is not None  # noqa: S101 - an export has a header
                exported.groups.append(group_id)
                exported.fingerprint = fingerprint(header.public_key)
    return exported


async def _complete(connection: Connection, group_id: str) -> AsyncIterator[str]:
    """The lines of the export of a group. Raises if they end before the last seal."""
    from clearwell.errors import Unavailable
    from clearwell.flow.archive.format import is_last

    line = ""
    lines: AsyncGenerator[str] = await connection.export_lines(group_id)
    async with aclosing(lines):
        async for line in lines:
            yield line
    if not is_last(line):
        raise Unavailable("export_broken_off", group=group_id)


@contextmanager
def _new_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that only its owner can read, which appears when it is complete, and replaces nothing."""
    if path.exists() or path.is_symlink():
        raise UsageProblem("export_exists", field="file", file=path)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.link(unfinished, path)
    finally:
        unfinished.unlink()


async def _import(settings: Settings, terminal: Terminal, file: Path, trust: str | None) -> ImportSummary:
    """Verify the whole file, then send its batches. A server verifies each of them again."""
    from clearwell.adapters.cli.archive_file import read_batches, verify_file
    from clearwell.adapters.cli.connection import connect
    from clearwell.adapters.cli.progress import show_progress

    headers = verify_file(file)
    imported = ImportSummary(groups=list(dict.fromkeys(header.group_id for header in headers)))
    total = sum(header.rows for header in headers)
    async with connect(settings, terminal) as connection:
        trusted = _confirm_key(terminal, headers, trust, await connection.public_key())
        done, next_number, current = 0, 0, ""
        with show_progress(terminal, "cli_archive_progress", "cli_archive_step") as report:
            for header, number, batch in read_batches(file):
                if batch.header != current:
                    current, next_number = batch.header, 0
                done += len(batch.lines)
                if number < next_number:
                    imported.known += len(batch.lines)
                    continue
                answer = await connection.client.import_batch(
                    header.group_id,
                    header=batch.header,
                    previous=batch.previous,
                    lines=batch.lines,
                    seal=batch.seal,
                    trust=trusted,
                )
                next_number = answer.next_number
                imported.stored += answer.stored
                imported.known += answer.known
                imported.refused += answer.refused
                report(done, max(done, total))
    return imported


def _confirm_key(terminal: Terminal, headers: list[ExportHeader], trust: str | None, own: str) -> str | None:
    """The fingerprint to trust: none if the file is of this installation, otherwise what the person says."""
    from clearwell.errors import Conflict
    from clearwell.signing import fingerprint

    foreign = {header.public_key for header in headers} - {own}
    if not foreign:
        return None
    if len(foreign) > 1:
        raise UsageProblem("import_several_keys", field="file")
    found = fingerprint(foreign.pop())
    if trust is None and terminal.err.is_terminal:
        terminal.warn("cli_import_foreign", fingerprint=found)
        trust = prompt(terminal.words("cli_import_confirm"), err=True)
    if trust != found:
        raise Conflict("import_untrusted_key", fingerprint=shlex.quote(found))
    return found
