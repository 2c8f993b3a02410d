"""The middleware works alike on the library and on a client of a server: what nodes read, and what is captured."""

from collections.abc import AsyncIterator

import pytest
from httpx import ASGITransport

from clearwell.adapters.http.app import create_app
from clearwell.client.client import AsyncClient
from clearwell.errors import NotAllowed
from clearwell.middleware import AgentMemory, MemoryMiddleware, Node, NodeContext, Session
from clearwell.records import CaptureReceipt, NewCapture, Principal, Right
from tests.path import LONG, OTHER, Path

CALLER = Principal(name="bot", rights=frozenset({Right.CAPTURE, Right.READ}), groups=frozenset({"g"}))
SESSION = Session("s1", group_id="g", state={"topic": "payment service moved to the new cluster"})
URL = "http://127.0.0.1"


@pytest.fixture
def path() -> Path:
    return Path()


@pytest.fixture(params=["library", "client"])
async def memory(path: Path, request: pytest.FixtureRequest) -> AsyncIterator[AgentMemory]:
    """The memory of the same caller, directly and over HTTP."""
    if request.param == "library":
        yield path.memory.acting_as(CALLER)
        return
    app = create_app(path.settings)
    app.state.clearwell = path.program
    path.program.keys.trust("token", CALLER)
    async with AsyncClient(URL, "token", transport=ASGITransport(app)) as client:
        yield client


@pytest.fixture
async def middleware(memory: AgentMemory, path: Path) -> AsyncIterator[MemoryMiddleware]:
    async with MemoryMiddleware(memory, settings=path.settings, clock=path.clock) as running:
        yield running


async def read(middleware: MemoryMiddleware, node_type: str) -> NodeContext:
    context = await middleware.before_node_execution(SESSION, Node("n", type=node_type, agent_id="risk-auditor"))
    assert context.problem is None
    return context


@pytest.mark.parametrize("node_type", ["agent", "fact_check", "memory_retrieval"])
async def test_a_node_reads_the_same_memories(path: Path, middleware: MemoryMiddleware, node_type: str) -> None:
    verified = await path.memory.promote(LONG, group="g")
    context = await read(middleware, node_type)
    assert context.ids == (verified.id,)
    assert f'<memory id="{verified.id}">{LONG}</memory>' in context.text
    assert [item.content for item in context.items] == ([LONG] if node_type == "fact_check" else [])
    assert bool(context.messages) == (node_type == "agent")
    assert ("history_context" in context.state) == (node_type == "memory_retrieval")


async def test_an_output_is_captured_with_its_fields(path: Path, middleware: MemoryMiddleware) -> None:
    node = Node("n1", type="tool", agent_id="risk-auditor")
    await middleware.after_node_execution(SESSION, node, {"content": LONG, "metadata": {"confidence": float("nan")}})
    assert await middleware.flush()
    ((_, row),) = path.quarantine.rows["g"].items()
    capture = row.capture
    assert (capture.content, capture.session_id, capture.node_id, capture.node_type, capture.agent_id) == (
        LONG,
        "s1",
        "n1",
        "tool",
        "risk-auditor",
    )
    assert capture.occurred_at == path.clock.now()
    assert capture.metadata == {"confidence": "nan"}
    assert capture.captured_by in ("bot", "bot/agent")


async def test_refused_and_repeated_captures_are_recognised(path: Path, memory: AgentMemory) -> None:
    good = NewCapture(content=LONG, group_id="g", idempotency_key="k1")
    bad = NewCapture(content=OTHER, group_id="not mine", idempotency_key="k2")
    first = await memory.capture_many([good, bad])
    again = await memory.capture_many([bad, good])
    assert [isinstance(result, NotAllowed) for result in first] == [False, True]
    assert [isinstance(result, NotAllowed) for result in again] == [True, False]
    assert [result.id for result in (first[0], again[1]) if isinstance(result, CaptureReceipt)] == [
        *path.quarantine.rows["g"]
    ] * 2
    assert len(path.quarantine.rows["g"]) == 1


async def test_destinations_name_memory_and_caller_but_no_key(path: Path) -> None:
    named = {
        path.memory.destination,
        path.memory.acting_as(CALLER).destination,
        AsyncClient(URL).destination,
        AsyncClient(URL, "secret").destination,
        AsyncClient(URL, "other").destination,
        AsyncClient("http://127.0.0.1:2", "secret").destination,
        AsyncClient(URL, "secret", agent=False).destination,
    }
    assert len(named) == 7
    assert not [name for name in named if "secret" in name]
