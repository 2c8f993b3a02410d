"""What is behind a synchronous face: its asynchronous counterpart, and the loop that it lives on."""

import asyncio

from clearwell.sync.loop_thread import LoopThread


def find_loop_thread(memory: object) -> LoopThread | None:
    """The thread of a synchronous memory manager or client; None for an asynchronous one."""
    loop_thread = getattr(memory, "_loop", None)
    return loop_thread if isinstance(loop_thread, LoopThread) else None


def find_counterpart(memory: object) -> object:
    """The asynchronous memory behind a synchronous face, to be used on its loop only; else the memory itself."""
    return memory if find_loop_thread(memory) is None else getattr(memory, "_inner", memory)


def find_loop(loop_thread: LoopThread) -> asyncio.AbstractEventLoop:
    """The event loop of a thread, which is started if it does not run yet."""
    return loop_thread.run(_read_loop())


async def _read_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()
