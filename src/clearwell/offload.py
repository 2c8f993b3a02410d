"""Work on large texts runs in a thread, so that the event loop keeps answering others."""

import asyncio
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

LARGE: Final = 5_000
"""Characters that take some milliseconds to analyse. Starting a thread takes a tenth of one."""


async def offload(size: int, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of ``work``. It runs in a thread where the texts that it reads have many characters."""
    if size < LARGE:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)
