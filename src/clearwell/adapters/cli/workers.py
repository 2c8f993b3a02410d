"""``serve --workers N``: several processes on one listening socket, started, watched and stopped by this one.

The process with the number 0 also does the duties of the worker; the others only answer requests. The bundled servers
belong to the supervising process and are stopped after the last of the others has ended.
"""

import asyncio
import multiprocessing
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

import structlog

from clearwell.servers import Servers
from clearwell.settings import Settings

log = structlog.get_logger(__name__)

LEFT_TO_SUPERVISOR = {getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name)}
"""A terminal sends these to every process of the program. Only the supervisor acts on them."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
REPORTED = 1
"""The exit code of a process that has said what kept it from starting, or has printed a traceback."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What every process serves."""

    settings: Settings
    servers: Servers
    sockets: list[socket.socket]
    token: str
    access_log: bool


Serve = Callable[[Assignment, int, Connection], None]
"""What a process does: serve the assignment as the process of this number, and report when it is ready."""


class WorkerProcess:
    """One process that serves the API."""

    def __init__(self, serve: Serve, assignment: Assignment, number: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._messages, sender = context.Pipe(duplex=False)
        self.number = number
        self.was_ready = False
        self._process = context.Process(
            target=serve, args=(assignment, number, sender), name=f"clearwell serve {number}"
        )
        with _block_signals(LEFT_TO_SUPERVISOR):
            self._process.start()
        sender.close()

    @property
    def pid(self) -> int | None:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        return self._process.exitcode

    async def wait_until_ready(self) -> bool | None:
        """Whether callers need a key. None: the process ended before it was ready."""
        await _wait_until_readable(self._messages.fileno())
        try:
            needs_key = bool(self._messages.recv())
        except EOFError:
            return None
        self.was_ready = True
        return needs_key

    async def wait(self) -> None:
        """Wait for its end."""
        await _wait_until_readable(self._process.sentinel)
        self._process.join()
        self._messages.close()

    def stop(self) -> None:
        """Ask it to stop. Asked twice it no longer waits for open connections."""
        if self._process.is_alive():
            self._process.terminate()


class WorkerPool:
    """All processes. One that ends by itself is reported and started again."""

    def __init__(self, serve: Serve, assignment: Assignment, count: int) -> None:
        self._serve = serve
        self._assignment = assignment
        self._count = count
        self._processes: dict[int, WorkerProcess] = {}
        self._stopped = asyncio.Event()

    async def start(self) -> bool | None:
        """Start all, the first before the others: what keeps it from starting is said once.

        Returns whether callers need a key, or None where the first one ended before it was ready.
        """
        first = self._start(0)
        needs_key = await first.wait_until_ready()
        if needs_key is None:
            await self._report_failed_start(first)
            return None
        others = [self._start(number) for number in range(1, self._count) if not self._stopped.is_set()]
        await asyncio.gather(*(process.wait_until_ready() for process in others))
        return needs_key

    def stop(self) -> None:
        """Ask every process to stop."""
        self._stopped.set()
        for process in self._processes.values():
            process.stop()

    async def wait(self) -> None:
        """Keep the processes alive until they are asked to stop, and wait for their end."""
        await asyncio.gather(*(self._keep_alive(process) for process in [*self._processes.values()]))

    def _start(self, number: int) -> WorkerProcess:
        process = WorkerProcess(self._serve, self._assignment, number)
        self._processes[number] = process
        if self._stopped.is_set():
            process.stop()
        return process

    async def _report_failed_start(self, process: WorkerProcess) -> None:
        """A process that could not open the stores has said why; one that was killed could not."""
        await process.wait()
        if not self._stopped.is_set() and process.exit_code != REPORTED:
            log.error("worker process ended before it was ready", pid=process.pid, exit_code=process.exit_code)

    async def _keep_alive(self, process: WorkerProcess) -> None:
        pause = FIRST_PAUSE
        while True:
            await process.wait()
            if self._stopped.is_set():
                return
            log.error(
                "worker process ended unexpectedly, restarting",
                worker=process.number,
                pid=process.pid,
                exit_code=process.exit_code,
            )
            pause = FIRST_PAUSE if process.was_ready else min(pause * 2, LONGEST_PAUSE)
            if await self._wait_for_stop(pause):
                return
            process = self._start(process.number)
            await process.wait_until_ready()

    async def _wait_for_stop(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self._stopped.wait()
        except TimeoutError:
            return False


def report_ready(sender: Connection, *, needs_key: bool) -> None:
    """Tell the supervisor that this process answers."""
    sender.send(needs_key)
    sender.close()


def on_supervisor_end(act: Callable[[], object]) -> None:
    """Call ``act`` in the running loop when the supervisor ends, also by kill -9."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        loop = asyncio.get_running_loop()

        def notice() -> None:
            loop.remove_reader(parent.sentinel)
            act()

        loop.add_reader(parent.sentinel, notice)


@contextmanager
def _block_signals(signals: set[signal.Signals]) -> Iterator[None]:
    """Processes started meanwhile never receive these signals; for this one they are delivered afterwards."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


async def _wait_until_readable(descriptor: int) -> None:
    loop, readable = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(descriptor)
