"""An event loop in a thread of its own, on which synchronous callers run coroutines.

It can be used from any number of threads, also from those of a program that has a running loop. It starts with the
first call and ends with ``close``, at the latest with the process. A child process cannot use the loop of its parent,
because a fork copies no threads.
"""

import asyncio
import concurrent.futures.thread  # noqa: F401 - registers its hook before ours
import os
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager, AbstractContextManager, suppress
from types import TracebackType
from typing import Any, Final, Generic, TypeVar
from weakref import WeakSet

T = TypeVar("T")

CLOSING_SECONDS: Final = 10.0
"""How long closing waits for what still runs on the loop."""
SIGNAL_SECONDS: Final = 0.5
"""How long a caller waits at most until it looks for signals."""
FORKED: Final = (
    "This memory was opened before the process was forked, and its connections belong to the parent process. "
    "Open it in the child process."
)
CLOSED: Final = "This memory is closed. Open it again."
OWN_THREAD: Final = (
    "A synchronous method was called by a callback that runs on the loop of the memory, which would wait for ever. "
    "Call it from another thread, or use the asynchronous API."
)


class LoopThread:
    """A thread with an event loop. ``closing`` is what the loop does at its end."""

    def __init__(self, closing: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        self._closing = closing
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._pid: int | None = None
        self._closed = False

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result. Raises RuntimeError if the loop cannot be used."""
        try:
            loop = self._start()
        except RuntimeError:
            coroutine.close()
            raise
        call = _LoopCall(coroutine)
        try:
            return _wait_for(asyncio.run_coroutine_threadsafe(call.run(), loop))
        except CancelledError:
            raise RuntimeError(CLOSED) from None
        except BaseException:  # also an interrupt by the keyboard: the coroutine ends with the call
            with suppress(RuntimeError):  # the loop has ended by itself
                loop.call_soon_threadsafe(call.cancel)
            raise

    def iterate(self, generator: AsyncGenerator[T]) -> Iterator[T]:
        """The items of an asynchronous generator, which is closed when the iteration ends."""
        try:
            while True:
                found = self.run(_read_next(generator))
                if not found:
                    return
                yield found[0]
        finally:
            with suppress(RuntimeError):
                self.run(generator.aclose())

    def enter(self, context: AbstractAsyncContextManager[T]) -> "HeldContext[T]":
        """An asynchronous context manager as a synchronous one."""
        return HeldContext(self, context)

    def close(self) -> None:
        """End the loop. Waits for the cancelled rest of what runs on it, but not for ever."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        if self._pid == os.getpid() and self._loop is not None and self._stop is not None:
            with suppress(RuntimeError):  # the loop has ended by itself
                self._loop.call_soon_threadsafe(self._stop.set)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(CLOSING_SECONDS)

    def _start(self) -> asyncio.AbstractEventLoop:
        """The running loop. The thread is started by the first caller."""
        if self._pid not in (None, os.getpid()):
            raise RuntimeError(FORKED)
        with self._lock:
            if self._closed:
                raise RuntimeError(CLOSED)
            if self._loop is None:
                started = Future[asyncio.AbstractEventLoop]()
                self._thread = threading.Thread(target=self._live, args=(started,), name="clearwell", daemon=True)
                self._thread.start()
                self._loop, self._pid = started.result(), os.getpid()
                _running.add(self)
        if threading.current_thread() is self._thread:
            raise RuntimeError(OWN_THREAD)
        return self._loop

    def _live(self, started: Future[asyncio.AbstractEventLoop]) -> None:
        asyncio.run(self._wait_for_stop(started))

    async def _wait_for_stop(self, started: Future[asyncio.AbstractEventLoop]) -> None:
        self._stop = asyncio.Event()
        started.set_result(asyncio.get_running_loop())
        await self._stop.wait()
        if self._closing is not None:
            await self._closing()


def _wait_for(future: "Future[T]") -> T:
    """Wait for a result, and look for signals now and then.

    The system may deliver Ctrl-C to another thread. Python then handles it in the main thread, which a lock without a
    timeout would keep from it.
    """
    while True:
        try:
            return future.result(SIGNAL_SECONDS)
        except TimeoutError:
            if future.done():
                return future.result()


class _LoopCall(Generic[T]):
    """A coroutine that a caller in another thread waits for, and can cancel before it knows that it has begun."""

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self._task: asyncio.Task[Any] | None = None
        self._is_cancelled = False

    async def run(self) -> T:
        if self._is_cancelled:
            raise asyncio.CancelledError
        self._task = asyncio.current_task()
        return await self._coroutine

    def cancel(self) -> None:
        """To be called on the loop."""
        self._is_cancelled = True
        if self._task is None:
            self._coroutine.close()
        else:
            self._task.cancel()


class HeldContext(AbstractContextManager[T], Generic[T]):
    """An asynchronous context that one task of the loop enters and leaves, because some may not change their task."""

    def __init__(self, loop: LoopThread, context: AbstractAsyncContextManager[T]) -> None:
        self._loop = loop
        self._context = context
        self._task: asyncio.Task[None] | None = None
        self._left: asyncio.Future[None] | None = None

    def __enter__(self) -> T:
        return self._loop.run(self._begin())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.run(self._end(error))

    async def _begin(self) -> T:
        entered = asyncio.get_running_loop().create_future()
        self._left = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold(entered, self._left))
        await asyncio.wait({entered, self._task}, return_when=asyncio.FIRST_COMPLETED)
        if not entered.done():
            await self._task  # raises why it could not be entered
        value: T = entered.result()
        return value

    async def _hold(self, entered: "asyncio.Future[T]", left: "asyncio.Future[None]") -> None:
        async with self._context as value:
            entered.set_result(value)
            await left

    async def _end(self, error: BaseException | None) -> None:
        """Leave the context with the error of its block, which the caller raises again."""
        if self._task is None or self._left is None:
            return
        if error is None:
            self._left.set_result(None)
        elif isinstance(error, Exception) and not isinstance(error, StopIteration):
            self._left.set_exception(error)
        else:
            self._task.cancel()
        try:
            await self._task
        except (Exception, asyncio.CancelledError) as raised:
            if error is None:
                raise
            if raised is not error and not isinstance(raised, asyncio.CancelledError):
                raise raised from error


async def _read_next(generator: AsyncGenerator[T]) -> tuple[T] | tuple[()]:
    """The next item in a tuple, or an empty one at the end."""
    try:
        return (await anext(generator),)
    except StopAsyncIteration:
        return ()


_running: WeakSet[LoopThread] = WeakSet()


def _close_all() -> None:
    """End the loops that were left open, so that connections are closed and servers stopped before the process ends."""
    for loop in list(_running):
        loop.close()


# Closing needs the threads of executors, which ``concurrent.futures`` ends before ``atexit`` has its turn. Hooks of
# ``threading`` are called in reverse order, so this one, registered after that of ``concurrent.futures``, is in time.
threading._register_atexit(_close_all)  # type: ignore[attr-defined]
