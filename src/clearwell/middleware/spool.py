"""The spool: a backlog on disk.

Every capture is written before it is sent, so it survives a kill of the process as soon as ``append`` has returned. It
survives a power failure after the next ``sync``, which follows within a second while the memory does not answer.

A spool has a folder for each memory and caller that captures are for, and in it a folder for each middleware. What an
ended process left is taken over by the next middleware for the same memory and caller, and delivered before its own
captures. Captures that the memory refuses for good are moved to ``refused``, one file each. A spool that others can
write to is refused.
"""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import Final

import structlog

from clearwell.errors import ConfigurationError
from clearwell.middleware.backlog import BacklogSize, MemoryBacklog, QueuedCapture, limit_bytes
from clearwell.middleware.segments import PRIVATE, encode_capture
from clearwell.middleware.spool_folder import SpoolFolder, count_waiting
from clearwell.ports import Clock, Ids
from clearwell.records import NewCapture

log = structlog.get_logger(__name__)

REFUSED: Final = "refused"
DESTINATION: Final = "destination.txt"
MAX_REFUSED: Final = 1_000
WRITABLE_BY_OTHERS: Final = 0o022


class Spool:
    """The captures of one middleware for one memory and caller, with what ended processes left for the same.

    While nothing can be written, because the disk is full for example, captures are held in memory.
    """

    def __init__(
        self,
        folder: Path,
        destination: str,
        *,
        max_bytes: int,
        max_age: timedelta,
        clock: Clock,
        ids: Ids,
        max_refused: int = MAX_REFUSED,
    ) -> None:
        """Prepare the folder. Raises ConfigurationError if others can write to it, OSError if it cannot be made."""
        _require_private(folder)
        self.path = folder / sha256(destination.encode()).hexdigest()[:16]
        self.path.mkdir(mode=0o700, exist_ok=True)
        (self.path / DESTINATION).write_text(destination.partition("\n")[0] + "\n", encoding="utf-8")
        self._max_bytes = max_bytes
        self._max_age = max_age
        self._max_refused = max_refused
        self._clock = clock
        self._ids = ids
        self._own: SpoolFolder | None = None
        self._process = os.getpid()
        self._taken_over: list[SpoolFolder] = []
        self._overflow = MemoryBacklog(max_bytes=max_bytes)
        self._current: SpoolFolder | MemoryBacklog = self._overflow
        self._dropped = 0

    def append(self, new: NewCapture) -> None:
        if self._overflow.measure().count == 0:
            try:
                self._open_own().append(new)
                return
            except OSError as error:
                log.error("capture not spooled", path=str(self.path), reason=type(error).__name__, errno=error.errno)
        self._overflow.append(new)

    def peek(self, *, most: int, max_bytes: int) -> Sequence[QueuedCapture]:
        for folder in self._folders():
            if first := self._peek_unexpired(folder, most):
                self._current = folder
                return limit_bytes(first, max_bytes)
            self._release(folder)
        self._current = self._overflow
        return self._overflow.peek(most=most, max_bytes=max_bytes)

    def advance(self, number: int) -> None:
        try:
            self._current.advance(number)
        except OSError as error:
            # What was delivered would be sent once more, and its keys would be recognised.
            log.error("spool not advanced", path=str(self.path), reason=type(error).__name__, errno=error.errno)

    def set_aside(self, new: NewCapture, reason: str) -> None:
        """Write a refused capture to a file of its own. Of very many the oldest are removed."""
        fields = {"reason": reason, "refused_at": self._clock.now().isoformat(), "capture": encode_capture(new)}
        folder = self.path / REFUSED
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            path = folder / f"{self._ids.new()}.json"
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "w", encoding="utf-8") as file:  # noqa: PTH123
                json.dump(fields, file)
            for old in sorted(folder.iterdir())[: -self._max_refused]:
                old.unlink(missing_ok=True)
        except OSError as error:
            log.error("refused capture not recorded", path=str(folder), reason=type(error).__name__)

    def measure(self) -> BacklogSize:
        size = self._overflow.measure()
        for folder in self._folders():
            first = folder.peek(most=1) if folder.count else ()
            oldest = first[0].new.occurred_at if first else None
            size += BacklogSize(count=folder.count, bytes=folder.bytes, oldest_at=oldest, dropped=folder.dropped)
        return size + BacklogSize(dropped=self._dropped)

    def recover(self) -> None:
        """Take over the folders of ended processes, oldest first."""
        mine = {folder.path for folder in self._folders()}
        for path in list_folders(self.path):
            if path in mine:
                continue
            try:
                folder = SpoolFolder.take_over(path, max_bytes=self._max_bytes)
            except OSError as error:
                log.error("spool not taken over", path=str(path), reason=type(error).__name__, errno=error.errno)
                continue
            if folder is not None:
                log.info("spool taken over", path=str(path), captures=folder.count)
                self._taken_over.append(folder)

    def sync(self) -> None:
        for folder in self._folders():
            folder.sync()

    def close(self) -> None:
        """Release the folders. What is not delivered stays there for the next middleware."""
        for folder in self._folders():
            self._dropped += folder.dropped
            folder.close()
        self._own, self._taken_over, self._current = None, [], self._overflow

    def _folders(self) -> list[SpoolFolder]:
        """In the order of delivery."""
        return self._taken_over if self._own is None else [*self._taken_over, self._own]

    def _open_own(self) -> SpoolFolder:
        """The folder that this process writes to. After a fork the child makes one of its own."""
        if self._own is None or self._process != os.getpid():
            self._process, self._taken_over = os.getpid(), []
            self._own = SpoolFolder.create(self.path / str(self._ids.new()), max_bytes=self._max_bytes)
        return self._own

    def _peek_unexpired(self, folder: SpoolFolder, most: int) -> Sequence[QueuedCapture]:
        """The first captures of a folder, after those that waited too long were dropped."""
        limit = self._clock.now() - self._max_age
        while first := folder.peek(most=most):
            expired = list(takewhile(lambda queued: _is_older(queued, limit), first))
            if not expired:
                break
            log.warning("captures dropped", captures=len(expired), reason="spool_expired")
            self._dropped += len(expired)
            self._current = folder
            self.advance(expired[-1].number)
        return first

    def _release(self, folder: SpoolFolder) -> None:
        """Remove a folder that was taken over and in which nothing is left."""
        if folder is not self._own:
            self._taken_over.remove(folder)
            self._dropped += folder.dropped
            folder.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoolReport:
    """What waits in a spool for one memory and caller, and what they refused."""

    path: Path
    destination: str
    waiting: int
    waiting_bytes: int
    oldest_at: datetime | None
    refused: int


def read_spool(folder: Path) -> list[SpoolReport]:
    """Report on a spool without changing it. A spool that does not exist has nothing."""
    return [_report(path) for path in sorted(folder.glob("*/")) if (path / DESTINATION).is_file()]


def discard_refused(folder: Path) -> int:
    """Delete the captures that were refused; returns how many there were."""
    files = list(folder.glob(f"*/{REFUSED}/*.json"))
    for file in files:
        file.unlink(missing_ok=True)
    return len(files)


def discard_waiting(folder: Path) -> int:
    """Delete what ended processes left; returns how many captures there were. Folders of living ones are left alone."""
    discarded = 0
    for report in read_spool(folder):
        for path in list_folders(report.path):
            left = SpoolFolder.take_over(path, max_bytes=sys.maxsize)
            if left is not None:
                discarded += left.count
                left.discard()
    return discarded


def list_folders(path: Path) -> Iterator[Path]:
    """The folders of all middlewares for one memory and caller, oldest first."""
    with suppress(FileNotFoundError):
        yield from sorted(inner for inner in path.iterdir() if (inner / "lock").is_file())


def _report(path: Path) -> SpoolReport:
    size = BacklogSize()
    for folder in list_folders(path):
        with suppress(FileNotFoundError):  # it was delivered and removed in the meantime
            count, length, oldest = count_waiting(folder)
            size += BacklogSize(count=count, bytes=length, oldest_at=oldest)
    return SpoolReport(
        path=path,
        destination=(path / DESTINATION).read_text(encoding="utf-8").strip(),
        waiting=size.count,
        waiting_bytes=size.bytes,
        oldest_at=size.oldest_at,
        refused=sum(1 for _ in (path / REFUSED).glob("*.json")),
    )


def _is_older(queued: QueuedCapture, limit: datetime) -> bool:
    return queued.new.occurred_at is not None and queued.new.occurred_at < limit


def _require_private(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if sys.platform == "win32":
        return
    status = folder.stat()
    if status.st_uid != os.geteuid() or status.st_mode & WRITABLE_BY_OTHERS:
        raise ConfigurationError("spool_not_private", path=folder)
