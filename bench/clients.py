"""Eight clients at once over HTTP, with the bundled model: does one starve, and do they share the model's batches?"""

import asyncio
import http.client
import json
import os
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn

from bench.ground import analyze, fill, ground
from bench.http import serving
from clearwell.adapters.http.app import create_app
from clearwell.models import OfflineEmbedder
from clearwell.models.offline import load_use
from clearwell.settings import Settings

CLIENTS, REQUESTS, MEMORIES, LIVE = 8, 60, 1_000, 10
SUBJECTS = ("backup", "invoice", "cluster", "payment", "release", "contract", "latency", "office")


class Counting:
    """The model, and how many texts each of its batches had. Written down at once: a signal ends the server."""

    def __init__(self) -> None:
        self._model = load_use()
        self._batches: Counter[int] = Counter()
        self._at = Path(os.environ["CLEARWELL_BENCH_COUNTS"])

    def encode(self, texts: list[str]) -> Any:
        self._batches[len(texts)] += 1
        self._at.write_text(json.dumps(self._batches), encoding="utf-8")
        return self._model.encode(texts)


async def measure() -> list[str]:
    with tempfile.NamedTemporaryFile(prefix="cw-bench-", suffix=".json") as counted:
        async with ground(OfflineEmbedder()) as (clearwell, servers):
            await fill(clearwell, "g", MEMORIES, live=LIVE)
            await analyze(servers.database_url)
            async with serving(servers, "bench.clients", CLEARWELL_BENCH_COUNTS=counted.name) as port:
                alone = await _asked(port, 1)
                together = await _asked(port, CLIENTS)
        batches = json.loads(counted.read())
    return [*_table(alone, together), *_batches(batches)]


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
        question = (
            f"What was decided about the {SUBJECTS[(number + turn) % len(SUBJECTS)]} in week {number * 100 + turn}?"
        )
        body = json.dumps({"group_id": "g", "query": question}).encode()
        start = time.perf_counter()
        connection.request("POST", "/api/v1/memory/query", body=body, headers={"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        times.append((time.perf_counter() - start) * 1000)
        assert answer.status == 200, text
    connection.close()
    return times[5:]


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


def _batches(batches: dict[str, int]) -> list[str]:
    shared = sum(int(size) * count for size, count in batches.items() if int(size) > 1)
    texts = sum(int(size) * count for size, count in batches.items())
    told = ", ".join(f"{count} of {size}" for size, count in sorted(batches.items(), key=lambda one: int(one[0])))
    return [
        f"Of {texts} texts that the model was given, {shared} shared a batch with another client's. Batches: {told}.",
        "",
    ]


def main() -> None:
    settings = Settings()
    application = create_app(settings, embedder=OfflineEmbedder(load=Counting))
    uvicorn.run(application, port=settings.port, log_level="warning", access_log=False)


if __name__ == "__main__":
    main()
