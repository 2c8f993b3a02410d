"""The backlog: captures that are not delivered yet, in their order."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final, Protocol

import structlog

from clearwell.records import NewCapture

log = structlog.get_logger(__name__)

FIXED_BYTES: Final = 500
"""What a capture takes besides its text and metadata, roughly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedCapture:
    """A capture with its number. A later capture has a higher number."""

    number: int
    new: NewCapture


@dataclass(frozen=True, slots=True, kw_only=True)
class BacklogSize:
    """How much waits for delivery, since when, and how much was dropped because a limit was reached."""

    count: int = 0
    bytes: int = 0
    oldest_at: datetime | None = None
    dropped: int = 0

    def __add__(self, other: "BacklogSize") -> "BacklogSize":
        times = [size.oldest_at for size in (self, other) if size.oldest_at is not None]
        return BacklogSize(
            count=self.count + other.count,
            bytes=self.bytes + other.bytes,
            oldest_at=min(times, default=None),
            dropped=self.dropped + other.dropped,
        )


class Backlog(Protocol):
    """Holds captures until they are delivered. Its methods return at once and raise nothing."""

    def append(self, new: NewCapture) -> None:
        """Add a capture at the end. If a limit is reached, the oldest captures are dropped."""
        ...

    def peek(self, *, most: int, max_bytes: int) -> Sequence[QueuedCapture]:
        """Return the first captures, at least one if there are any."""
        ...

    def advance(self, number: int) -> None:
        """Remove the captures up to this number: they were delivered or set aside."""
        ...

    def set_aside(self, new: NewCapture, reason: str) -> None:
        """Record a capture that the memory refuses for good, with the code of the reason."""
        ...

    def measure(self) -> BacklogSize: ...

    def recover(self) -> None:
        """Take over what ended processes left. May take long, so it is called in a thread."""
        ...

    def sync(self) -> None:
        """Have everything written to the disk. May take long, so it is called in a thread."""
        ...

    def close(self) -> None: ...


class MemoryBacklog:
    """A backlog in memory. It ends with the process."""

    def __init__(self, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._queue: deque[QueuedCapture] = deque()
        self._bytes = self._dropped = self._last = 0

    def append(self, new: NewCapture) -> None:
        self._last += 1
        self._queue.append(QueuedCapture(number=self._last, new=new))
        self._bytes += estimate_bytes(new)
        dropped = self._dropped
        while self._bytes > self._max_bytes and len(self._queue) > 1:
            self._remove_first()
            self._dropped += 1
        if self._dropped > dropped:
            log.warning("captures dropped", captures=self._dropped - dropped, reason="backlog_full")

    def peek(self, *, most: int, max_bytes: int) -> Sequence[QueuedCapture]:
        return limit_bytes(list(islice(self._queue, most)), max_bytes)

    def advance(self, number: int) -> None:
        while self._queue and self._queue[0].number <= number:
            self._remove_first()

    def set_aside(self, new: NewCapture, reason: str) -> None:
        """Nothing is recorded: without a folder there is no place for it."""

    def measure(self) -> BacklogSize:
        oldest = self._queue[0].new.occurred_at if self._queue else None
        return BacklogSize(count=len(self._queue), bytes=self._bytes, oldest_at=oldest, dropped=self._dropped)

    def recover(self) -> None:
        """Nothing to recover."""

    def sync(self) -> None:
        """Nothing to write."""

    def close(self) -> None:
        """Nothing to close."""

    def _remove_first(self) -> None:
        self._bytes -= estimate_bytes(self._queue.popleft().new)


def limit_bytes(captures: Sequence[QueuedCapture], max_bytes: int) -> Sequence[QueuedCapture]:
    """The first captures that together stay within the limit, at least one."""
    for number, queued in enumerate(captures):
        max_bytes -= estimate_bytes(queued.new)
        if max_bytes < 0:
            return captures[: max(number, 1)]
    return captures


def estimate_bytes(new: NewCapture) -> int:
    """The size of a capture without encoding it: a character counts as one to four bytes."""
    wide = 1 if new.content.isascii() else 3
    return FIXED_BYTES + wide * len(new.content) + sum(len(str(value)) for value in new.metadata.values())
