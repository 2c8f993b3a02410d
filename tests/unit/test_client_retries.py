"""Which requests of the client are sent again, with which key, and for how long."""

import time
from uuid import UUID

import httpx
import pytest

from clearwell import AsyncClient
from clearwell.client.api import ApiConnection
from clearwell.client.retries import RetryPolicy
from clearwell.client.routes import ApiClient
from clearwell.errors import Conflict, RequestInProgress, Unavailable
from tests.path import said
from tests.servers.unreliable import DROP, HANG, Reply, serve_unreliably

RECEIPT = Reply(status=201, body={"id": str(UUID(int=1)), "group_id": "g", "admission": "pending", "verdicts": []})
ENTRIES = Reply(body={"entries": []})
QUICK = RetryPolicy(total_seconds=5, retries=3, first_pause=0.01)


def problem(status: int, code: str) -> Reply:
    body = {"type": f"urn:clearwell:problem:{code}", "title": "t", "status": status, "detail": "d"}
    return Reply(status=status, body=body)


def quick_client(url: str) -> ApiClient:
    return ApiClient(ApiConnection(url, policy=QUICK))


async def test_a_capture_that_was_cut_off_is_sent_again_with_the_same_key() -> None:
    async with serve_unreliably(DROP, DROP, RECEIPT) as server, AsyncClient(server.url) as client:
        assert (await client.capture(said())).id == UUID(int=1)
        keys = {headers["idempotency-key"] for headers in server.seen}
        assert (len(server.seen), len(keys)) == (3, 1)
        assert len({headers["content"] for headers in server.seen}) == 1
        await client.capture(said())
        assert server.seen[-1]["idempotency-key"] not in keys, "another call has another key"


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_an_answer_that_says_not_now_is_not_the_last(status: int) -> None:
    async with serve_unreliably(Reply(status=status), ENTRIES) as server, quick_client(server.url) as client:
        assert (await client.working_memory("g")).entries == ()
        assert len(server.seen) == 2


async def test_other_errors_are_final() -> None:
    for status, code in ((409, "undo_twice"), (500, "http_failed"), (422, "text_blank")):
        async with serve_unreliably(problem(status, code), ENTRIES) as server, quick_client(server.url) as client:
            with pytest.raises(Exception, match=r"^d$"):
                await client.working_memory("g")
            assert len(server.seen) == 1


async def test_the_server_says_how_long_to_wait() -> None:
    patience = Reply(status=429, headers={"Retry-After": "1"})
    async with serve_unreliably(patience, ENTRIES) as server, quick_client(server.url) as client:
        begun = time.monotonic()
        await client.working_memory("g")
        assert time.monotonic() - begun >= 1


async def test_a_write_without_a_key_is_sent_once() -> None:
    async with serve_unreliably(DROP, RECEIPT) as server:
        connection = ApiConnection(server.url)
        async with ApiClient(connection) as client:
            with pytest.raises(Unavailable):
                await client.capture("g", "text")
        assert len(server.seen) == 1
        assert "idempotency-key" not in server.seen[0]


async def test_a_request_that_the_server_still_works_on_is_waited_for() -> None:
    running = problem(409, "idempotency_running")
    async with serve_unreliably(DROP, running, RECEIPT) as server, quick_client(server.url) as client:
        assert (await client.capture("g", "text", key="k")).id == UUID(int=1)
    async with serve_unreliably(running) as server, quick_client(server.url) as client:
        with pytest.raises(RequestInProgress):
            await client.capture("g", "text", key="k")
        assert len(server.seen) == 1, "the first attempt of this call did not fail"


async def test_a_conflict_after_a_lost_answer_is_told() -> None:
    async with serve_unreliably(DROP, problem(409, "undo_twice")) as server, quick_client(server.url) as client:
        with pytest.raises(Conflict):
            await client.capture("g", "text", key="k")


async def test_a_call_ends_in_time_whatever_the_server_does() -> None:
    async with serve_unreliably(HANG) as server, AsyncClient(server.url, timeout=0.3) as client:
        begun = time.monotonic()
        with pytest.raises(Unavailable, match=r"0\.3 seconds"):
            await client.capture(said())
        assert time.monotonic() - begun < 2
    patience = Reply(status=503, headers={"Retry-After": "60"})
    async with serve_unreliably(patience) as server, AsyncClient(server.url, timeout=0.3) as client:
        with pytest.raises(Unavailable):
            await client.working_memory(group="g")


async def test_attempts_are_counted() -> None:
    async with serve_unreliably(DROP) as server, quick_client(server.url) as client:
        with pytest.raises(Unavailable, match=server.url):
            await client.working_memory("g")
        assert len(server.seen) == 4


def test_pauses_grow_and_are_never_the_same() -> None:
    policy = RetryPolicy(first_pause=1, longest_pause=4)
    pauses = [[policy.pause_after(attempt, None) for _ in range(50)] for attempt in range(1, 6)]
    for longest, tried in zip((1, 2, 4, 4, 4), pauses, strict=True):
        assert all(longest / 2 <= pause <= longest for pause in tried)
        assert len(set(tried)) > 1
    asked = httpx.Response(503, headers={"Retry-After": "7"})
    assert policy.pause_after(1, asked) == 7
