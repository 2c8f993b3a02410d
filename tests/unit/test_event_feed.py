"""Following events on twins: where a reader begins, how it continues, when it ends, and what it may know."""

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest

from clearwell.errors import NotAllowed, TooManyReaders, TooManyRequests, Unavailable
from clearwell.ports import BEGINNING
from clearwell.records import Event, EventType, Principal, Right
from clearwell.settings import Settings
from tests.events import WeakEvents, published, take
from tests.path import AGENT, LONG, OTHER, Path, said
from tests.waiting import until

THIRD = "Customers in Japan are billed in yen since the second quarter, and no longer in dollars."


async def test_a_reader_is_subscribed_and_gets_what_happens_then() -> None:
    path = Path()
    await path.memory.promote(LONG, group="g")
    await path.program.events.flush()
    async with aclosing(path.memory.events(group="g")) as events:
        (subscribed,) = await take(events, 1)
        assert subscribed.type is EventType.SUBSCRIBED
        await path.memory.promote(OTHER, group="g")
        (promoted,) = await take(events, 1)
        assert promoted.type is EventType.PROMOTED
        assert promoted.id not in (None, subscribed.id)


async def test_a_reader_continues_after_the_last_event_that_it_saw() -> None:
    path = Path()
    async with aclosing(path.memory.events(group="g")) as events:
        (subscribed,) = await take(events, 1)
    await path.memory.capture(said(), wait=True)
    captured, admitted = await published(path)
    for last, missed in ((subscribed.id, [captured, admitted]), (captured.id, [admitted])):
        async with aclosing(path.memory.events(group="g", after=last)) as events:
            first, *rest = await take(events, 1 + len(missed))
            assert (first.type, first.id) == (EventType.SUBSCRIBED, last)
            assert rest == missed


@pytest.mark.parametrize("unknown", ["17-0", "", "nonsense", "1-2-3", "١-١", "9" * 25 + "-0"])
async def test_a_reader_with_an_unknown_id_is_reset_and_goes_on(unknown: str) -> None:
    path = Path()
    await path.memory.promote(LONG, group="g")
    (known,) = await published(path)
    async with aclosing(path.memory.events(group="g", after=unknown)) as events:
        (reset,) = await take(events, 1)
        assert (reset.type, reset.id) == (EventType.RESET, known.id)
        await path.memory.promote(OTHER, group="g")
        assert [event.type for event in await take(events, 1)] == [EventType.PROMOTED]


async def test_a_reader_is_reset_when_the_stream_is_deleted() -> None:
    path = Path()
    await path.memory.promote(LONG, group="g")
    await path.program.events.flush()
    async with aclosing(path.memory.events(group="g")) as events:
        await take(events, 1)
        await path.events.delete("g")
        assert [event.type for event in await take(events, 1)] == [EventType.RESET]


async def test_a_reader_is_told_of_an_outage_and_of_its_end() -> None:
    store = WeakEvents()
    path = Path(event_store=store)
    async with aclosing(path.memory.events(group="g")) as events:
        await take(events, 1)
        store.down = True
        (degraded,) = await take(events, 1)
        assert (degraded.type, degraded.id) == (EventType.DEGRADED, None)
        assert degraded.data == {"reason": "working_unavailable"}
        store.down = False
        assert [event.type for event in await take(events, 1)] == [EventType.RECOVERED]


async def test_readers_are_limited_and_leave_room_when_they_end() -> None:
    path = Path(Settings(event_readers_max=1))
    async with aclosing(path.memory.events(group="g")) as events:
        await take(events, 1)
        with pytest.raises(TooManyReaders):
            await anext(path.memory.events(group="g"))
    async with aclosing(path.memory.events(group="g")) as events:
        await take(events, 1)


async def test_one_key_does_not_take_the_place_of_all_readers() -> None:
    path = Path(Settings(event_readers_max=3, event_readers_per_key=2))
    bot, person = path.memory.acting_as(AGENT), path.memory
    async with aclosing(bot.events(group="g")) as first, aclosing(bot.events(group="g")) as second:
        await take(first, 1)
        await take(second, 1)
        with pytest.raises(TooManyRequests) as refused:
            await anext(bot.events(group="g"))
        assert (refused.value.code, refused.value.retry_after) == ("events_too_many_own", 5)
        async with aclosing(person.events(group="g")) as other:
            await take(other, 1)
    async with aclosing(bot.events(group="g")) as first:
        await take(first, 1)


async def test_readers_end_with_the_program() -> None:
    path = Path()
    seen = []
    async for event in path.memory.events(group="g"):
        seen.append(event.type)
        path.program.feed.close()
    assert seen == [EventType.SUBSCRIBED]
    with pytest.raises(Unavailable):
        await anext(path.memory.events(group="g"))


async def test_a_callback_gets_the_events_of_its_block() -> None:
    path = Path()
    heard: list[EventType] = []

    async def hear(event: Event) -> None:
        heard.append(event.type)

    async with path.memory.on_event(hear, group="g"):
        assert heard == [EventType.SUBSCRIBED]
        await path.memory.promote(LONG, group="g")
        await until(lambda: asyncio.sleep(0, result=len(heard) == 2))
    assert heard == [EventType.SUBSCRIBED, EventType.PROMOTED]


async def test_the_error_of_a_callback_is_raised_when_its_block_ends() -> None:
    path = Path()

    def fail(event: Event) -> None:
        if event.type is EventType.PROMOTED:
            path.program.feed.close()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        async with path.memory.on_event(fail, group="g"):
            await path.memory.promote(LONG, group="g")
            async for _ in path.memory.events(group="g", after=BEGINNING):
                pass


# who may read what


def agent(agent_id: str | None, *, group: str = "g") -> Principal:
    return Principal(
        name="bot", rights=frozenset({Right.CAPTURE, Right.READ}), groups=frozenset({group}), agent_id=agent_id
    )


@pytest.mark.parametrize(
    "caller",
    [
        agent(None, group="other"),
        Principal(name="writer", rights=frozenset({Right.CAPTURE}), groups=frozenset({"g"})),
    ],
)
async def test_a_key_of_another_group_or_without_the_right_is_refused(caller: Principal) -> None:
    with pytest.raises(NotAllowed):
        Path().memory.acting_as(caller).events(group="g")


@pytest.mark.parametrize("right", [Right.READ, Right.REVIEW, Right.ADMIN])
async def test_each_right_to_read_the_group_follows_its_events(right: Right) -> None:
    caller = Principal(name="key", rights=frozenset({right}), groups=frozenset({"g"}))
    async with aclosing(Path().memory.acting_as(caller).events(group="g")) as events:
        await take(events, 1)


async def test_the_events_of_outputs_without_a_group_are_for_reviewers() -> None:
    path = Path()
    everywhere = Principal(name="bot", rights=frozenset({Right.READ}))
    with pytest.raises(NotAllowed):
        path.memory.acting_as(everywhere).events(group="unassigned")
    async with aclosing(path.memory.events(group="unassigned")) as events:
        await take(events, 1)


async def make_every_event(path: Path) -> None:
    await path.memory.capture(said(), wait=True)
    await path.memory.capture(said("too short"), wait=True)
    await path.memory.acting_as(agent("a2")).capture(replace(said("short too"), agent_id="a2"), wait=True)
    first = await path.memory.promote(OTHER, group="g")
    await path.memory.promote(THIRD, group="g", supersedes=first.id)
    await path.memory.promote(f"{THIRD} Only a2 knows.", group="g", agent_id="a2")
    await path.memory.add_tombstone("a value that is rejected", group="g", reason="wrong")
    await path.memory.acting_as(agent("a2")).retrieve("yen", group="g")


async def seen_by(path: Path, caller: Principal) -> list[tuple[EventType, str | None]]:
    all_events = await published(path)
    memory = path.memory.acting_as(caller)
    events = []
    async with aclosing(memory.events(group="g", after=BEGINNING)) as follow:
        await anext(follow)
        path.program.feed.close()
        async for event in follow:
            assert "by" not in event.data or Right.REVIEW in caller.rights
            events.append((event.type, event.agent_id))
    assert len(events) <= len(all_events)
    return events


async def test_a_reviewer_gets_every_event() -> None:
    path = Path()
    await make_every_event(path)
    assert len(await seen_by(path, Principal.local())) == len(await published(path))


async def test_an_agent_gets_its_own_events_and_those_of_memory() -> None:
    path = Path()
    await make_every_event(path)
    assert await seen_by(path, agent("a1")) == [
        (EventType.CAPTURED, "a1"),
        (EventType.ADMITTED, "a1"),
        (EventType.CAPTURED, "a1"),
        (EventType.REFUSED, "a1"),
        (EventType.PROMOTED, None),
        (EventType.PROMOTED, None),
        (EventType.SUPERSEDED, None),
    ]


async def test_a_key_of_no_agent_gets_the_events_of_all_agents_but_none_of_review() -> None:
    path = Path()
    await make_every_event(path)
    found = [event_type for event_type, _ in await seen_by(path, AGENT)]
    assert found.count(EventType.CAPTURED) == 3
    assert found.count(EventType.PROMOTED) == 3
    assert EventType.MEMORY_RETRIEVED in found
    assert EventType.TOMBSTONE_ADDED not in found
