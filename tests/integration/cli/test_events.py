"""Events of a real ``clearwell serve``: from all its processes, to the end of the server, and on the command line."""

import asyncio
import json
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import pytest

from tests.integration.cli.program import Program, Running, Serving, until

TEXT = "The audit of the warehouse found that {number} pallets were stored in the wrong aisle last Friday."


@pytest.fixture(scope="module")
def serving(bundled: Program) -> Iterator[Serving]:
    """With two processes. The last test stops it."""
    with bundled.serving("--workers", "2") as running:
        yield running


@asynccontextmanager
async def follow(serving: Serving) -> AsyncIterator[AsyncIterator[str]]:
    """The lines of a stream."""
    async with (
        httpx.AsyncClient(base_url=serving.url, trust_env=False, timeout=60) as client,
        client.stream("GET", "/api/v1/events", params={"group_id": "audit"}) as answer,
    ):
        assert answer.status_code == 200
        yield answer.aiter_lines()


async def read_until(lines: AsyncIterator[str], *wanted: str) -> None:
    """Read until each of these events has come, in this order."""
    for name in wanted:
        async for line in lines:
            if line == f"event: {name}":
                break
        else:
            pytest.fail(f"the stream ended before the event {name}")


def capture(serving: Serving, number: int) -> None:
    body = {"group_id": "audit", "content": TEXT.format(number=number)}
    httpx.post(f"{serving.url}/api/v1/captures?wait=true", json=body, trust_env=False).raise_for_status()


def test_readers_at_all_processes_get_what_any_process_does(serving: Serving) -> None:
    async def check() -> None:
        async with AsyncExitStack() as stack:
            streams = [await stack.enter_async_context(follow(serving)) for _ in range(8)]
            for lines in streams:
                await read_until(lines, "subscribed")
            for number in range(4):
                await asyncio.to_thread(capture, serving, number)
            for lines in streams:
                await read_until(lines, *["captured", "admitted"] * 4)

    asyncio.run(check())


def test_the_command_follows_until_it_is_interrupted(bundled: Program, serving: Serving) -> None:
    following = bundled.start("events", "--group", "audit", "--json")
    following.wait_until(lambda: "subscribed" in following.text)
    capture(serving, 41)
    following.wait_until(lambda: "admitted" in following.text)
    assert following.stop(signal.SIGINT) == 130
    events = read_json_lines(following)
    assert [event["type"] for event in events] == ["subscribed", "captured", "admitted"]
    missed = bundled.start("events", "--group", "audit", "--after", events[1]["id"])
    missed.wait_until(lambda: "admitted to working memory" in missed.text)
    missed.stop(signal.SIGINT)
    assert "captured" not in missed.text
    assert events[2]["data"]["log_id"] in missed.text


def read_json_lines(running: Running) -> list[dict[str, Any]]:
    return [json.loads(line) for line in running.text.splitlines()]


def test_without_a_server_the_command_follows_the_stores(program: Program) -> None:
    following = program.chinese().start("events", "-g", "audit")
    following.wait_until(lambda: "正在跟踪该群组的事件" in following.text)
    program.good("ingest", "-g", "audit", TEXT.format(number=7))
    following.wait_until(lambda: "已晋升到长期记忆" in following.text)
    assert following.stop(signal.SIGINT) == 130


def test_an_agent_on_the_command_line_gets_nothing_of_review(program: Program) -> None:
    following = program.but(CLEARWELL_ACTOR="agent").start("events", "-g", "audit", "--json")
    following.wait_until(lambda: "subscribed" in following.text)
    program.good("tombstone", "add", "-g", "audit", "--reason", "wrong", "a value that is rejected")
    program.good("ingest", "-g", "audit", TEXT.format(number=8))
    following.wait_until(lambda: "promoted" in following.text)
    following.stop(signal.SIGINT)
    assert [event["type"] for event in read_json_lines(following)] == ["subscribed", "promoted"]
    assert "local:" not in following.text


def test_streams_end_when_the_server_stops(serving: Serving) -> None:
    async def check() -> float:
        async with AsyncExitStack() as stack:
            streams = [await stack.enter_async_context(follow(serving)) for _ in range(6)]
            for lines in streams:
                await read_until(lines, "subscribed")
            started = time.monotonic()
            serving.process.send_signal(signal.SIGTERM)
            for lines in streams:
                assert [line async for line in lines if line.startswith("event")] == []
            return time.monotonic() - started

    assert asyncio.run(check()) < 5
    assert serving.process.wait(60) == 0
    assert "Traceback" not in serving.errors.read_text()
    until(lambda: "has stopped" in serving.text)
