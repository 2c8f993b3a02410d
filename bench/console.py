"""The console with a million outputs in quarantine: how long the server takes for a page, and how much is loaded.

The server is ``clearwell serve`` with the bundled model, and the person at this machine is signed in. The floor is the
page to sign in, which is rendered from the same frame without a question to any store. What a browser loads at first is
measured in Chromium without a cache, until the page is quiet.
"""

import http.client
import statistics
import time
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

import psycopg
from playwright.async_api import Browser, async_playwright, expect
from scripts.browser import find_browser

from bench.ground import ground
from bench.million import fill_million
from bench.server import serve
from clearwell.models import OfflineEmbedder

ROWS, ROUNDS, BLOCK = 1_000_000, 12, 3
GROUP = "million"
LIMIT_MS, LIMIT_KB, PATIENCE_MS = 100, 400, 60_000
ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")
FLOOR = "sign in (floor)"
AFTER = "agents, their reliability (after the page)"
"""It counts every output of the group, and is measured once a round."""


class Found(NamedTuple):
    """What is in the group: an output of the middle, a memory, and a day of the middle."""

    output: str
    older: str
    memory: str
    day: str


async def measure() -> list[str]:
    started = time.perf_counter()
    async with ground(OfflineEmbedder()) as (clearwell, servers):
        await fill_million(clearwell, servers.database_url, GROUP, rows=ROWS)
        filled = time.perf_counter() - started
        addresses = list_addresses(_find(servers.database_url))
        with serve(clearwell.settings.data_dir) as server:
            times = measure_times(server.port, addresses)
            loads = await measure_loads(server.port, addresses)
    told = f"{ROWS:,} outputs in one group; filling it took {filled:.0f} s."
    return [told, "", *_table_of_times(times), *_table_of_loads(loads)]


def _find(url: str) -> Found:
    with psycopg.connect(url) as owner:
        rows = owner.execute(
            "SELECT id, created_at FROM quarantine_logs WHERE group_id = %s ORDER BY id OFFSET %s LIMIT 2",
            (GROUP, ROWS // 2),
        ).fetchall()
        memory = owner.execute("SELECT memory_id FROM promotions WHERE group_id = %s LIMIT 1", (GROUP,)).fetchone()
    assert memory is not None
    return Found(str(rows[1][0]), str(rows[0][0]), str(memory[0]), f"{rows[0][1]:%Y-%m-%d}")


def list_addresses(found: Found) -> dict[str, str]:
    """Every page and its filters: those that many outputs meet, and those that ten of the million do."""
    filters = {
        "all": {},
        "an agent": {"agent": "agent-7"},
        "a rare agent": {"agent": "auditor"},
        "a session": {"session": "session-4000"},
        "a node type": {"node_type": "vote"},
        "a rare node type": {"node_type": "audit"},
        "refused": {"admission": "refused"},
        "pending (none is)": {"admission": "pending"},
        "a flag": {"flag": "conflict"},
        "a rare flag": {"flag": "hidden_text"},
        "one day": {"since": found.day, "until": found.day},
        "a word": {"q": "invoice"},
        "a rare word": {"q": "zanzibar"},
        "a rare flag and agent of one month": {"flag": "hidden_text", "agent": "agent-5", "since": found.day},
        "a page in the middle": {"before": found.output},
    }
    memories = {
        "all": {},
        "withdrawn (none is)": {"state": "withdrawn"},
        "never used": {"unused": "true"},
        "disputed (none is)": {"disputed": "true"},
        "of a session": {"session": "session-19000"},
        "a word": {"q": "cluster"},
        "a rare word": {"q": "zanzibar"},
    }
    here = f"/g/{GROUP}"
    return {
        FLOOR: "/sign-in",
        "overview": f"{here}/overview",
        "overview, charts": f"{here}/overview/activity",
        "review": f"{here}/review",
        **{f"quarantine, {name}": f"{here}/quarantine?{urlencode(query)}" for name, query in filters.items()},
        "one output": f"{here}/quarantine/{found.output}",
        "working memory": f"{here}/working",
        **{f"memories, {name}": f"{here}/memories?{urlencode(query)}" for name, query in memories.items()},
        "one memory": f"{here}/memories/{found.memory}",
        "playground": f"{here}/playground",
        "playground, a question": f"{here}/playground?{urlencode({'q': 'Which service moved to site 12?'})}",
        "chat": f"{here}/chat",
        "chat, an old session": f"{here}/chat?session=session-4000",
        "agents": f"{here}/agents",
        AFTER: f"{here}/agents/reliability",
    }


def measure_times(port: int, addresses: dict[str, str]) -> dict[str, list[float]]:
    """Milliseconds until the whole answer is there, of every page in turn. The first round warms up."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    times: dict[str, list[float]] = {name: [] for name in addresses}
    for turn in range(ROUNDS + 1):
        for name, address in addresses.items():
            for _ in range(1 if name == AFTER else BLOCK):
                started = time.perf_counter()
                connection.request("GET", address)
                answer = connection.getresponse()
                body = answer.read()
                assert answer.status == 200, (address, answer.status, body)
                if turn:
                    times[name].append((time.perf_counter() - started) * 1000)
    connection.close()
    return times


async def measure_loads(port: int, addresses: dict[str, str]) -> dict[str, float]:
    """The kilobytes that a browser without a cache receives for each page, with everything that the page asks for."""
    pages = {name: address for name, address in addresses.items() if name.endswith(", all") or "," not in name}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(), args=list(ARGUMENTS))
        loads = {name: await _load(browser, f"http://localhost:{port}{address}") for name, address in pages.items()}
        await browser.close()
    return loads


async def _load(browser: Browser, address: str) -> float:
    context = await browser.new_context()
    page = await context.new_page()
    network = await context.new_cdp_session(page)
    received: list[float] = []
    network.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    await network.send("Network.enable")
    await page.goto(address)
    await page.evaluate("document.fonts.ready")
    await expect(page.locator(".htmx-request")).to_have_count(0, timeout=PATIENCE_MS)
    await context.close()
    return sum(received) / 1000


def _table_of_times(times: dict[str, list[float]]) -> list[str]:
    floor = statistics.median(times[FLOOR])
    lines = [
        f"### A page at the server (must be under {LIMIT_MS} ms)",
        "",
        "| page | median ms | p95 ms | ratio to the floor | under the limit |",
        "|---|---|---|---|---|",
    ]
    for name, measured in times.items():
        middle = statistics.median(measured)
        reached = "yes" if middle < LIMIT_MS else "no limit" if name == AFTER else "**no**"
        lines.append(f"| {name} | {middle:.1f} | {_p95(measured):.1f} | {middle / floor:.1f} | {reached} |")
    return [*lines, ""]


def _table_of_loads(loads: dict[str, float]) -> list[str]:
    lines = [f"### The first load (must be under {LIMIT_KB} kB)", "", "| page | kB received |", "|---|---|"]
    return [*lines, *(f"| {name} | {size:.0f} |" for name, size in loads.items()), ""]


def _p95(measured: Sequence[float]) -> float:
    return statistics.quantiles(measured, n=20)[-1]
