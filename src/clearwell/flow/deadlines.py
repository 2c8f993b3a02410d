"""Wait for a task for a limited time, abandon a task that is late, and end tasks that run for ever.

A store or a model that does not answer may also not answer a cancellation: psycopg asks the server to stop the
statement and waits for the reply. A late task is therefore cancelled and not awaited. A task in the background must
have ended before what it uses is closed: it is cancelled until it has.
"""

import asyncio
from typing import Any, Final, TypeVar

CANCELLATION_SECONDS: Final = 0.1
"""After how long a task that has not ended is cancelled again."""

T = TypeVar("T")

_abandoned: set[asyncio.Task[Any]] = set()
"""Keeps a reference to each cancelled task until it ends: the event loop itself holds only a weak one."""


async def wait_for_result(task: asyncio.Task[T], seconds: float) -> T:
    """Return the task's result. Raises TimeoutError if there is none in time; the task goes on running."""
    if not task.done():
        await asyncio.wait({task}, timeout=max(0.0, seconds))
    if not task.done():
        raise TimeoutError
    return task.result()


async def cancel_tasks(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks and wait until all of them have ended.

    One cancellation can get lost: asyncio.wait_for of Python 3.11, which drivers use, swallows it at times.
    """
    while running := [task for task in tasks if not task.done()]:
        for task in running:
            task.cancel()
        await asyncio.wait(running, timeout=CANCELLATION_SECONDS)


def abandon(task: asyncio.Task[Any]) -> None:
    """Cancel a task whose result is no longer needed, without waiting for its end."""
    if task.done():
        _read_exception(task)
        return
    task.cancel()
    _abandoned.add(task)
    task.add_done_callback(_read_exception)


def _read_exception(task: asyncio.Task[Any]) -> None:
    """Read the exception of an ended task, so that asyncio does not log it as never retrieved."""
    _abandoned.discard(task)
    if not task.cancelled():
        task.exception()
