"""Waiting for a part no longer than may be.

A part that hangs can also hang while it is being cancelled: psycopg asks the server to stop and waits for it. What is
late is therefore cancelled and left to itself, and nobody waits for its end.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_left: set[asyncio.Task[Any]] = set()


async def in_time(work: asyncio.Task[T], seconds: float) -> T:
    """The result of the work. Raises TimeoutError where there is none in time; the work goes on."""
    if not work.done():
        await asyncio.wait({work}, timeout=max(0.0, seconds))
    if not work.done():
        raise TimeoutError
    return work.result()


def leave(work: asyncio.Task[Any]) -> None:
    """Cancel what nobody waits for any more, and look at how it ends, so that its error is not reported as lost."""
    if work.done():
        _looked_at(work)
        return
    work.cancel()
    _left.add(work)
    work.add_done_callback(_looked_at)


def begun(work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
    return asyncio.create_task(work, name=name)


def _looked_at(work: asyncio.Task[Any]) -> None:
    _left.discard(work)
    if not work.cancelled():
        work.exception()
