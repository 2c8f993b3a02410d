"""Work on a huge text is done beside the loop: others are to be answered meanwhile."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

HUGE = 20_000
"""Characters that take some milliseconds to read."""


async def apart(size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of the work, in a thread of its own where it is on a huge text."""
    if size < HUGE:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)
