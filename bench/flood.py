"""A flood from one key: what it does to the latency of another one, to the memory of the server, and to the digest."""

import asyncio
import http.client
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from uuid import UUID

from bench.server import Server, serve
from clearwell.app import Clearwell, open_clearwell
from clearwell.records import NewCapture, Principal, Right
from clearwell.servers import running_servers
from clearwell.settings import Settings
from clearwell.worker import run_due_digests

ROUNDS = 6
ASKED = 40
"""Queries of the other key in each block."""
GROUP = "flooded"
PERSON = Principal.local("bench")
FACTS = (
    "The payment service was moved to the new cluster on Monday without any downtime at all.",
    "Nightly backups of the billing database now take eleven minutes instead of forty minutes.",
    "Customers in Japan are billed in yen since the second quarter, and no longer in dollars.",
    "The contract with the logistics partner ends on the last day of June without renewal.",
    "Invoices above ten thousand euros need the approval of two people from finance.",
)
AGENTS = ("planner", "reviewer", "analyst")


async def measure() -> list[str]:
    folder = Path(tempfile.mkdtemp(prefix="cw-bench-"))
    try:
        return await _measure(folder)
    finally:
        await asyncio.to_thread(shutil.rmtree, folder)


async def _measure(folder: Path) -> list[str]:
    settings = Settings(data_dir=folder, database_url=None, redis_url=None)
    async with running_servers(settings) as servers:
        async with open_clearwell(settings, servers) as clearwell:
            keys = clearwell.keys
            rights = frozenset({Right.CAPTURE, Right.READ})
            _, flooder = await keys.create(name="flooder", rights=rights, groups=frozenset({GROUP}), by=PERSON)
            _, other = await keys.create(name="other", rights=rights, groups=frozenset({GROUP, "quiet"}), by=PERSON)
            memory = clearwell.memory.acting_as(PERSON)
            for fact in FACTS:
                await memory.promote(fact, group="quiet")
                for agent in AGENTS:
                    said = NewCapture(content=fact, group_id=GROUP, agent_id=agent, session_id=f"s-{agent}")
                    await memory.capture(said, wait=True)
            others = {entry.id for entry in await memory.working_memory(group=GROUP)}
        with serve(folder) as server:
            before = _read_memory(server)
            quiet, flooded = await asyncio.to_thread(_alternate, server, flooder, other)
            after = _read_memory(server)
        async with open_clearwell(settings, servers) as clearwell:
            shares = await _read_shares(clearwell, others)
    slower = median(flooded) / median(quiet)
    slower_late = quantiles(flooded, n=20)[-1] / quantiles(quiet, n=20)[-1]
    return [
        "## A flood from one key",
        "",
        f"One key sends captures and queries from 8 connections; another one asks {ASKED} questions in each of "
        f"{ROUNDS} quiet and {ROUNDS} flooded blocks, in turn.",
        "",
        "| | quiet | flooded | ratio (at most 2) |",
        "|---|---|---|---|",
        f"| median, ms | {median(quiet) * 1e3:.1f} | {median(flooded) * 1e3:.1f} | {slower:.2f} |",
        f"| 95th percentile, ms | {quantiles(quiet, n=20)[-1] * 1e3:.1f} | {quantiles(flooded, n=20)[-1] * 1e3:.1f} "
        f"| {slower_late:.2f} |",
        "",
        f"Memory of the server before and after, MiB: {before:.0f}, {after:.0f}.",
        "",
        *shares,
    ]


def _alternate(server: Server, flooder: str, other: str) -> tuple[list[float], list[float]]:
    quiet: list[float] = []
    flooded: list[float] = []
    for number in range(ROUNDS):
        quiet += _ask(server, other)
        with _flood(server, flooder, start=number * 1_000_000):
            flooded += _ask(server, other)
    return quiet, flooded


@contextmanager
def _flood(server: Server, secret: str, *, start: int) -> Iterator[None]:
    """In a process of its own, so that it takes no time of the one that measures."""
    command = [sys.executable, "-m", "bench.flood_sender", str(server.port), secret, GROUP, str(start)]
    process = subprocess.Popen(command)
    try:
        time.sleep(2)  # the flood has to be under way before it is measured
        yield
    finally:
        process.kill()
        process.wait()


def _ask(server: Server, secret: str) -> list[float]:
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    times = []
    for number in range(ASKED):
        body = json.dumps({"group_id": "quiet", "query": FACTS[number % len(FACTS)]})
        started = time.perf_counter()
        client.request("POST", "/api/v1/memory/query", body, headers)
        answer = client.getresponse()
        text = answer.read()
        times.append(time.perf_counter() - started)
        assert answer.status == 200, text
    client.close()
    return times


def _read_memory(server: Server) -> float:
    status = Path(f"/proc/{server.pid}/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


async def _read_shares(clearwell: Clearwell, others: set[UUID]) -> list[str]:
    """How much of working memory and of the digest is the flooder's, and how many entries of others are left."""
    memory = clearwell.memory.acting_as(PERSON)
    await clearwell.queue.join()
    entries = await memory.working_memory(group=GROUP)
    own = sum(entry.agent_id == "flooder" for entry in entries)
    await memory.request_digest(group=GROUP)
    await run_due_digests(clearwell)
    insights = await memory.review.insights(group=GROUP)
    alone = sum(all(source.agent_id == "flooder" for source in insight.sources) for insight in insights)
    return [
        f"Entries of the group in working memory: {len(entries)}, of the flooder: {own}. Of the {len(others)} entries "
        f"that others had before, {sum(entry.id in others for entry in entries)} are left (must be all). "
        f"Insights of the digest: {len(insights)}, from the flooder alone: {alone}.",
    ]
