"""Working memory: exactly the newest 50, exactly 24 hours each, each once, each group alone."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import numpy as np

from clearwell.ports import Stores
from clearwell.records import EntryStatement
from clearwell.testing import ManualClock
from tests.contract.ports import entry, unit


async def test_an_entry_comes_back_as_it_was_pushed(stores: Stores) -> None:
    await stores.working.push(entry(1))
    (found,) = await stores.working.entries("g")
    assert found == entry(1)
    assert found.embedding is not None
    assert np.allclose(found.embedding, unit(1))


async def test_the_statements_of_an_entry_come_back_with_their_vectors(stores: Stores) -> None:
    vectors = [unit(1), unit(2, tilt=0.3), -unit(5, tilt=0.01)]
    statements = tuple(
        EntryStatement(start=number, end=number + 2, embedding=vector) for number, vector in enumerate(vectors)
    )
    await stores.working.push(replace(entry(1), statements=statements))
    (found,) = await stores.working.entries("g")
    assert found.statements == statements
    for statement, vector in zip(found.statements, vectors, strict=True):
        assert np.allclose(statement.embedding, vector, atol=0.005)


async def test_an_entry_that_is_pushed_again_comes_back_as_it_is_now(stores: Stores) -> None:
    for content in ("as it was", "as it is now"):
        await stores.working.push(replace(entry(1), content=content))
        assert [one.content for one in await stores.working.entries("g")] == [content]
    for flags in ((), ("conflict",)):
        await stores.working.replace("g", [replace(entry(1), flags=flags), entry(2)])
        assert (await stores.working.entries("g"))[0].flags == flags


async def test_the_newest_come_first_and_the_51st_leaves(stores: Stores) -> None:
    for number in range(60):
        await stores.working.push(entry(number))
    assert [one.id.int for one in await stores.working.entries("g")] == list(range(59, 9, -1))


async def test_an_agent_that_floods_replaces_its_own_entries(stores: Stores) -> None:
    for number in range(5):
        await stores.working.push(replace(entry(number), agent_id="quiet"))
        await stores.working.push(replace(entry(5 + number), agent_id=None))
    for number in range(100, 300):
        await stores.working.push(replace(entry(number), agent_id='flooder "agent_key":""'))
    found = [one.id.int for one in await stores.working.entries("g")]
    assert found == [*range(299, 259, -1), 9, 4, 8, 3, 7, 2, 6, 1, 5, 0]


async def test_an_agent_keeps_half_of_the_entries_while_others_need_the_room(stores: Stores) -> None:
    for number in range(60):
        await stores.working.push(replace(entry(number), agent_id="first"))
    for number in range(100, 160):
        await stores.working.push(replace(entry(number), agent_id="second"))
    found = [one.id.int for one in await stores.working.entries("g")]
    assert found == [*range(159, 134, -1), *range(59, 34, -1)]


async def test_a_list_is_replaced_by_the_entries_that_pushing_keeps(stores: Stores) -> None:
    agents = ("first", "first", "second", "first", "third", "first", "first")
    pushed = [replace(entry(number), agent_id=agents[number % 7]) for number in range(150)]
    for one in pushed:
        await stores.working.push(one)
    kept = await stores.working.entries("g")
    await stores.working.replace("g", pushed[::-1])
    assert await stores.working.entries("g") == kept
    assert len(kept) == 50


async def test_pushing_an_entry_again_leaves_it_there_once(stores: Stores) -> None:
    for number in (1, 2, 1):
        await stores.working.push(entry(number))
    assert [one.id.int for one in await stores.working.entries("g")] == [1, 2]


async def test_concurrent_pushes_lose_nothing(stores: Stores) -> None:
    await asyncio.gather(*(stores.working.push(entry(number)) for number in range(50)))
    assert {one.id.int for one in await stores.working.entries("g")} == set(range(50))


async def test_an_entry_is_never_returned_after_it_expired(stores: Stores, clock: ManualClock) -> None:
    await stores.working.push(entry(1, now=clock.now()))
    clock.forward(timedelta(hours=12))
    await stores.working.push(entry(2, now=clock.now()))
    clock.forward(timedelta(hours=12) - timedelta(milliseconds=1))
    assert [one.id.int for one in await stores.working.entries("g")] == [2, 1]
    clock.forward(timedelta(milliseconds=1))
    assert [one.id.int for one in await stores.working.entries("g")] == [2]
    clock.forward(timedelta(hours=12))
    assert await stores.working.entries("g") == []


async def test_an_entry_that_expired_before_it_came_is_not_pushed(stores: Stores, clock: ManualClock) -> None:
    await stores.working.push(entry(1, now=clock.now() - timedelta(hours=24)))
    assert await stores.working.entries("g") == []


async def test_cleanup_removes_what_expired_and_counts_it(stores: Stores, clock: ManualClock) -> None:
    await stores.working.push(entry(1, "g", now=clock.now(), lives=timedelta(hours=1)))
    await stores.working.push(entry(2, "g", now=clock.now()))
    await stores.working.push(entry(3, "h", now=clock.now(), lives=timedelta(hours=1)))
    clock.forward(timedelta(hours=2))
    assert await stores.working.cleanup("g") == 1
    assert await stores.working.cleanup() == 1
    assert await stores.working.cleanup() == 0
    assert [one.id.int for one in await stores.working.entries("g")] == [2]


async def test_groups_do_not_see_each_other(stores: Stores) -> None:
    for group_id in ("g", "g:2", "*", "{g}", "组 一"):
        await stores.working.push(entry(len(group_id), group_id))
        assert [one.group_id for one in await stores.working.entries(group_id)] == [group_id]


async def test_one_entry_can_be_removed(stores: Stores) -> None:
    await stores.working.push(entry(1))
    await stores.working.push(entry(2))
    assert await stores.working.remove("g", UUID(int=1))
    assert not await stores.working.remove("g", UUID(int=1))
    assert not await stores.working.remove("other", UUID(int=2))
    assert [one.id.int for one in await stores.working.entries("g")] == [2]
