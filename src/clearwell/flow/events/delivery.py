"""Delivery: events as calls of a function. The library and the client over HTTP share it."""

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import TypeAlias

from clearwell.records import Event

EventCallback: TypeAlias = Callable[[Event], Awaitable[None] | None]
"""A function of one event, asynchronous or not."""


@asynccontextmanager
async def deliver_events(events: AsyncGenerator[Event], callback: EventCallback) -> AsyncIterator[None]:
    """Call ``callback`` with each event while the block runs. The block begins when the first event has arrived.

    An error of ``callback`` ends the delivery and is raised when the block ends.
    """
    async with aclosing(events):
        await _call(callback, await anext(events))
        task = asyncio.create_task(_deliver(events, callback), name="deliver events")
        try:
            yield
        finally:
            if not task.done():
                task.cancel()
            await asyncio.wait([task])
        if not task.cancelled():
            task.result()


async def _deliver(events: AsyncGenerator[Event], callback: EventCallback) -> None:
    async for event in events:
        await _call(callback, event)


async def _call(callback: EventCallback, event: Event) -> None:
    pending = callback(event)
    if inspect.isawaitable(pending):
        await pending
