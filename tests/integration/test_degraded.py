"""Retrieval while a part is down or hangs: the rest answers, says so, and within one budget of time."""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest
import redis
from redis.asyncio import Connection, ConnectionPool

from clearwell.app import Clearwell, SystemClock, open_clearwell
from clearwell.errors import Unavailable, WorkingMemoryUnavailable
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.records import Retrieval, Source
from clearwell.servers import Servers, running_servers
from clearwell.settings import Settings
from clearwell.stores.valkey import TimedClient, ValkeyWorkingStore, open_client
from tests.contract.ports import CAPACITY
from tests.path import AGENT, LONG, OTHER, PERSON, said
from tests.servers.embedding_api import EmbeddingApi
from tests.servers.scripted import hang, reply
from tests.waiting import until

BUDGET = 1.0
SLACK = 0.6
"""For a machine that does other things as well. Two budgets in a row would still be noticed."""
QUESTION = "How long do backups of the billing database take?"
TICKET = "Ticket OPS-48213 was closed."


@pytest.fixture
def api() -> Iterator[EmbeddingApi]:
    with EmbeddingApi() as running:
        yield running


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[Servers]:
    """Servers of this test's own: they are stopped in the middle of it."""
    async with running_servers(Settings(data_dir=tmp_path, database_url=None, redis_url=None)) as running:
        yield running


@pytest.fixture
async def own(servers: Servers, tmp_path: Path, api: EmbeddingApi) -> AsyncIterator[Clearwell]:
    settings = Settings(
        data_dir=tmp_path,
        database_url=None,
        redis_url=None,
        embedder="openai",
        embedding_base_url=api.base_url,
        embedding_model="hashed-words",
        retrieve_timeout_seconds=BUDGET,
    )
    async with open_clearwell(settings, servers) as clearwell:
        await clearwell.memory.acting_as(PERSON).promote(OTHER, group="g")
        await clearwell.memory.acting_as(PERSON).promote(TICKET, group="g")
        await clearwell.memory.acting_as(AGENT).capture(said(), wait=True)
        yield clearwell


def sources(found: Retrieval) -> set[Source]:
    return {item.source for item in found.items}


async def timed(clearwell: Clearwell, question: str = QUESTION) -> tuple[Retrieval, float]:
    clock = asyncio.get_running_loop().time
    start = clock()
    options = RetrieveOptions(hot_threshold=0)
    found = await clearwell.memory.acting_as(AGENT).retrieve(question, group="g", options=options)
    return found, clock() - start


@contextmanager
def stopped(server: psutil.Process) -> Iterator[None]:
    """The server and what it started neither answer nor end."""
    os.kill(server.pid, signal.SIGSTOP)
    # Only now: a server that runs may lay one of them to rest before it is stopped.
    parts = [server, *server.children(recursive=True)]
    for part in parts:
        os.kill(part.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for part in reversed(parts):
            os.kill(part.pid, signal.SIGCONT)


def postgres_of(servers: Servers) -> psutil.Process:
    with psycopg.connect(servers.database_url) as connection:
        server = psutil.Process(connection.info.backend_pid).parent()
    assert server is not None
    return server


def valkey_of(servers: Servers) -> psutil.Process:
    with redis.Redis.from_url(servers.redis_url) as client:
        return psutil.Process(int(client.info("server")["process_id"]))


async def test_without_an_embedder_words_find_and_the_answer_says_so(own: Clearwell, api: EmbeddingApi) -> None:
    api.usually = reply(400, {"error": {"message": "no"}})
    found, seconds = await timed(own)
    assert (found.degraded, sources(found)) == (("embedder",), {Source.HOT, Source.COLD})
    best = next(item for item in found.items if item.verified)
    assert best.content == OTHER
    assert best.relevance is not None
    assert 0 < best.score <= 1
    assert seconds < BUDGET
    exact, _ = await timed(own, "OPS-48213")
    best = next(item for item in exact.items if item.verified)
    assert best.content == TICKET
    assert best.score > 0.85


async def test_an_embedder_that_hangs_costs_one_budget_and_then_less(own: Clearwell, api: EmbeddingApi) -> None:
    api.usually = hang
    for most in (BUDGET, BUDGET / 2):
        found, seconds = await timed(own)
        assert (found.degraded, sources(found)) == (("embedder",), {Source.HOT, Source.COLD})
        assert seconds < most + SLACK / 2


async def test_a_database_that_hangs_leaves_working_memory(own: Clearwell, servers: Servers) -> None:
    with stopped(postgres_of(servers)):
        found, seconds = await timed(own)
        assert (found.degraded, sources(found)) == (("long_term_memory",), {Source.HOT})
        assert seconds < BUDGET + SLACK
        assert (await timed(own))[1] < BUDGET + SLACK
    await until(lambda: _whole(own))


async def test_a_known_caller_is_not_kept_waiting_by_a_database_that_hangs(own: Clearwell, servers: Servers) -> None:
    clock = asyncio.get_running_loop().time
    known = await own.keys.authenticate(None, local=True)
    with stopped(postgres_of(servers)):
        start = clock()
        assert await own.keys.authenticate(None, local=True) == known
        assert clock() - start < BUDGET / 2
        with pytest.raises(Unavailable):
            await own.keys.authenticate("cw_nobody", local=True)
        assert clock() - start < 2 * BUDGET + SLACK
    await until(lambda: _whole(own))


async def test_a_working_memory_that_hangs_leaves_long_term_memory(own: Clearwell, servers: Servers) -> None:
    with stopped(valkey_of(servers)):
        found, seconds = await timed(own)
        assert (found.degraded, sources(found)) == (("working_memory",), {Source.COLD})
        assert seconds < BUDGET + SLACK
    await until(lambda: _whole(own))


async def test_a_command_waits_for_working_memory_once_and_not_again() -> None:
    """The retry, which is for a connection that the server has closed, does not double the time."""
    clock = asyncio.get_running_loop().time
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        client = open_client(f"redis://127.0.0.1:{port}", pool_max=1, timeout_seconds=BUDGET)
        start = clock()
        with pytest.raises(WorkingMemoryUnavailable):
            await ValkeyWorkingStore(client, SystemClock(), capacity=CAPACITY, content_bytes=1000).entries("g")
        assert clock() - start < BUDGET + SLACK
        await client.aclose()


class ResetConnection(Connection):
    """A connection that was reset after it was found to be open: uvloop then raises an error of its own."""

    async def send_packed_command(self, *_: object, **__: object) -> None:
        raise RuntimeError("unable to perform operation on <TCPTransport closed=True>; the handler is closed")


async def test_a_connection_that_is_reset_at_the_wrong_moment_is_no_internal_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        pool = ConnectionPool(ResetConnection, host="127.0.0.1", port=silent.getsockname()[1])
        client = TimedClient(pool, seconds=BUDGET)
        with pytest.raises(WorkingMemoryUnavailable, match="closed"):
            await ValkeyWorkingStore(client, SystemClock(), capacity=CAPACITY, content_bytes=1000).entries("g")
        await client.aclose()


async def test_everything_hanging_costs_one_budget_too(own: Clearwell, servers: Servers, api: EmbeddingApi) -> None:
    api.usually = hang
    with stopped(postgres_of(servers)), stopped(valkey_of(servers)):
        found, seconds = await timed(own)
        assert (found.items, found.degraded) == ((), ("embedder", "long_term_memory", "working_memory"))
        assert seconds < BUDGET + SLACK


async def _whole(clearwell: Clearwell) -> bool:
    try:
        found = await clearwell.memory.acting_as(AGENT).retrieve(LONG, group="g")
    except Unavailable:
        return False
    return found.degraded == () and sources(found) == {Source.HOT, Source.COLD}
