"""What the middleware costs a node, on the library and over HTTP, and an outage of ten minutes.

A node is a function that returns a text. ``before`` waits for the memory, so the same call without the middleware is
measured beside it: the difference is the middleware's own. ``after`` waits for nothing but a write to the spool; the
delivery goes on in the background of the same process.
"""

import asyncio
import statistics
import time
from dataclasses import dataclass
from itertools import count

from bench.blocks import Step, Times, interleaved
from bench.embedding_stub import embedding_stub
from bench.ground import TEXT, analyze, bare_connection, fill, ground
from bench.server import serve
from clearwell.client.client import AsyncClient
from clearwell.flow.context.builder import ContextRequest
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.middleware import AgentMemory, MemoryMiddleware, Node, NodeContext, Session
from clearwell.records import Principal, Right
from clearwell.settings import Settings

MEMORIES, LIVE = 600, 10
ROUNDS, BLOCK = 20, 10
CAPTURES, SESSIONS = 12_000, 6
LIMIT_MS = 2.0
AGENT = Principal(name="bench", rights=frozenset({Right.CAPTURE, Right.READ}))
NODE = Node("auditor", agent_id="risk-auditor")
QUESTION = "What was decided about the payment service?"
ALONE, DIRECT = "node alone", "the memory's `build_context`, called without the middleware"
BEFORE, PREFETCHED, AFTER = "`before`", "`before`, prefetched", "node and `after`"
ROWS = "SELECT session_id, content FROM quarantine_logs WHERE group_id = 'outage' ORDER BY id"


class Steps:
    """The steps of one memory. Every output is new, so that none is recognised as a repeated one."""

    def __init__(self, memory: AgentMemory, settings: Settings) -> None:
        self.middleware = MemoryMiddleware(memory, settings=settings)
        self.in_memory = MemoryMiddleware(memory, settings=settings, spool=False)
        self._memory = memory
        self._session = Session("s", group_id="g", state={"topic": QUESTION})
        self._numbers = count()

    async def node(self) -> str:
        return f"{next(self._numbers)}: {TEXT}"

    async def before(self) -> NodeContext:
        return await self.middleware.before_node_execution(self._session, NODE)

    async def build_context(self) -> None:
        options = RetrieveOptions(agent_id=NODE.agent_id)
        await self._memory.build_context(ContextRequest(proposal=QUESTION, options=options), group="g")

    async def after(self) -> None:
        await self.middleware.after_node_execution(self._session, NODE, await self.node())

    async def after_in_memory(self) -> None:
        await self.in_memory.after_node_execution(self._session, NODE, await self.node())

    async def prefetch(self) -> None:
        """Read while another node runs."""
        self.middleware.prefetch(self._session, NODE)
        await asyncio.wait([task for task in asyncio.all_tasks() if task.get_name() == "prefetched context"])

    @property
    def reading(self) -> dict[str, Step]:
        return {ALONE: self.node, DIRECT: self.build_context, BEFORE: self.before}

    @property
    def capturing(self) -> dict[str, Step]:
        return {AFTER: self.after, "node, `after` without a spool": self.after_in_memory}

    async def close(self) -> None:
        await self.middleware.aclose(seconds=60)
        await self.in_memory.aclose(seconds=60)


@dataclass(frozen=True)
class Outage:
    """What was captured while there was no server, and how it was delivered."""

    slowest_ms: float
    median_ms: float
    waiting: int
    waiting_bytes: int
    seconds: float
    stored: int
    in_order: bool


async def measure() -> list[str]:
    async with ground() as (clearwell, servers):
        await fill(clearwell, "g", MEMORIES, live=LIVE)
        await analyze(servers.database_url)
        library = await _measure_steps(clearwell.memory.acting_as(AGENT), clearwell.settings)
        async with AsyncClient(settings=clearwell.settings) as client:
            with embedding_stub() as stub:
                with serve(clearwell.settings.data_dir, **stub):
                    over_http = await _measure_steps(client, clearwell.settings)
                outage = await _measure_outage(client, clearwell.settings, stub, servers.database_url)
    return [
        *_write_steps("the library", library),
        *_write_steps("`clearwell serve` over HTTP on the same machine", over_http),
        *_write_outage(outage),
    ]


async def _measure_steps(memory: AgentMemory, settings: Settings) -> dict[str, Times]:
    """Reading first: the admission of what is captured runs in the background and would slow it down."""
    steps = Steps(memory, settings)
    times = await interleaved(steps.reading, rounds=ROUNDS, block=BLOCK)
    times[PREFETCHED] = await _measure_prefetched(steps)
    times |= await interleaved(steps.capturing, rounds=ROUNDS, block=BLOCK)
    await steps.close()
    return times


async def _measure_prefetched(steps: Steps) -> Times:
    times = Times()
    for _ in range(ROUNDS * BLOCK):
        await steps.prefetch()
        wall, cpu = time.perf_counter(), time.process_time()
        assert (await steps.before()).problem is None
        times.wall.append((time.perf_counter() - wall) * 1000)
        times.cpu.append((time.process_time() - cpu) * 1000)
    return times


async def _measure_outage(memory: AgentMemory, settings: Settings, stub: dict[str, str], url: str) -> Outage:
    """Capture while there is no server, then start it. The middleware finds it by the data folder."""
    middleware, times = MemoryMiddleware(memory, settings=settings), []
    for number in range(CAPTURES):
        session = Session(f"s{number % SESSIONS}", group_id="outage")
        started = time.perf_counter()
        await middleware.after_node_execution(session, NODE, f"{number}: {TEXT}")
        times.append((time.perf_counter() - started) * 1000)
        if number % 20 == 0:
            await asyncio.sleep(0)  # as an agent that waits for its model lets the sender run
    status = middleware.status()
    with serve(settings.data_dir, **stub):
        started = time.perf_counter()
        while not await middleware.flush(seconds=60):  # noqa: ASYNC110 - the server is another process
            await asyncio.sleep(0.1)
        seconds = time.perf_counter() - started
        await middleware.aclose()
        stored, in_order = await _check_rows(url)
    return Outage(
        slowest_ms=max(times),
        median_ms=statistics.median(times),
        waiting=status.waiting,
        waiting_bytes=status.waiting_bytes,
        seconds=seconds,
        stored=stored,
        in_order=in_order,
    )


async def _check_rows(url: str) -> tuple[int, bool]:
    """How many rows there are, and whether each session has its outputs in their order and once."""
    connection = await bare_connection(url)
    rows = await (await connection.execute(ROWS)).fetchall()
    await connection.close()
    numbers: dict[str, list[int]] = {}
    for row in rows:
        numbers.setdefault(row["session_id"], []).append(int(row["content"].partition(":")[0]))
    expected = [list(range(session, CAPTURES, SESSIONS)) for session in range(SESSIONS)]
    return len(rows), [numbers.get(f"s{session}") for session in range(SESSIONS)] == expected


def _write_steps(memory: str, times: dict[str, Times]) -> list[str]:
    own = max(0.0, times[BEFORE].median_cpu - times[DIRECT].median_cpu)
    after = times[AFTER].median - times[ALONE].median
    return [
        f"### One node on {memory}, {MEMORIES} memories and {LIVE} live entries",
        "",
        "| what | median ms | p95 ms | CPU of the agent ms |",
        "|---|---|---|---|",
        *(f"| {name} | {one.median:.3f} | {one.p95:.3f} | {one.median_cpu:.3f} |" for name, one in times.items()),
        "",
        f"Overhead of the middleware on a node, without the memory's own time: **{own + after:.2f} ms** (limit "
        f"{LIMIT_MS:.0f} ms): `before` {own:.2f} ms of CPU more than the same call of the memory, and `after` "
        f"{after:.2f} ms. If the context was prefetched while another node ran, the node waits "
        f"{times[PREFETCHED].median + after:.2f} ms in all; if not, {times[BEFORE].median + after:.2f} ms, the time in "
        "which the memory builds the context.",
        "",
    ]


def _write_outage(outage: Outage) -> list[str]:
    return [
        "### Ten minutes without a server at 20 captures a second (counts as they are, time scaled down)",
        "",
        "| what | |",
        "|---|---|",
        f"| captures while there was no server, in {SESSIONS} sessions | {CAPTURES:,} |",
        f"| `after`, median | {outage.median_ms:.3f} ms |",
        f"| `after`, slowest | {outage.slowest_ms:.1f} ms |",
        f"| waiting in the spool | {outage.waiting:,} captures, {outage.waiting_bytes / 1024 / 1024:.1f} MiB |",
        f"| delivered after the start | {outage.seconds:.1f} s, {CAPTURES / outage.seconds:.0f} a second |",
        f"| rows in quarantine | {outage.stored:,} |",
        f"| every session in order, none twice | {'yes' if outage.in_order else 'NO'} |",
        "",
    ]
