"""The folder of one middleware in the spool.

It has segment files, the number of the last delivered capture (``cursor``), and a lock that the kernel releases with
the process: a folder without a lock was left behind by a process that ended. Only the user can read the files.
"""

import json
import os
import shutil
import struct
import sys
import zlib
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final

import structlog

from clearwell.middleware.backlog import QueuedCapture
from clearwell.middleware.segments import PRIVATE, SUFFIX, SegmentFile, decode_capture, encode_capture, name_segment
from clearwell.records import NewCapture

if sys.platform != "win32":
    import fcntl

log = structlog.get_logger(__name__)

CURSOR: Final = struct.Struct("<QI")
AHEAD: Final = 500
"""Captures that are held in memory, so that they need not be read again."""
SEGMENT_BYTES: Final = 4 * 1024 * 1024
SEGMENTS: Final = 8
"""A full spool has at least this many segments, because the oldest one is dropped whole."""


class SpoolFolder:
    """The folder of one middleware, which holds its lock: the own one, or one that was taken over."""

    def __init__(self, path: Path, lock: int, *, max_bytes: int) -> None:
        self.path = path
        self.dropped = 0
        self._lock = lock
        self._max_bytes = max_bytes
        self._segment_bytes = min(SEGMENT_BYTES, max_bytes // SEGMENTS)
        self._cursor_file = os.open(path / "cursor", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
        self._cursor = _read_cursor(self._cursor_file)
        self._segments = [segment for segment in _read_segments(path) if segment.last > self._cursor]
        self._last = max([self._cursor, *(segment.last for segment in self._segments)])
        self._read_to = self._cursor
        self._place: tuple[SegmentFile, int] | None = None
        self._ahead: deque[QueuedCapture] = deque()
        self._unsynced: list[SegmentFile] = []

    @classmethod
    def create(cls, path: Path, *, max_bytes: int) -> "SpoolFolder":
        """Make the folder of a new middleware. Raises OSError."""
        path.mkdir(mode=0o700)
        lock = _lock(path)
        if lock is None:
            raise BlockingIOError(f"{path} is locked by another process")
        return cls(path, lock, max_bytes=max_bytes)

    @classmethod
    def take_over(cls, path: Path, *, max_bytes: int) -> "SpoolFolder | None":
        """Take over the folder of an ended process; None if its process is alive, or somebody else was faster."""
        lock = _lock(path)
        return None if lock is None else cls(path, lock, max_bytes=max_bytes)

    @property
    def count(self) -> int:
        """How many captures wait."""
        return self._last - self._cursor

    @property
    def bytes(self) -> int:
        """The length of the segments, in which the first captures may be delivered already."""
        return sum(segment.size for segment in self._segments)

    def append(self, new: NewCapture) -> None:
        """Write a capture at the end. Raises OSError. If the spool is full, its oldest segment is dropped."""
        payload = json.dumps(encode_capture(new)).encode()
        segment = self._open_segment(len(payload))
        number = self._last + 1
        segment.append(number, payload)
        if self._read_to == self._last and len(self._ahead) < AHEAD:
            self._ahead.append(QueuedCapture(number=number, new=new))
            self._read_to, self._place = number, (segment, segment.size)
        self._last = number
        while self.bytes > self._max_bytes and len(self._segments) > 1:
            self._drop_segment()

    def peek(self, *, most: int) -> Sequence[QueuedCapture]:
        """Return the first captures, read from the segments if necessary."""
        while len(self._ahead) < most and self._read_to < self._last:
            self._read_more()
        if not self._ahead:
            self._cursor = self._last  # what was left cannot be read
        return [queued for _, queued in zip(range(most), self._ahead, strict=False)]

    def advance(self, number: int) -> None:
        """Remove the captures up to this number, and the segments that hold no others."""
        self._cursor = max(self._cursor, number)
        while self._ahead and self._ahead[0].number <= self._cursor:
            self._ahead.popleft()
        os.pwrite(self._cursor_file, CURSOR.pack(self._cursor, zlib.crc32(str(self._cursor).encode())), 0)
        while self._segments and self._segments[0].last <= self._cursor:
            if len(self._segments) == 1:
                self._segments[0].empty()
                self._place = None
                break
            self._segments.pop(0).remove()

    def sync(self) -> None:
        """Have everything written to the disk. It runs in a thread, while captures are written and removed."""
        full, current = self._unsynced[:], self._segments[-1:]
        for segment in (*full, *current) if self.count else ():
            with suppress(OSError):  # it was removed in the meantime
                segment.sync()
        for segment in full:
            segment.close()
            self._unsynced.remove(segment)

    def close(self) -> None:
        """Close the files and release the lock. A folder in which nothing waits is removed."""
        for segment in (*self._segments, *self._unsynced):
            segment.close()
        os.close(self._cursor_file)
        if self.count == 0:
            shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)

    def discard(self) -> None:
        """Remove everything that waits, and the folder."""
        self.advance(self._last)
        self.close()

    def _open_segment(self, length: int) -> SegmentFile:
        """The segment to write to: the last one, or a new one if that is full."""
        if self._segments and self._segments[-1].size + length <= self._segment_bytes:
            return self._segments[-1]
        if self._segments:
            self._unsynced.append(self._segments[-1])
        self._segments.append(SegmentFile(self.path / name_segment(self._last + 1)))
        return self._segments[-1]

    def _read_more(self) -> None:
        """Read the next captures of the first segment that has some."""
        segment = next(segment for segment in self._segments if segment.last > self._read_to)
        offset = self._place[1] if self._place is not None and self._place[0] is segment else 0
        for frame in segment.frames(offset):
            if frame.number > self._read_to:
                self._read_to = frame.number
                self._ahead.append(QueuedCapture(number=frame.number, new=decode_capture(frame.payload)))
            self._place = (segment, frame.end)
            if len(self._ahead) >= AHEAD or frame.number >= segment.last:
                return
        log.error("spool damaged", path=str(segment.path), captures=segment.last - self._read_to)
        self._read_to = segment.last

    def _drop_segment(self) -> None:
        dropped = self._segments[0].last - self._cursor
        log.warning("captures dropped", captures=dropped, reason="spool_full")
        self.dropped += dropped
        self._read_to = max(self._read_to, self._segments[0].last)
        self.advance(self._segments[0].last)


def count_waiting(path: Path) -> tuple[int, int, datetime | None]:
    """Read how many captures wait in a folder, their bytes, and the time of the oldest. Nothing is changed."""
    with (path / "cursor").open("rb") as file:
        cursor = _read_cursor(file.fileno())
    count, size, oldest = 0, 0, None
    for segment in _read_segments(path):
        for frame in segment.frames():
            if frame.number > cursor:
                count, size = count + 1, size + len(frame.payload)
                oldest = decode_capture(frame.payload).occurred_at if oldest is None else oldest
    return count, size, oldest


def _read_segments(path: Path) -> list[SegmentFile]:
    return [SegmentFile.read(inner) for inner in sorted(path.glob(f"*{SUFFIX}"))]


def _read_cursor(descriptor: int) -> int:
    """The stored number, or 0 if it was not written to its end: delivered captures are then sent once more."""
    data = os.pread(descriptor, CURSOR.size, 0)
    if len(data) < CURSOR.size:
        return 0
    number, checksum = CURSOR.unpack(data)
    return int(number) if checksum == zlib.crc32(str(number).encode()) else 0


def _lock(path: Path) -> int | None:
    """Lock a folder; None if another process holds its lock, or has removed it."""
    try:
        descriptor = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    except FileNotFoundError:
        return None
    try:
        if sys.platform != "win32":
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), os.stat(path / "lock")):  # noqa: PTH116
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(descriptor)
    return None
