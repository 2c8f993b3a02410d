"""What retrieval gave is remembered on a real server: at once, at the end, and not without limit."""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from clearwell.app import Clearwell, SystemClock
from clearwell.errors import WorkingMemoryUnavailable
from clearwell.models import OfflineEmbedder
from clearwell.records import CaptureReceipt, Outcome
from clearwell.settings import Settings
from clearwell.stores.valkey import ValkeyRecalls, open_client
from clearwell.stores.valkey.recalls import KEYS, MOST
from tests.conftest import opened
from tests.path import AGENT, LONG, PERSON, said

ECHO = f"As noted: {LONG}"


def echoes(receipt: CaptureReceipt) -> bool:
    return any(one.check == "echo" and one.outcome is Outcome.FAIL for one in receipt.verdicts)


async def test_an_echo_right_after_retrieval_is_known(clearwell: Clearwell) -> None:
    await clearwell.memory.acting_as(PERSON).promote(LONG, group="g")
    await clearwell.memory.acting_as(AGENT).retrieve("payment service", group="g")
    assert echoes(await clearwell.memory.acting_as(AGENT).capture(said(ECHO), wait=True))


async def test_what_was_given_right_before_the_end_is_remembered(
    settings: Settings, offline_embedder: OfflineEmbedder
) -> None:
    async with opened(settings, offline_embedder) as first:
        await first.memory.acting_as(PERSON).promote(LONG, group="g")
        await first.memory.acting_as(AGENT).retrieve("payment service", group="g")
    async with opened(settings, offline_embedder) as second:
        assert echoes(await second.memory.acting_as(AGENT).capture(said(ECHO), wait=True))


async def test_the_newest_are_kept_and_for_a_time(redis_url: str) -> None:
    client = open_client(redis_url, pool_max=2, timeout_seconds=5)
    recalls = ValkeyRecalls(client, SystemClock(), remember=timedelta(hours=1))
    await recalls.record({("g", None): []})
    assert not await client.exists(KEYS + "g")
    old, new = [UUID(int=number) for number in range(300)], [UUID(int=number) for number in range(300, 300 + MOST)]
    await recalls.record({("g", "a1"): old})
    await recalls.record({("g", "a1"): new})
    assert len(await recalls.find_recalled("g", agent_id="a1")) == MOST
    assert await recalls.find_recalled("g", agent_id="a1") >= set(new[-100:])
    assert 0 < await client.pttl(KEYS + "g") <= timedelta(hours=1) // timedelta(milliseconds=1)
    await client.aclose()


async def test_recalls_of_other_groups_are_written_if_those_of_one_cannot_be(redis_url: str) -> None:
    client = open_client(redis_url, pool_max=2, timeout_seconds=5)
    await client.script_flush()  # as on a server that was restarted
    await client.set(KEYS + "broken", "not a sorted set")
    recalls = ValkeyRecalls(client, SystemClock(), remember=timedelta(hours=1))
    one, two = UUID(int=1), UUID(int=2)
    with pytest.raises(WorkingMemoryUnavailable):
        await recalls.record({("g", None): [one], ("broken", None): [one], ("h", "a1"): [two]})
    assert await recalls.find_recalled("g", agent_id=None) == {one}
    assert await recalls.find_recalled("h", agent_id="a1") == {two}
    await client.aclose()


async def test_a_server_that_does_not_answer_is_reported_in_time() -> None:
    answering = asyncio.Event()

    async def stay_silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await answering.wait()
        writer.close()

    server = await asyncio.start_server(stay_silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = open_client(f"redis://127.0.0.1:{port}", pool_max=2, timeout_seconds=0.2)
    recalls = ValkeyRecalls(client, SystemClock(), remember=timedelta(hours=1))
    with pytest.raises(WorkingMemoryUnavailable):
        await asyncio.wait_for(recalls.record({("g", None): [UUID(int=1)], ("h", None): [UUID(int=2)]}), 10)
    answering.set()
    await client.aclose()
    server.close()
