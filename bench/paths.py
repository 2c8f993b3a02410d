"""Capture and retrieve as a library, each against the bare statement on one open connection."""

import asyncio
import re
import time
from typing import Any

from pgvector import HalfVector

from bench.blocks import Step, Times, interleaved, table
from bench.ground import TEXT, FixedEmbedder, analyze, bare_connection, fill, ground, vectors
from clearwell.app import Clearwell, SystemClock, TimeOrderedIds
from clearwell.flow.capture.intake import CaptureRecorder
from clearwell.records import NewCapture, Principal
from clearwell.servers import Servers
from clearwell.stores.postgres.quarantine import capture_params
from clearwell.stores.postgres.queries import query
from clearwell.stores.valkey import open_client

PERSON = Principal.local()
CALLERS = 8


async def measure() -> list[str]:
    async with ground() as (clearwell, servers):
        concurrent = await _concurrent(clearwell, servers.database_url)
    async with ground(pinned=True) as (clearwell, servers):
        await fill(clearwell, "g", 4000, live=10)
        await analyze(servers.database_url)
        captures = await _captures(clearwell, servers.database_url)
        return [*captures, *concurrent, *await _retrieval(clearwell, servers)]


def recorder(clearwell: Clearwell) -> CaptureRecorder:
    return CaptureRecorder(
        clearwell.stores.captures, clearwell.events, SystemClock(), TimeOrderedIds(), clearwell.settings
    )


def bare_insert() -> str:
    """The INSERT alone, out of the statement that also marks the admission."""
    found = re.search(r"INSERT INTO quarantine_logs.*?ON CONFLICT DO NOTHING", query("capture"), re.DOTALL)
    assert found is not None
    return found.group()


def new() -> NewCapture:
    return NewCapture(
        content=TEXT, group_id="g", session_id="s", node_id="n", agent_id="a", metadata={"confidence": 0.9}
    )


async def _captures(clearwell: Clearwell, url: str) -> list[str]:
    bare, capture = await bare_connection(url), recorder(clearwell)

    def params() -> Any:
        return capture_params(capture.accept(new(), by=PERSON), key=None, settled=False)

    async def floor() -> None:
        await bare.execute(bare_insert(), params())

    async def floor_with_admission() -> None:
        await bare.execute(query("capture"), params())

    async def ours() -> None:
        await capture.store([capture.accept(new(), by=PERSON)])

    steps: dict[str, Step] = {
        "bare INSERT": floor,
        "bare INSERT with admission row": floor_with_admission,
        "capture": ours,
    }
    times = await interleaved(steps, rounds=20, block=25)
    await bare.close()
    return table("Capture, committed to quarantine (at most 1.5 ×)", times, {"capture": "bare INSERT"})


async def _concurrent(clearwell: Clearwell, url: str) -> list[str]:
    """Captures a second by one caller and by eight, for the floor (a connection each) and for us."""
    capture = recorder(clearwell)
    bare = [await bare_connection(url) for _ in range(CALLERS)]

    async def floor(caller: int) -> None:
        params = capture_params(capture.accept(new(), by=PERSON), key=None, settled=False)
        await bare[caller].execute(bare_insert(), params)

    async def ours(_: int) -> None:
        await capture.store([capture.accept(new(), by=PERSON)])

    rates: dict[str, list[float]] = {}
    for _ in range(6):
        for name, step in (("bare INSERT", floor), ("capture", ours)):
            for callers in (1, CALLERS):
                rates.setdefault(f"{name}, {callers}", []).append(await _rate(step, callers))
    for connection in bare:
        await connection.close()
    middle = {name: sorted(found)[len(found) // 2] for name, found in rates.items()}
    lines = ["### Eight concurrent callers (should scale as the floor does)", "", "| | 1 caller | 8 callers | gain |"]
    lines.append("|---|---|---|---|")
    for name in ("bare INSERT", "capture"):
        one, eight = middle[f"{name}, 1"], middle[f"{name}, {CALLERS}"]
        lines.append(f"| {name} | {one:.0f}/s | {eight:.0f}/s | {eight / one:.2f} × |")
    return [*lines, ""]


async def _rate(step: Any, callers: int, each: int = 60) -> float:
    async def call(caller: int) -> None:
        for _ in range(each):
            await step(caller)

    started = time.perf_counter()
    await asyncio.gather(*(call(caller) for caller in range(callers)))
    return callers * each / (time.perf_counter() - started)


def search_params() -> dict[str, Any]:
    return {
        "group_id": "g",
        "embedding": HalfVector(vectors(1, seed=7)[0]),
        "model": FixedEmbedder.model,
        "agent_id": None,
        "limit": 5,
    }


async def _retrieval(clearwell: Clearwell, servers: Servers) -> list[str]:
    bare, params = await bare_connection(servers.database_url), search_params()
    redis = open_client(servers.redis_url, pool_max=1, timeout_seconds=2)

    async def bare_search() -> None:
        await (await bare.execute(query("search"), params)).fetchall()

    async def bare_list() -> None:
        await redis.lrange("wm:g", 0, -1)

    async def ours() -> None:
        await clearwell.memory.acting_as(PERSON).retrieve("query", group="g")

    times: dict[str, Times] = await interleaved(
        {"bare vector query": bare_search, "bare list read": bare_list, "retrieve": ours}, rounds=20, block=10
    )
    await bare.close()
    await redis.aclose()
    title = "Retrieve as a library, embedding excluded, 4,000 memories and 10 live entries (at most 1.5 ×)"
    return table(title, times, {"retrieve": "bare vector query"})
