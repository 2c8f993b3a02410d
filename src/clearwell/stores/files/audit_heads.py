"""The heads of the audit trail in one file of the data folder, for all processes that use the folder.

The file is replaced as a whole, under a lock, and only its owner can read it. It has the heads of each database that
was used with the folder. Whoever can write a database cannot write this file.
"""

import asyncio
import hashlib
import json
import os
import secrets
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final

import structlog

from clearwell.ports import AuditHeads, Clock
from clearwell.records import HeadsState, Json, KnownHead
from clearwell.vocabulary import HeadsProblem

if sys.platform != "win32":
    import fcntl

log = structlog.get_logger(__name__)

FILE_NAME: Final = "audit.heads"
DAMAGED: Final = ".damaged"
FORMAT: Final = 1
MAX_HEADS: Final = 100_000
"""Heads of one database. A known head never gives way to another: who makes groups could remove it otherwise."""
MAX_DATABASES: Final = 20
"""The database that was not written for longest gives way. Which one is used is a setting, so this cannot be forced."""

FileVersion = tuple[int, int, int]


@dataclass(slots=True)
class DatabaseHeads:
    """The heads of one database."""

    since: datetime
    written_at: datetime
    heads: dict[str, KnownHead] = field(default_factory=dict)


class FileAuditHeads(AuditHeads):
    """The heads of one database in the file ``audit.heads`` of a data folder. ``database`` is its name there.

    If the file cannot be written, the heads are kept as long as the process runs.
    """

    def __init__(self, folder: Path, database: str, clock: Clock) -> None:
        self._path = folder / FILE_NAME
        self._database = database
        self._clock = clock
        self._guard = threading.Lock()
        self._known: dict[str, DatabaseHeads] = {}
        self._version: FileVersion | None = None
        self._problem: HeadsProblem | None = None

    async def find(self, group_id: str) -> KnownHead | None:
        return await asyncio.to_thread(self._find, group_id)

    async def begin(self) -> None:
        if (await self.state()).since is None:
            await asyncio.to_thread(self._change, lambda _: True)

    async def record(self, heads: Sequence[KnownHead]) -> None:
        if heads:
            await asyncio.to_thread(self._change, lambda stored: _record(stored, heads))

    async def mark_refused(self, group_id: str, *, at: datetime) -> None:
        await asyncio.to_thread(self._change, lambda stored: _mark_refused(stored, group_id, at))

    async def replace(self, group_id: str, head: KnownHead | None) -> None:
        await asyncio.to_thread(self._change, lambda stored: _replace(stored, group_id, head))

    async def state(self) -> HeadsState:
        return await asyncio.to_thread(self._state)

    def _find(self, group_id: str) -> KnownHead | None:
        with self._guard:
            self._load()
            stored = self._known.get(self._database)
            return None if stored is None else stored.heads.get(group_id)

    def _state(self) -> HeadsState:
        with self._guard:
            self._load()
            stored = self._known.get(self._database)
            heads = [] if stored is None else list(stored.heads.values())
            problem = self._problem
            if problem is None and self._path.with_name(FILE_NAME + DAMAGED).exists():
                problem = HeadsProblem.DAMAGED
            return HeadsState(
                since=None if stored is None else stored.since,
                heads=len(heads),
                begun=tuple(head.group_id for head in heads if head.begun_at is not None),
                refused=tuple(head.group_id for head in heads if head.refused_at is not None),
                problem=problem,
            )

    def _change(self, change: Callable[[DatabaseHeads], bool]) -> None:
        with self._guard:
            try:
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with _locked(self._path.with_name(f".{FILE_NAME}.lock")):
                    self._load()
                    complete = self._apply(change)
                    self._version = _write(self._path, _encode(self._known))
            except OSError as error:
                if self._problem is not HeadsProblem.UNWRITABLE:
                    log.error("audit heads not written", path=str(self._path), reason=error.strerror or str(error))
                self._problem = HeadsProblem.UNWRITABLE
                self._apply(change)
                return
            if not complete and self._problem is not HeadsProblem.FULL:
                log.error("audit heads full", path=str(self._path), heads=MAX_HEADS)
            self._problem = None if complete else HeadsProblem.FULL

    def _apply(self, change: Callable[[DatabaseHeads], bool]) -> bool:
        now = self._clock.now()
        stored = self._known.setdefault(self._database, DatabaseHeads(since=now, written_at=now))
        stored.written_at = now
        while len(self._known) > MAX_DATABASES:
            del self._known[min(self._known, key=lambda name: self._known[name].written_at)]
        return change(stored)

    def _load(self) -> None:
        """Read the file if another process has written it. What this process knows outlives a lost file."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return
        except OSError:
            self._problem = HeadsProblem.UNWRITABLE
            return
        version = (found.st_ino, found.st_mtime_ns, found.st_size)
        if version == self._version:
            return
        try:
            self._known = _decode(self._path.read_bytes())
        except OSError:
            self._problem = HeadsProblem.UNWRITABLE
            return
        except (ValueError, KeyError, TypeError, AttributeError):
            self._set_aside()
            return
        self._version = version

    def _set_aside(self) -> None:
        aside = self._path.with_name(FILE_NAME + DAMAGED)
        log.error("audit heads damaged", path=str(self._path), moved_to=str(aside))
        try:
            self._path.replace(aside)
        except OSError:
            self._problem = HeadsProblem.UNWRITABLE


def _record(stored: DatabaseHeads, heads: Sequence[KnownHead]) -> bool:
    """Whether there was room for all of them."""
    complete = True
    for head in heads:
        known = stored.heads.get(head.group_id)
        if known is not None:
            stored.heads[head.group_id] = known.advance(head)
        elif len(stored.heads) < MAX_HEADS:
            stored.heads[head.group_id] = head
        else:
            complete = False
    return complete


def _mark_refused(stored: DatabaseHeads, group_id: str, at: datetime) -> bool:
    if group_id in stored.heads:
        stored.heads[group_id] = replace(stored.heads[group_id], refused_at=at)
    return True


def _replace(stored: DatabaseHeads, group_id: str, head: KnownHead | None) -> bool:
    stored.heads.pop(group_id, None)
    return head is None or _record(stored, [head])


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Be the only process that writes. The kernel releases the lock when a process ends."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if sys.platform != "win32":
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _write(path: Path, content: bytes) -> FileVersion:
    made = path.with_name(f".{FILE_NAME}.{secrets.token_hex(8)}")
    handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            found = os.fstat(file.fileno())
        made.replace(path)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    if sys.platform != "win32":
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    return found.st_ino, found.st_mtime_ns, found.st_size


def _encode(known: dict[str, DatabaseHeads]) -> bytes:
    databases: Json = {
        name: {
            "since": stored.since.isoformat(),
            "written_at": stored.written_at.isoformat(),
            "heads": {group: _encode_head(head) for group, head in stored.heads.items()},
        }
        for name, stored in known.items()
    }
    text = json.dumps(databases, separators=(",", ":"))
    checksum = hashlib.sha256(text.encode()).hexdigest()
    return f'{{"clearwell":"audit heads","format":{FORMAT},"checksum":"{checksum}","databases":{text}}}\n'.encode()


def _encode_head(head: KnownHead) -> Json:
    encoded: dict[str, Json] = {"number": head.number, "root": head.root.hex()}
    if head.begun_at is not None:
        encoded["begun_at"] = head.begun_at.isoformat()
    if head.refused_at is not None:
        encoded["refused_at"] = head.refused_at.isoformat()
    return encoded


def _decode(content: bytes) -> dict[str, DatabaseHeads]:
    """Read the file. Raises ValueError, KeyError, TypeError or AttributeError if it is damaged."""
    said = json.loads(content)
    text = json.dumps(said["databases"], separators=(",", ":"))
    if said["format"] != FORMAT or hashlib.sha256(text.encode()).hexdigest() != said["checksum"]:
        raise ValueError("audit heads damaged")
    return {
        name: DatabaseHeads(
            since=datetime.fromisoformat(stored["since"]),
            written_at=datetime.fromisoformat(stored["written_at"]),
            heads={
                group: KnownHead(
                    group_id=group,
                    number=int(head["number"]),
                    root=bytes.fromhex(head["root"]),
                    begun_at=_moment(head.get("begun_at")),
                    refused_at=_moment(head.get("refused_at")),
                )
                for group, head in stored["heads"].items()
            },
        )
        for name, stored in said["databases"].items()
    }


def _moment(value: str | None) -> datetime | None:
    return None if value is None else datetime.fromisoformat(value)
