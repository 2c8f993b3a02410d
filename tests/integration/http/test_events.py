"""Events over HTTP with a real server: resumed, reset, limited by rights, and harmless when Valkey hangs."""

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import httpx
import psutil
import pytest
import redis

from clearwell.client.client import AsyncClient
from clearwell.embedded import EmbeddedValkey
from clearwell.models.offline import OfflineEmbedder
from clearwell.records import Event, EventType, NewCapture, Principal, Right
from clearwell.settings import Settings
from tests.conftest import opened
from tests.integration.http.event_streams import EventServer, event_server
from tests.integration.http.serving import LONG, new_group
from tests.path import OTHER
from tests.waiting import until

SECOND = "审计意见：核心数据库的备份每周恢复演练一次，恢复时间不得超过三十分钟。"


@pytest.fixture(scope="module")
async def server(module_settings: Settings) -> AsyncIterator[EventServer]:
    async with event_server(module_settings) as running:
        yield running


@pytest.fixture
async def own_server(settings: Settings) -> AsyncIterator[EventServer]:
    """A server whose database has no keys but those of the test."""
    async with event_server(settings) as running:
        yield running


async def make_key(server: EventServer, *rights: Right, group: str = "g", agent_id: str | None = None) -> str:
    _, secret = await server.app.state.clearwell.keys.create(
        name="test", rights=frozenset(rights), groups=frozenset({group}), agent_id=agent_id, by=Principal.local("test")
    )
    return f"Bearer {secret}"


async def test_events_arrive_as_they_happen(server: EventServer) -> None:
    group = new_group()
    async with server.stream(group) as stream:
        assert stream.answer.headers["content-type"].startswith("text/event-stream")
        first = await stream.next()
        assert (first.type, first.fields["retry"]) == ("subscribed", "1000")
        receipt = await server.capture(group, LONG)
        captured, admitted = await stream.take(2)
        assert (captured.type, admitted.type) == ("captured", "admitted")
        assert captured.id == captured.view["id"]
        assert captured.view["agent_id"] == "a1"
        assert captured.data["log_id"] == admitted.data["log_id"] == receipt["id"]
        assert LONG[:6] not in str(captured.view) + str(admitted.view)


async def test_a_reader_continues_where_it_was_interrupted(server: EventServer) -> None:
    group = new_group()
    async with server.stream(group) as stream:
        (subscribed,) = await stream.take(1)
    assert subscribed.id is not None
    await server.capture(group, LONG)
    async with server.stream(group, Last_Event_ID=subscribed.id) as stream:
        again, captured, admitted = await stream.take(3)
        assert (again.type, captured.type, admitted.type) == ("subscribed", "captured", "admitted")
    assert captured.id is not None
    async with server.stream(group, after=captured.id) as stream:
        assert await stream.types(2) == ["subscribed", "admitted"]
    async with server.stream(group, after="5-5", Last_Event_ID=captured.id) as stream:
        assert await stream.types(2) == ["subscribed", "admitted"]


async def test_a_reader_with_an_unknown_id_is_reset_and_goes_on(server: EventServer) -> None:
    group = new_group()
    for unknown in ("7-7", "nonsense", "99999999999999999-0"):
        async with server.stream(group, Last_Event_ID=unknown) as stream:
            reset = await stream.next()
            assert (reset.type, reset.data) == ("reset", {"reason": "id_unknown"})
            await server.capture(group, f"{SECOND} {unknown}")
            assert await stream.types(1) == ["captured"]


async def test_the_promotion_and_the_retrieval_of_another_process_arrive(
    server: EventServer, module_settings: Settings, offline_embedder: OfflineEmbedder
) -> None:
    group = new_group()
    async with server.stream(group) as stream, opened(module_settings, offline_embedder) as other:
        await stream.next()
        memory = other.memory.acting_as(Principal.local())
        promoted = await memory.promote(LONG, group=group)
        await memory.retrieve("支付网关什么时候会超时？", group=group)
        first, second = await stream.take(2)
        assert (first.type, first.data["memory_id"]) == ("promoted", str(promoted.id))
        assert (second.type, second.data["ids"]) == ("memory_retrieved", [str(promoted.id)])


async def test_what_is_wrong_with_a_request_is_answered_as_a_problem(own_server: EventServer) -> None:
    assert (await own_server.get("/api/v1/events")).status_code == 422
    assert (await own_server.get("/api/v1/events", group_id="")).status_code == 422
    assert (await own_server.get("/api/v1/events", group_id="g", unknown="1")).status_code == 422
    other = await make_key(own_server, Right.READ, group="h")
    capturing = await make_key(own_server, Right.CAPTURE)
    assert (await own_server.get("/api/v1/events", group_id="g")).status_code == 401
    for key in (other, capturing):
        refused = await own_server.get("/api/v1/events", key, group_id="g")
        assert refused.status_code == 403


async def test_an_agents_key_gets_only_what_the_agent_may_know(own_server: EventServer) -> None:
    first = await make_key(own_server, Right.CAPTURE, Right.READ, agent_id="a1")
    second = await make_key(own_server, Right.CAPTURE, Right.READ, agent_id="a2")
    person = await make_key(own_server, Right.REVIEW, Right.READ, Right.CAPTURE)
    memory = own_server.app.state.clearwell.memory.acting_as(Principal.local())
    async with (
        own_server.stream("g", Authorization=second) as of_second,
        own_server.stream("g", Authorization=person) as of_person,
    ):
        assert (await of_second.types(1), await of_person.types(1)) == (["subscribed"], ["subscribed"])
        await own_server.capture("g", "too short", Authorization=first)
        await own_server.capture("g", LONG, Authorization=first)
        await memory.add_tombstone("a rejected value", group="g", reason="wrong")
        await memory.promote(SECOND, group="g")
        seen = await of_second.take(2)
        assert [message.type for message in seen] == ["admitted", "promoted"]
        assert "by" not in seen[1].data
        assert await of_person.types(6) == [
            "captured",
            "refused",
            "captured",
            "admitted",
            "tombstone_added",
            "promoted",
        ]


async def test_the_stream_of_a_revoked_key_ends(own_server: EventServer) -> None:
    keys = own_server.app.state.clearwell.keys
    key, secret = await keys.create(
        name="test", rights=frozenset({Right.READ}), groups=None, agent_id=None, by=Principal.local("test")
    )
    memory = own_server.app.state.clearwell.memory.acting_as(Principal.local())
    async with own_server.stream("g", Authorization=f"Bearer {secret}") as stream:
        await stream.next()
        await keys.revoke(key.id, by=Principal.local("test"))
        ending = asyncio.create_task(stream.has_ended())

        async def ended() -> bool:
            await memory.retrieve("anything", group="g")
            return ending.done()

        await until(ended)
        assert ending.result()


async def test_the_stream_of_a_revoked_key_ends_without_an_event(own_server: EventServer) -> None:
    keys = own_server.app.state.clearwell.keys
    key, secret = await keys.create(
        name="test", rights=frozenset({Right.READ}), groups=None, agent_id=None, by=Principal.local("test")
    )
    async with own_server.stream("g", Authorization=f"Bearer {secret}") as stream:
        await stream.next()
        await keys.revoke(key.id, by=Principal.local("test"))
        assert await asyncio.wait_for(stream.has_ended(), 20)


async def test_readers_are_limited_and_a_reader_that_leaves_makes_room(settings: Settings) -> None:
    async with event_server(settings.model_copy(update={"event_readers_max": 1})) as server:
        async with server.stream("g") as stream:
            await stream.next()
            refused = await server.get("/api/v1/events", group_id="g")
            assert refused.status_code == 503
            assert refused.json()["type"].endswith("events_too_many_readers")
            assert refused.headers["Retry-After"] == "5"

        async def admitted() -> bool:
            async with (
                httpx.AsyncClient(base_url=server.url, trust_env=False) as client,
                client.stream("GET", "/api/v1/events", params={"group_id": "g"}) as answer,
            ):
                return answer.status_code == 200

        await until(admitted)


async def test_a_request_for_the_head_alone_ends(server: EventServer) -> None:
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=30) as client:
        answer = await client.head("/api/v1/events", params={"group_id": new_group()})
    assert (answer.status_code, answer.content) == (200, b"")


async def test_streams_hold_no_connection_to_the_database(settings: Settings) -> None:
    async with (
        event_server(settings.model_copy(update={"postgres_pool_max": 2})) as server,
        server.stream("g") as first,
        server.stream("g") as second,
        server.stream("g") as third,
    ):
        for stream in (first, second, third):
            await stream.next()
        await server.capture("g", LONG)
        for stream in (first, second, third):
            assert await stream.types(2) == ["captured", "admitted"]


async def test_while_valkey_hangs_the_stream_says_so_and_captures_go_on(settings: Settings) -> None:
    with tempfile.TemporaryDirectory(prefix="cw") as folder, EmbeddedValkey(Path(folder)) as valkey:
        own = settings.model_copy(
            update={"redis_url": Settings(redis_url=valkey.url).redis_url, "redis_timeout_seconds": 0.5}
        )
        with redis.Redis.from_url(valkey.url) as client:
            process = psutil.Process(int(client.info("server")["process_id"]))
        async with event_server(own) as server, server.stream("g") as stream:
            await stream.next()
            os.kill(process.pid, signal.SIGSTOP)
            try:
                degraded = await stream.next()
                assert (degraded.type, degraded.id) == ("degraded", None)
                async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=30) as client:
                    answer = await client.post("/api/v1/captures", json={"group_id": "g", "content": LONG})
                    assert answer.status_code == 201
                await until(lambda: _lost(server))
            finally:
                os.kill(process.pid, signal.SIGCONT)
            assert await stream.types(1) == ["recovered"]
            await server.capture("g", SECOND)
            following = await stream.types(1)
            while following[-1] != "admitted":
                following += await stream.types(1)
            assert "reset" in following
            metrics = (await server.get("/metrics")).text
            assert "clearwell_events_lost_total" in metrics


async def _lost(server: EventServer) -> bool:
    return bool(server.app.state.clearwell.counters.lost_events)


async def test_the_client_connects_again_and_misses_nothing(
    settings: Settings, offline_embedder: OfflineEmbedder
) -> None:
    seen: list[Event] = []
    async with opened(settings, offline_embedder) as other:
        memory = other.memory.acting_as(Principal.local())
        async with event_server(settings) as server:
            port = int(server.url.rpartition(":")[2])
            client = AsyncClient(server.url, agent=False, retries=1)
            following = asyncio.create_task(_collect(client, seen))
            await until(lambda: _has(seen, EventType.SUBSCRIBED))
            await memory.promote(LONG, group="g")
            await until(lambda: _has(seen, EventType.PROMOTED))
        await until(lambda: _has(seen, EventType.DEGRADED))
        await memory.capture(NewCapture(content=OTHER, group_id="g"), wait=True)
        await other.events.flush()
        async with event_server(settings, port=port):
            await until(lambda: _has(seen, EventType.ADMITTED))
            following.cancel()
            await asyncio.wait([following])
            await client.close()
    assert [event.type for event in seen] == [
        EventType.SUBSCRIBED,
        EventType.PROMOTED,
        EventType.DEGRADED,
        EventType.RECOVERED,
        EventType.CAPTURED,
        EventType.ADMITTED,
    ]


async def _collect(client: AsyncClient, seen: list[Event]) -> None:
    async with aclosing(client.events(group="g")) as events:
        async for event in events:
            seen.append(event)


async def _has(seen: list[Event], event_type: EventType) -> bool:
    return any(event.type is event_type for event in seen)
