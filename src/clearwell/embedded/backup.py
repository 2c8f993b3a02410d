"""Backups of the data folder while it is in use, and their restoration.

A backup is a folder: a base backup of PostgreSQL with its own manifest, made by the bundled ``pg_basebackup``, the
other files that an installation cannot do without, and ``backup.json`` with their checksums. Working memory is not in
it: a running program makes it again from quarantine.
"""

import asyncio
import hashlib
import json
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from clearwell.embedded.folders import sync_folder, translate_write_errors
from clearwell.embedded.install import postgres_install
from clearwell.embedded.launch import environment
from clearwell.embedded.postgres import EmbeddedPostgres
from clearwell.embedded.server import RunningServer
from clearwell.errors import EmbeddedStoreError

FORMAT: Final = 1
DATABASE: Final = "postgres"
MANIFEST: Final = "backup.json"
POSTGRES_MANIFEST: Final = "backup_manifest"
TAIL: Final = 2000
_PROGRESS = re.compile(r"(\d+)/(\d+) kB")

Progress = Callable[[int, int], None]
"""Called with the bytes that are done and their total."""


@dataclass(frozen=True)
class Backup:
    """What ``backup.json`` says. ``files`` are checksums (SHA-256) by name, that of PostgreSQL's manifest included."""

    clearwell: str
    format: int
    made_at: str
    program: str
    postgres: str
    schema: int
    files: Mapping[str, str]


async def make_backup(
    running: RunningServer,
    target: Path,
    files: Mapping[str, Path],
    progress: Progress,
    *,
    at: datetime,
    program: str,
    schema: int,
) -> Backup:
    """Back up a running bundled PostgreSQL and these files to a folder that does not exist yet, or is empty.

    Everything that was committed before the call is in the backup. The folder appears when it is complete. The files
    are copied first: the heads of the audit must not be newer than the database.
    """
    unfinished = _begin(target)
    try:
        await asyncio.to_thread(_copy_all, files, unfinished)
        await _run_basebackup(running, unfinished / DATABASE, progress)
        backup = await asyncio.to_thread(
            _complete, unfinished, list(files), at=at, program=program, postgres=running.version, schema=schema
        )
        await _verify_database(unfinished / DATABASE, lambda _done, _total: None)
        _put_in_place(unfinished, target)
    finally:
        await asyncio.to_thread(shutil.rmtree, unfinished, ignore_errors=True)
    return backup


async def restore_backup(source: Path, data_dir: Path, progress: Progress) -> Backup:
    """Verify a backup and put it into a data folder that does not exist yet, or is empty. Nothing is started."""
    backup = read_backup(source)
    server = EmbeddedPostgres(data_dir)
    await asyncio.to_thread(_require_empty, server)
    await asyncio.to_thread(_check_files, source, backup)
    await _verify_database(source / DATABASE, progress)
    await asyncio.to_thread(server.adopt, source / DATABASE)
    await asyncio.to_thread(_copy_files, source, server.data.path, backup)
    return backup


def read_backup(source: Path) -> Backup:
    """Read ``backup.json``. Raises EmbeddedStoreError if the folder is no backup, or one of a newer program."""
    try:
        said = json.loads((source / MANIFEST).read_bytes())
        backup = Backup(**said)
    except (OSError, ValueError, TypeError) as error:
        raise EmbeddedStoreError("restore_no_backup", folder=source, file=MANIFEST) from error
    if backup.clearwell != "backup" or backup.format != FORMAT:
        raise EmbeddedStoreError("restore_other_format", folder=source, program=backup.program)
    names = (DATABASE + "/" + POSTGRES_MANIFEST, *(name for name in backup.files if "/" not in name))
    if set(names) != set(backup.files) or any(name in ("", ".", "..") for name in names):
        raise EmbeddedStoreError("restore_no_backup", folder=source, file=MANIFEST)
    return backup


async def _run_basebackup(running: RunningServer, folder: Path, progress: Progress) -> None:
    command: list[str | Path] = [
        postgres_install() / "bin" / "pg_basebackup",
        f"--pgdata={folder}",
        f"--dbname={running.url}",
        "--wal-method=stream",
        "--checkpoint=fast",
        "--manifest-checksums=SHA256",
        "--no-password",
        "--progress",
    ]
    code, said = await _run(command, progress)
    if code != 0:
        raise EmbeddedStoreError("backup_failed", folder=running.folder, reason=said)


async def _verify_database(folder: Path, progress: Progress) -> None:
    """Compare every file with PostgreSQL's manifest, and read the log that a start will replay."""
    program = postgres_install() / "bin" / "pg_verifybackup"
    code, said = await _run([program, "--progress", "--exit-on-error", folder], progress)
    if code != 0:
        raise EmbeddedStoreError("restore_damaged", folder=folder, reason=said)


async def _run(command: list[str | Path], progress: Progress) -> tuple[int, str]:
    """Run a program that reports its progress on stderr; returns its exit code and what else it said there."""
    child = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=environment(),
        start_new_session=True,
    )
    said = ""
    try:
        assert child.stderr is not None  # noqa: S101 - it is a pipe
        async for line in child.stderr:
            text = line.decode(errors="replace")
            if found := _PROGRESS.search(text):
                progress(int(found[1]) * 1024, int(found[2]) * 1024)
            else:
                said = (said + text)[-TAIL:]
        return await child.wait(), said.strip()
    finally:
        if child.returncode is None:
            os.killpg(child.pid, signal.SIGKILL)  # pg_basebackup has a child that receives the log
            await child.wait()


def _copy_all(files: Mapping[str, Path], folder: Path) -> None:
    for name, path in files.items():
        _copy(path, folder / name)


def _complete(folder: Path, files: Sequence[str], *, at: datetime, program: str, postgres: str, schema: int) -> Backup:
    """Write the checksums."""
    with translate_write_errors(folder):
        named = [*files, f"{DATABASE}/{POSTGRES_MANIFEST}"]
        backup = Backup(
            clearwell="backup",
            format=FORMAT,
            made_at=at.isoformat(),
            program=program,
            postgres=postgres,
            schema=schema,
            files={name: _checksum(folder / name) for name in named},
        )
        (folder / MANIFEST).write_text(json.dumps(asdict(backup), indent=2) + "\n", encoding="utf-8")
        sync_folder(folder)
    return backup


def _copy_files(source: Path, folder: Path, backup: Backup) -> None:
    for name in backup.files:
        if "/" not in name:
            _copy(source / name, folder / name)


def _check_files(source: Path, backup: Backup) -> None:
    """Compare the files with their checksums. A link could lead to files that are not of the backup."""
    links = next((path for path in source.rglob("*") if path.is_symlink()), None)
    if links is not None:
        raise EmbeddedStoreError("restore_damaged", folder=source, reason=links)
    for name, expected in backup.files.items():
        path = source / name
        if not path.is_file() or _checksum(path) != expected:
            raise EmbeddedStoreError("restore_damaged", folder=source, reason=name)


def _copy(path: Path, target: Path) -> None:
    """Copy a file so that only its owner can read it; a file that exists already is kept."""
    with translate_write_errors(target):
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(path.read_bytes())
            file.flush()
            os.fsync(file.fileno())


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _begin(target: Path) -> Path:
    """Make the folder beside the target in which the backup is made. Raises if there is something at the target."""
    if target.is_symlink() or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
        raise EmbeddedStoreError("backup_exists", folder=target)
    with translate_write_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))


def _put_in_place(unfinished: Path, target: Path) -> None:
    with translate_write_errors(target):
        unfinished.rename(target)
        sync_folder(target.parent)


def _require_empty(server: EmbeddedPostgres) -> None:
    folder = server.data.path
    if server.is_running():
        raise EmbeddedStoreError("restore_running", folder=folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise EmbeddedStoreError("restore_not_empty", folder=folder)
