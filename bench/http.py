"""Retrieval over HTTP with keep-alive, beside an empty route of the same server, against the bare statement."""

import asyncio
import http.client
import json
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn

from bench.blocks import interleaved, table
from bench.ground import FixedEmbedder, analyze, bare_connection, fill, ground
from bench.paths import search_params
from clearwell.adapters.http.app import create_app
from clearwell.servers import Servers
from clearwell.settings import Settings
from clearwell.stores.postgres.queries import query

BODY = json.dumps({"group_id": "g", "query": "query"}).encode()


async def measure() -> list[str]:
    async with ground() as (clearwell, servers):
        await fill(clearwell, "g", 4000, live=10)
        await analyze(servers.database_url)
        async with serving(servers, "bench.http") as port:
            return await _compare(servers.database_url, port)


async def _compare(url: str, port: int) -> list[str]:
    bare, params = await bare_connection(url), search_params()
    client = http.client.HTTPConnection("127.0.0.1", port)

    def ask(method: str, path: str, body: bytes | None) -> None:
        client.request(method, path, body=body, headers={"Content-Type": "application/json"})
        answer = client.getresponse()
        text = answer.read()
        assert answer.status == 200, text

    async def bare_search() -> None:
        await (await bare.execute(query("search"), params)).fetchall()

    async def empty_route() -> None:
        ask("GET", "/healthz", None)

    async def ours() -> None:
        ask("POST", "/api/v1/memory/query", BODY)

    steps = {"bare vector query": bare_search, "empty route (healthz)": empty_route, "POST memory/query": ours}
    times = await interleaved(steps, rounds=20, block=10)
    await bare.close()
    client.close()
    title = "Retrieve over HTTP, keep-alive, embedding excluded (at most 3 ×)"
    return table(title, times, {"POST memory/query": "bare vector query", "empty route (healthz)": "bare vector query"})


@asynccontextmanager
async def serving(servers: Servers, module: str, **more: str) -> AsyncIterator[int]:
    """The server in a process of its own, on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    where = {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url, "CLEARWELL_PORT": str(port), **more}
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", module, env={**os.environ, **where})
    try:
        while not await asyncio.to_thread(_answers, port):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.05)
        yield port
    finally:
        process.terminate()
        await process.wait()


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=0.2):
            return True
    except OSError:
        return False


def main() -> None:
    settings = Settings()
    uvicorn.run(
        create_app(settings, embedder=FixedEmbedder()), port=settings.port, log_level="warning", access_log=False
    )


if __name__ == "__main__":
    main()
