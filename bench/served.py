"""Throughput of ``clearwell serve`` for eight keep-alive clients, each in a group of 600 memories.

The embedding is served by a stub on loopback. An empty route and the bare vector query are measured in the same run,
in turn with the requests. On a shared machine the CPU time of the server's process says more than the rates: one
process can answer at most one request in that time.
"""

import asyncio
import http.client
import json
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import NamedTuple

import psutil
import psycopg
from psycopg.rows import DictRow

from bench.embedding_stub import embedding_stub
from bench.ground import analyze, bare_connection, fill, ground
from bench.paths import search_params
from bench.server import Server, serve
from clearwell.stores.postgres.queries import query

CLIENTS, MEMORIES, LIVE, BATCH = 8, 600, 10, 100
ROUNDS = 7
SUBJECTS = ("backup", "invoice", "cluster", "payment", "release", "contract", "latency", "office")
JSON = {"Content-Type": "application/json"}
AIMS = {"queries": 300, "promotions in batches of 100": 800}


class Rate(NamedTuple):
    """How many a second, and the milliseconds of CPU that the server's process spent on each."""

    per_second: float
    server_cpu: float | None = None


Request = Callable[[http.client.HTTPConnection, int], None]


class Requests:
    """The requests of the clients. Every text is new, so that none is answered from what was stored before."""

    def __init__(self) -> None:
        self._numbers = count()

    def empty(self, connection: http.client.HTTPConnection, _: int) -> None:
        _send(connection, "GET", "/healthz", None)

    def ask(self, connection: http.client.HTTPConnection, client: int) -> None:
        number = next(self._numbers)
        question = f"What was decided about the {SUBJECTS[number % len(SUBJECTS)]} in week {number}?"
        _send(connection, "POST", "/api/v1/memory/query", {"group_id": f"g{client}", "query": question})

    def promote(self, connection: http.client.HTTPConnection, client: int) -> None:
        _send(connection, "POST", "/api/v1/memory/ingest", {"group_id": f"p{client}", **self._text()})

    def promote_batch(self, connection: http.client.HTTPConnection, client: int) -> None:
        items = [self._text() for _ in range(BATCH)]
        _send(connection, "POST", "/api/v1/memory/ingest", {"group_id": f"b{client}", "items": items})

    def _text(self) -> dict[str, str]:
        number = next(self._numbers)
        subject = SUBJECTS[number % len(SUBJECTS)]
        return {"content": f"In week {number} the team moved the {subject} to site {number % 97} and closed {number}."}


async def measure() -> list[str]:
    async with ground() as (clearwell, servers):
        for number in range(CLIENTS):
            await fill(clearwell, f"g{number}", MEMORIES, live=LIVE, seed=10 * number + 1)
        await analyze(servers.database_url)
        bare = [await bare_connection(servers.database_url) for _ in range(CLIENTS)]
        with embedding_stub() as stub, serve(clearwell.settings.data_dir, **stub) as server:
            rates = await _measure_rates(server, bare)
        for connection in bare:
            await connection.close()
    return _table(rates)


async def _measure_rates(server: Server, bare: Sequence[psycopg.AsyncConnection[DictRow]]) -> dict[str, list[Rate]]:
    """Requests of each kind, one after the other in every round. The first round warms up."""
    requests = Requests()
    kinds: dict[str, tuple[Request, int, int]] = {
        "empty route (healthz)": (requests.empty, 40, 1),
        "queries": (requests.ask, 25, 1),
        "promotions one by one": (requests.promote, 8, 1),
        "promotions in batches of 100": (requests.promote_batch, 1, BATCH),
    }
    rates: dict[str, list[Rate]] = {}
    process = psutil.Process(server.pid)
    for turn in range(ROUNDS + 1):
        measured = {"bare vector query": Rate(await _bare_rate(bare, 40))}
        for name, (request, each, worth) in kinds.items():
            before = _cpu_seconds(process)
            rate = worth * await asyncio.to_thread(_client_rate, server.port, request, each)
            cpu = (_cpu_seconds(process) - before) * 1000 / (CLIENTS * each * worth)
            measured[name] = Rate(rate, cpu)
        for name, one in measured.items() if turn else ():
            rates.setdefault(name, []).append(one)
    return rates


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


async def _bare_rate(bare: Sequence[psycopg.AsyncConnection[DictRow]], each: int) -> float:
    async def ask(number: int) -> None:
        params = search_params() | {"group_id": f"g{number}"}
        for _ in range(each):
            await (await bare[number].execute(query("search"), params)).fetchall()

    started = time.perf_counter()
    await asyncio.gather(*(ask(number) for number in range(CLIENTS)))
    return CLIENTS * each / (time.perf_counter() - started)


def _client_rate(port: int, request: Request, each: int) -> float:
    def run(client: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for _ in range(each):
            request(connection, client)
        connection.close()

    started = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as threads:
        list(threads.map(run, range(CLIENTS)))
    return CLIENTS * each / (time.perf_counter() - started)


def _send(connection: http.client.HTTPConnection, method: str, path: str, body: object) -> None:
    connection.request(method, path, body=None if body is None else json.dumps(body).encode(), headers=JSON)
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status == 200, text


def _table(rates: dict[str, list[Rate]]) -> list[str]:
    lines = [
        f"### {CLIENTS} keep-alive clients of `clearwell serve`, groups of {MEMORIES} memories, embedding by a stub",
        "",
        "| what | a second, median | best | share of the bare query's rate | server CPU ms each | must reach |",
        "|---|---|---|---|---|---|",
    ]
    floor = statistics.median(one.per_second for one in rates["bare vector query"])
    for name, measured in rates.items():
        middle, best = statistics.median(one.per_second for one in measured), max(one.per_second for one in measured)
        cpu = [one.server_cpu for one in measured if one.server_cpu is not None]
        told = f"{statistics.median(cpu):.2f}" if cpu else ""
        lines.append(
            f"| {name} | **{middle:.0f}** | {best:.0f} | {middle / floor:.2f} | {told} | {AIMS.get(name, '')} |"
        )
    return [*lines, ""]
