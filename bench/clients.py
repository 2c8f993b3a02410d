"""Eight clients at once of ``clearwell serve`` with the bundled model: does one starve? And eight callers of the
library: do they share the model's batches?"""

import asyncio
import http.client
import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from bench.ground import analyze, fill, ground
from bench.server import serve
from clearwell.app import Clearwell
from clearwell.models import OfflineEmbedder
from clearwell.models.offline import load_use
from clearwell.records import Principal

CLIENTS, REQUESTS, MEMORIES, LIVE = 8, 60, 1_000, 10
SUBJECTS = ("backup", "invoice", "cluster", "payment", "release", "contract", "latency", "office")
PERSON = Principal.local()


class CountingModel:
    """The model, and how many texts each of its batches had."""

    def __init__(self) -> None:
        self._model = load_use()
        self.batches: Counter[int] = Counter()

    def encode(self, texts: list[str]) -> Any:
        self.batches[len(texts)] += 1
        return self._model.encode(texts)


async def measure() -> list[str]:
    model = CountingModel()
    async with ground(OfflineEmbedder(load=lambda: model)) as (clearwell, servers):
        await fill(clearwell, "g", MEMORIES, live=LIVE)
        await analyze(servers.database_url)
        with serve(clearwell.settings.data_dir) as server:
            alone = await _asked(server.port, 1)
            together = await _asked(server.port, CLIENTS)
        model.batches.clear()
        await asyncio.gather(*(_library_caller(clearwell, number) for number in range(CLIENTS)))
    return [*_table(alone, together), *_batches(model.batches)]


async def _asked(port: int, clients: int) -> list[list[float]]:
    """The times of each client. The first requests of each warm up and are not counted."""
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(clients) as threads:
        return await asyncio.gather(
            *(loop.run_in_executor(threads, _client, port, number) for number in range(clients))
        )


def _client(port: int, number: int) -> list[float]:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    times = []
    for turn in range(REQUESTS + 5):
        body = json.dumps({"group_id": "g", "query": _question(number, turn)}).encode()
        start = time.perf_counter()
        connection.request("POST", "/api/v1/memory/query", body=body, headers={"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        times.append((time.perf_counter() - start) * 1000)
        assert answer.status == 200, text
    connection.close()
    return times[5:]


async def _library_caller(clearwell: Clearwell, number: int) -> None:
    for turn in range(REQUESTS):
        await clearwell.memory.acting_as(PERSON).retrieve(_question(number, turn), group="g")


def _question(number: int, turn: int) -> str:
    return f"What was decided about the {SUBJECTS[(number + turn) % len(SUBJECTS)]} in week {number * 100 + turn}?"


def _table(alone: list[list[float]], together: list[list[float]]) -> list[str]:
    lines = [
        f"### {CLIENTS} clients over HTTP, embedding included, {MEMORIES:,} memories (p95 at most 5 × p50)",
        "",
        "| clients | requests | p50 ms | p95 ms | p95 / p50 | slowest client's p50 ms |",
        "|---|---|---|---|---|---|",
    ]
    for times in (alone, together):
        p50, p95 = np.quantile(np.concatenate(times), [0.5, 0.95])
        slowest = max(float(np.median(one)) for one in times)
        count = sum(map(len, times))
        lines.append(f"| {len(times)} | {count} | {p50:.1f} | {p95:.1f} | **{p95 / p50:.1f}** | {slowest:.1f} |")
    return [*lines, ""]


def _batches(batches: Counter[int]) -> list[str]:
    shared = sum(size * count for size, count in batches.items() if size > 1)
    texts = sum(size * count for size, count in batches.items())
    told = ", ".join(f"{count} of {size}" for size, count in sorted(batches.items()))
    return [
        f"{CLIENTS} concurrent callers of the library: of {texts} texts that the model was given, {shared} shared a "
        f"batch with another caller's. Batches: {told}.",
        "",
    ]
