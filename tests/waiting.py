"""Wait for a condition, never for a time."""

import asyncio
from collections.abc import Awaitable, Callable


async def until(condition: Callable[[], Awaitable[object]], *, seconds: float = 30) -> None:
    """Look again and again until it holds; fail when it does not in time."""
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 - what is waited for is in another process
            await asyncio.sleep(0.02)
