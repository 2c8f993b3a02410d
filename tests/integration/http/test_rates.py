"""A key that sends too much is told when to come back; one large query holds up nobody."""

import asyncio
import json
from collections.abc import AsyncIterator
from time import perf_counter

import pytest
from fastapi import FastAPI

from clearwell.flow.access import turns
from clearwell.records import Right
from clearwell.settings import Settings
from tests.integration.http.serving import LONG, Api, new_group, require_problem, served

QUERY, CONTEXT, NODE, CAPTURES = (
    "/api/v1/memory/query",
    "/api/v1/context",
    "/api/v1/nodes/memory_retrieval",
    "/api/v1/captures",
)
PHRASES = "\ufdfa" * (1024 * 1024 // 3)
MAX_SECONDS = 2.0
"""Before text work was bounded and left the event loop, it was held up for 10 s."""


@pytest.fixture
async def limited(settings: Settings) -> AsyncIterator[FastAPI]:
    async with served(settings.model_copy(update={"key_requests_per_minute": 60})) as app:
        yield app


async def test_a_key_that_sends_too_many_requests_is_told_when_to_retry(limited: FastAPI) -> None:
    group = new_group()
    async with Api(limited) as api:
        busy, quiet = [await api.caller(Right.READ, groups=[group]) for _ in range(2)]
        asked = {"group_id": group, "query": "payments"}
        # At once, so that the time that a slow machine takes for each gives the key no further requests.
        english, chinese = ({"Accept-Language": language} for language in ("en", "zh"))
        sent = (busy.post(QUERY, json=asked, headers=headers) for headers in [english, chinese] * 40)
        refused = [answer for answer in await asyncio.gather(*sent) if answer.status_code != 200]
        problems = [require_problem(answer, 429, "key_rate")["detail"] for answer in refused]
        assert any("60" in problem for problem in problems)
        assert any("密钥" in problem for problem in problems)
        assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
        assert (await quiet.post(QUERY, json=asked)).status_code == 200


async def test_a_body_in_several_parts_is_one_request(limited: FastAPI) -> None:
    group = new_group()
    body = json.dumps({"group_id": group, "query": "payments"}).encode()

    async def send_in_parts() -> AsyncIterator[bytes]:
        yield body[:10]
        yield body[10:]

    async with Api(limited) as api:
        caller = await api.caller(Right.READ, groups=[group])
        headers = {"Content-Type": "application/json"}
        answers = [await caller.post(QUERY, content=send_in_parts(), headers=headers) for _ in range(8)]
        assert {answer.status_code for answer in answers} == {200}


@pytest.fixture
async def queueing(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FastAPI]:
    """A process that is always behind, where one request of a key may wait."""
    monkeypatch.setattr(turns, "LATE_SECONDS", -1.0)
    async with served(settings.model_copy(update={"key_requests_waiting": 1})) as app:
        yield app


async def test_a_busy_process_answers_each_key_in_turn(queueing: FastAPI) -> None:
    group = new_group()
    asked = {"group_id": group, "query": "payments"}
    arrived, go = asyncio.Event(), asyncio.Event()

    async def send_slowly() -> AsyncIterator[bytes]:
        arrived.set()
        await go.wait()
        yield json.dumps(asked).encode()

    async with Api(queueing) as api:
        busy, quiet = [await api.caller(Right.READ, groups=[group]) for _ in range(2)]
        headers = {"Content-Type": "application/json"}
        first = asyncio.create_task(busy.post(QUERY, content=send_slowly(), headers=headers))
        await arrived.wait()
        # The process finds out that it is behind, while the other key asks.
        while not queueing.state.clearwell.turns.behind:
            assert (await quiet.post(QUERY, json=asked)).status_code == 200
        others = [asyncio.create_task(busy.post(QUERY, json=asked)) for _ in range(2)]
        done, waiting = await asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED)
        refused = done.pop().result()
        require_problem(refused, 429, "key_turns_full")
        assert refused.headers["retry-after"] == "1"
        assert (await quiet.post(QUERY, json=asked)).status_code == 200
        assert len(waiting) == 1
        go.set()
        assert [(await task).status_code for task in (first, *waiting)] == [200, 200]


async def test_the_local_person_is_not_limited(limited: FastAPI) -> None:
    async with Api(limited) as api:
        client = await api.client()
        answers = [await client.post(QUERY, json={"group_id": "g", "query": "payments"}) for _ in range(30)]
        assert {answer.status_code for answer in answers} == {200}


async def test_a_huge_query_is_refused_and_holds_up_nobody(api: Api) -> None:
    group = new_group()
    client = await api.client()
    bodies = {
        QUERY: {"group_id": group, "query": PHRASES},
        CONTEXT: {"group_id": group, "proposal": PHRASES},
        CAPTURES: {"group_id": group, "content": PHRASES},
    }
    longest = 0.0
    done = asyncio.Event()

    async def watch() -> None:
        nonlocal longest
        while not done.is_set():
            started = perf_counter()
            await asyncio.sleep(0.01)
            assert (await client.get("/healthz")).status_code == 200
            longest = max(longest, perf_counter() - started)

    watching = asyncio.create_task(watch())
    for route, body in bodies.items():
        require_problem(await client.post(route, json=body), 413, "text_large" if route == QUERY else "text_expands")
    short = {"group_id": group, "query": PHRASES[:2000]}
    require_problem(await client.post(QUERY, json=short), 413, "text_expands")
    node = await client.post(NODE, json={"group_id": group, "input": {"document": PHRASES}})
    assert node.status_code == 200, node.text
    assert (await client.post(QUERY, json={"group_id": group, "query": LONG})).status_code == 200
    done.set()
    await watching
    assert longest < MAX_SECONDS
