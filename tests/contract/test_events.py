"""Streams of events: in order, each group alone, resumable, bounded."""

from dataclasses import replace
from datetime import timedelta

import redis

from clearwell.ports import BEGINNING, EventPage, Stores
from clearwell.records import Event, EventType
from clearwell.settings import Settings
from tests.contract.ports import START


def event(number: int, group_id: str = "g") -> Event:
    return Event(
        type=EventType.ADMITTED,
        group_id=group_id,
        at=START + timedelta(milliseconds=number),
        agent_id="a1",
        session_id="会话 1",
        node_id=None,
        data={"number": number, "flags": ["conflict"], "nested": {"é": None}},
    )


async def read(stores: Stores, after: str, group_id: str = "g", *, limit: int = 100) -> EventPage:
    page = await stores.events.read(group_id, after=after, limit=limit)
    assert page is not None
    return page


def numbers(page: EventPage) -> list[object]:
    return [one.data["number"] for one in page.events]


async def test_an_event_comes_back_as_it_was_appended_with_an_id(stores: Stores) -> None:
    await stores.events.append([event(1)])
    (found,) = (await read(stores, BEGINNING)).events
    assert found.id is not None
    assert found == replace(event(1), id=found.id)


async def test_events_are_read_in_order_page_by_page(stores: Stores) -> None:
    await stores.events.append([event(number) for number in range(5)])
    first = await read(stores, BEGINNING, limit=3)
    assert numbers(first) == [0, 1, 2]
    assert first.last == first.events[-1].id
    second = await read(stores, first.last, limit=3)
    assert numbers(second) == [3, 4]
    assert await stores.events.find_last("g") == second.last
    assert await read(stores, second.last) == EventPage(events=[], last=second.last)


async def test_an_empty_stream_has_a_beginning_to_continue_from(stores: Stores) -> None:
    place = await stores.events.find_last("g")
    assert place == BEGINNING
    assert await read(stores, place) == EventPage(events=[], last=place)
    await stores.events.append([event(1)])
    assert numbers(await read(stores, place)) == [1]


async def test_groups_have_streams_of_their_own(stores: Stores) -> None:
    groups = ("g", "g:2", "*", "{g}", "组 一")
    await stores.events.append([event(number, group_id) for number, group_id in enumerate(groups)])
    for number, group_id in enumerate(groups):
        assert numbers(await read(stores, BEGINNING, group_id)) == [number]


async def test_an_unknown_id_is_recognised(stores: Stores) -> None:
    await stores.events.append([event(1), event(2)])
    for unknown in ("1-5", "9999999999999-0", "9999999999999999999-9999999999999999999"):
        assert await stores.events.read("g", after=unknown, limit=10) is None
    assert await stores.events.read("other", after=await stores.events.find_last("g"), limit=10) is None


async def test_old_events_are_trimmed_and_their_ids_unknown(stores: Stores) -> None:
    await stores.events.append([event(1)])
    oldest = await stores.events.find_last("g")
    for start in range(0, 5_200, 400):
        await stores.events.append([event(start + number) for number in range(400)])
    assert await stores.events.read("g", after=oldest, limit=10) is None
    assert await stores.events.read("g", after=BEGINNING, limit=10) is None
    newest = await stores.events.find_last("g")
    await stores.events.append([event(6_000)])
    assert numbers(await read(stores, newest)) == [6_000]


async def test_a_deleted_stream_is_gone_and_its_ids_unknown(stores: Stores) -> None:
    await stores.events.append([event(1), event(2, "h")])
    last = await stores.events.find_last("g")
    await stores.events.delete("g")
    assert await stores.events.read("g", after=last, limit=10) is None
    assert await stores.events.find_last("g") == BEGINNING
    assert numbers(await read(stores, BEGINNING, "h")) == [2]
    await stores.events.append([event(3)])
    assert numbers(await read(stores, BEGINNING)) == [3]


async def test_appending_nothing_is_allowed(stores: Stores) -> None:
    await stores.events.append([])
    assert await stores.events.find_last("g") == BEGINNING


async def test_a_key_of_another_type_is_replaced_by_the_stream(real_stores: Stores, redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        client.set("events:g", "written by another program")
    await real_stores.events.append([event(1), event(2, "h")])
    assert numbers(await read(real_stores, BEGINNING)) == [1]
    assert numbers(await read(real_stores, BEGINNING, "h")) == [2]


async def test_a_stream_expires_after_its_last_event(real_stores: Stores, redis_url: str) -> None:
    await real_stores.events.append([event(1)])
    with redis.Redis.from_url(redis_url) as client:
        assert 0 < int(str(client.pttl("events:g"))) <= Settings().event_stream_seconds * 1_000
