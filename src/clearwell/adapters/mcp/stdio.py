"""The server over standard streams, for the program that started it."""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from typing import Any

import structlog
from mcp.server.mcpserver import Context

from clearwell.adapters.mcp.caller import Caller, Defaults, ToolMemory
from clearwell.adapters.mcp.server import create_server
from clearwell.errors import ClearwellError, Unavailable
from clearwell.messages import Language

log = structlog.get_logger(__name__)
STANDARD_INPUT = 0
CHUNK_BYTES = 65_536
OpenMemory = Callable[[], AbstractAsyncContextManager[tuple[ToolMemory, str | None]]]
"""Opens the memory of an agent, with the address of its server if there is one."""


async def serve_stdio(
    open_memory: OpenMemory,
    *,
    language: Language,
    group: str | None = None,
    agent: str | None = None,
    session: str | None = None,
) -> None:
    """Serve until the standard input ends. Nothing but the protocol is written to the standard output.

    Clients wait a few seconds for a server to answer at first, and opening the stores can take longer. So the server
    answers at once, and the first call waits for the memory.
    """
    defaults = Defaults(group=group, agent=agent, session=session)
    opening: asyncio.Future[Caller] = asyncio.get_running_loop().create_future()
    ended = asyncio.Event()

    async def hold_memory() -> None:
        try:
            async with open_memory() as (memory, url):
                opening.set_result(Caller(memory=memory, defaults=defaults, url=url))
                await ended.wait()
        except ClearwellError as error:
            log.error("memory not opened", reason=error.text(language))
            if not opening.done():
                opening.set_exception(Unavailable("mcp_not_opened", reason=error.text(language)))
                opening.exception()  # it is raised in the calls, of which there may be none

    async def find_caller(_: Context[None, Any]) -> Caller:
        return await asyncio.shield(opening)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(hold_memory(), name="memory")
        with _interruptible_input():
            serving = tasks.create_task(create_server(language, find_caller).run_stdio_async(), name="stdio")
            await asyncio.wait([serving])
        ended.set()


@contextmanager
def _interruptible_input() -> Iterator[None]:
    """Let the standard input end with the block, although nobody closes it.

    The SDK reads it in a thread, and no thread that waits for input can be cancelled. So it reads from a pipe, which a
    thread of ours fills and the end of the block closes. Our thread does not keep the process from ending.
    """
    source = os.dup(STANDARD_INPUT)
    reader, writer = os.pipe()
    os.dup2(reader, STANDARD_INPUT)
    os.close(reader)
    pipe = os.fdopen(writer, "wb", buffering=0)

    def copy() -> None:
        with suppress(OSError, ValueError):  # the block ended
            while data := os.read(source, CHUNK_BYTES):
                pipe.write(data)
            pipe.close()

    threading.Thread(target=copy, name="stdin", daemon=True).start()
    try:
        yield
    finally:
        pipe.close()
