"""An agent in a process of its own: it captures through the middleware and says how it went, one JSON line a step.

Arguments: the address of the server, the folder of the spool, a name, and how many outputs to capture.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from clearwell import AsyncClient, MemoryMiddleware, Node, Session

SESSIONS = 6
PAUSE_EVERY, PAUSE = 100, 0.05
"""A hundred times as fast as twenty captures a second."""


def say(**fields: object) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


async def work(middleware: MemoryMiddleware, name: str, count: int) -> None:
    slowest, problems = 0.0, 0
    for number in range(count):
        session = Session(f"s{number % SESSIONS}", group_id="g", state={"topic": "What was decided?"})
        node = Node("auditor", agent_id="risk-auditor")
        if number % (count // 10) == 0:
            problems += (await middleware.before_node_execution(session, node)).problem is not None
        started = time.perf_counter()
        await middleware.after_node_execution(session, node, f"{name} {number // SESSIONS}")
        slowest = max(slowest, time.perf_counter() - started)
        if number % PAUSE_EVERY == PAUSE_EVERY - 1:
            say(captured=number + 1)
            await asyncio.sleep(PAUSE)
    say(captured=count, slowest_ms=slowest * 1000, problems=problems, waiting=middleware.status().waiting)


async def main(url: str, spool: str, name: str, count: str) -> None:
    async with AsyncClient(url) as memory:
        middleware = MemoryMiddleware(memory, spool=Path(spool))
        await work(middleware, name, int(count))
        while not await middleware.flush(seconds=60):  # noqa: ASYNC110 - the server is another process
            await asyncio.sleep(0.1)
        status = middleware.status()
        await middleware.aclose()
        say(delivered=status.delivered, refused=status.refused, dropped=status.dropped)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
