"""Wait for a task for a limited time, and abandon a task that is late.

A store or a model that does not answer may also not answer a cancellation: psycopg asks the server to stop the
statement and waits for the reply. A late task is therefore cancelled and not awaited.
"""

import asyncio
from typing import Any, TypeVar

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
