"""The sender: delivers the captures of the backlog in the background, in their order.

One batch is under way at a time, so the order of a session is kept. Every capture has a key of its own: one that is
sent again, because the answer to the first attempt was lost, is stored once. What the memory refuses for good is set
aside and does not hold up the rest. While the memory does not answer, everything waits and is tried again with
increasing pauses.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import structlog

from clearwell.errors import (
    ClearwellError,
    ConfigurationError,
    InvalidInput,
    NotAllowed,
    RequestInProgress,
    Unauthenticated,
    Unavailable,
)
from clearwell.flow.deadlines import cancel_tasks
from clearwell.middleware.backlog import Backlog, QueuedCapture
from clearwell.middleware.memory import AgentMemory
from clearwell.ports import Clock
from clearwell.records import CaptureReceipt

log = structlog.get_logger(__name__)

BATCH: Final = 100
BATCH_BYTES: Final = 1024 * 1024
SEND_SECONDS: Final = 30.0
FIRST_PAUSE: Final = 0.2
LONGEST_PAUSE: Final = 10.0
SYNC_SECONDS: Final = 1.0
RECOVER_SECONDS: Final = 30.0
"""How often an idle sender looks for what other processes left."""
ATTEMPTS: Final = 5
"""Attempts at a capture that fails neither by an outage nor by a refusal, before the next capture is tried."""
OUTAGES: Final = (Unavailable, Unauthenticated, RequestInProgress, ConfigurationError, OSError, TimeoutError)
REFUSALS: Final = (InvalidInput, NotAllowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryStatus:
    """The state of delivery.

    ``waiting`` captures are not delivered yet, the oldest since ``oldest_at``. ``refused`` were refused by the memory
    for good, ``dropped`` were removed because a limit of the backlog was reached. ``problem`` is the code of the reason
    why nothing has been delivered since ``failing_since``.
    """

    waiting: int = 0
    waiting_bytes: int = 0
    oldest_at: datetime | None = None
    delivered: int = 0
    refused: int = 0
    dropped: int = 0
    problem: str | None = None
    failing_since: datetime | None = None


class CaptureSender:
    """Sends captures to the memory, from a task that starts with the first one."""

    def __init__(self, memory: AgentMemory, backlog: Backlog, clock: Clock) -> None:
        self._memory = memory
        self._backlog = backlog
        self._clock = clock
        self._task: asyncio.Task[None] | None = None
        self._work = asyncio.Event()
        self._retry = asyncio.Event()
        self._idle = asyncio.Event()
        self._delivered = self._refused = self._failures = self._attempts = 0
        self._problem: str | None = None
        self._failing_since: datetime | None = None

    def start(self) -> None:
        """Start the task, if it does not run in the current event loop."""
        if self._task is None or self._task.done() or self._task.get_loop() is not asyncio.get_running_loop():
            self._work, self._retry, self._idle = asyncio.Event(), asyncio.Event(), asyncio.Event()
            self._work.set()
            self._task = asyncio.create_task(self._run(), name="capture sender")

    def notify(self) -> None:
        """Say that there is something to send. An outage still has its pause."""
        self._idle.clear()
        self._work.set()

    def measure(self) -> DeliveryStatus:
        size = self._backlog.measure()
        return DeliveryStatus(
            waiting=size.count,
            waiting_bytes=size.bytes,
            oldest_at=size.oldest_at,
            delivered=self._delivered,
            refused=self._refused,
            dropped=size.dropped,
            problem=self._problem,
            failing_since=self._failing_since,
        )

    async def flush(self, *, seconds: float) -> bool:
        """Deliver what waits, at once even in an outage.

        Returns False if something is left because the memory does not answer, or after this time.
        """
        self.start()
        self.notify()
        self._retry.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        return self._backlog.measure().count == 0

    async def close(self) -> None:
        """Stop the task. What is not delivered stays in the backlog."""
        task, self._task = self._task, None
        if task is not None and task.get_loop() is asyncio.get_running_loop():
            await cancel_tasks(task)

    async def _run(self) -> None:
        await asyncio.to_thread(self._backlog.recover)
        while True:
            try:
                await self._send_next()
            except Exception as error:
                log.error("sender failed", reason=_describe(error), exc_info=error)
                await self._pause()

    async def _send_next(self) -> None:
        """Deliver the next batch, or wait for one, or for the memory to answer again."""
        self._work.clear()
        batch = self._backlog.peek(most=BATCH, max_bytes=BATCH_BYTES)
        if not batch:
            self._idle.set()
            await self._wait_for_work()
        elif await (self._pass_over_first(batch) if self._attempts >= ATTEMPTS and batch[1:] else self._deliver(batch)):
            self._end_outage()
        else:
            self._idle.set()
            await self._pause()

    async def _wait_for_work(self) -> None:
        """Wait for a capture. Meanwhile take over what other processes left when they ended."""
        try:
            async with asyncio.timeout(RECOVER_SECONDS):
                await self._work.wait()
        except TimeoutError:
            await asyncio.to_thread(self._backlog.recover)

    async def _deliver(self, batch: Sequence[QueuedCapture]) -> bool:
        """Send a batch, and its captures one by one if it fails as a whole. Returns False if the rest must wait."""
        try:
            results = await self._send(batch)
        except OUTAGES as error:
            self._begin_outage(_describe(error))
            return False
        except Exception as error:  # noqa: BLE001 - the sender's loop: one capture must not stop the others
            _log_unexpected(error)
            results = [error]
        if len(batch) > 1 and (problem := _find_problem_of_all(batch, results)) is not None:
            log.warning("captures sent one by one", captures=len(batch), reason=_describe(problem))
            return await self._deliver_one_by_one(batch)
        return self._settle(batch, results)

    async def _send(self, batch: Sequence[QueuedCapture]) -> Sequence[CaptureReceipt | Exception]:
        async with asyncio.timeout(SEND_SECONDS):
            return await self._memory.capture_many([queued.new for queued in batch])

    async def _deliver_one_by_one(self, batch: Sequence[QueuedCapture]) -> bool:
        for queued in batch:
            if not await self._deliver([queued]):
                return False
        return True

    async def _pass_over_first(self, batch: Sequence[QueuedCapture]) -> bool:
        """Set the first capture aside, which failed again and again, if the second one is stored.

        If that fails too, the memory has a problem and not the capture: both wait.
        """
        self._attempts = 0
        first, second = batch[:2]
        try:
            results = await self._send([second])
        except Exception as error:  # noqa: BLE001 - the sender's loop: one capture must not stop the others
            _log_unexpected(error)
            self._begin_outage(_describe(error))
            return False
        if isinstance(results[0], CaptureReceipt):
            self._set_aside(first, self._problem or "")
        return self._settle([second], results) if isinstance(results[0], CaptureReceipt) else False

    def _settle(self, batch: Sequence[QueuedCapture], results: Sequence[CaptureReceipt | Exception]) -> bool:
        """Advance to the first capture that could not be stored. Those after it are sent again, with the same keys."""
        for queued, result in zip(batch, results, strict=True):
            if isinstance(result, CaptureReceipt) or _was_stored_before(result):
                self._delivered += 1
                self._advance(queued)
            elif isinstance(result, REFUSALS):
                self._set_aside(queued, _describe(result))
            else:
                self._attempts += not isinstance(result, OUTAGES)
                self._begin_outage(_describe(result))
                return False
        return True

    def _set_aside(self, queued: QueuedCapture, reason: str) -> None:
        log.warning("capture refused", key=queued.new.idempotency_key, reason=reason)
        self._backlog.set_aside(queued.new, reason)
        self._refused += 1
        self._advance(queued)

    def _advance(self, queued: QueuedCapture) -> None:
        self._backlog.advance(queued.number)
        self._attempts = 0

    def _begin_outage(self, reason: str) -> None:
        if self._problem is None:
            self._failing_since = self._clock.now()
            log.warning("captures wait for the memory", reason=reason)
        self._problem = reason

    def _end_outage(self) -> None:
        if self._problem is not None:
            log.info("delivery resumed", captures=self._backlog.measure().count)
        self._problem, self._failing_since, self._failures = None, None, 0

    async def _pause(self) -> None:
        """Wait before the next attempt, longer each time, unless ``flush`` asks for one now.

        Meanwhile the backlog is written to the disk every second.
        """
        seconds = min(LONGEST_PAUSE, FIRST_PAUSE * (1 << min(self._failures, 20)))
        self._failures += 1
        until = asyncio.get_running_loop().time() + seconds
        while not self._retry.is_set() and (left := until - asyncio.get_running_loop().time()) > 0:
            await asyncio.to_thread(self._backlog.sync)
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, SYNC_SECONDS)):
                    await self._retry.wait()
        self._retry.clear()


def _find_problem_of_all(
    batch: Sequence[QueuedCapture], results: Sequence[CaptureReceipt | Exception]
) -> Exception | None:
    """The error that a batch failed with as a whole. A known key fails all captures of its group."""
    for result in results:
        if isinstance(result, Exception) and (len(results) < len(batch) or _was_stored_before(result)):
            return result
    return None


def _was_stored_before(error: Exception) -> bool:
    """Whether the key of a capture is known with another content, as another version of the server hashes it.

    Keys are never used for two captures, so the capture is there.
    """
    return isinstance(error, ClearwellError) and error.code == "idempotency_mismatch"


def _log_unexpected(error: Exception) -> None:
    """Log an error that is neither an answer of the memory nor an outage with its traceback."""
    if not isinstance(error, (ClearwellError, *OUTAGES)):
        log.error("delivery failed", reason=_describe(error), exc_info=error)


def _describe(error: BaseException) -> str:
    """The code of an error, else its type. Its text could quote the capture."""
    return error.code if isinstance(error, ClearwellError) else type(error).__name__
