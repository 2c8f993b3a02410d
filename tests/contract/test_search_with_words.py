"""Search by words and vectors: the real statement gives what the twin computes plainly."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from clearwell.flow.retrieval.bm25 import Bm25, analyse_query
from clearwell.ports import Fusion, SearchQuery, Stores
from clearwell.records import Memory, Promotion
from clearwell.testing import MemoryLongTerm
from tests.contract.ports import promote, promotion, unit

SAID = [
    ("s1", "Ann", "The invoice service moved to Kafka in May."),
    ("s1", "Bob", "Why did you move it?"),
    ("s1", "Ann", "Because RabbitMQ lost messages twice."),
    ("s1", "Bob", "我们周五在上海开会。"),
    ("s2", "小王", "数据库迁移到了新集群，版本是v2.0.1。"),
    ("s2", "Bob", "Who signed it off?"),
    (None, None, "Release v2.0.1 is frozen."),
    (None, None, "Release notes are written by Ann?"),
]
USUAL = Fusion()
QUESTIONS = [
    *["Why was Kafka chosen?", "What did Ann say of messages?", "小王说了什么？", "v2.0.1", "上海的会议", "the of"],
    *["Did Ann and Bob meet?", "xylophone"],
]


def said(number: int, agent_id: str | None = None) -> tuple[Promotion, list[Memory]]:
    session, author, text = SAID[number % len(SAID)]
    decided, chunks = promotion(number + 1, vectors=[unit(number, tilt=0.3)], agent_id=agent_id)
    return decided, [replace(chunk, session_id=session, author=author, content=text) for chunk in chunks]


def query(text: str, *, fusion: Fusion = USUAL, axis: int = 0, agent_id: str | None = None) -> SearchQuery:
    return SearchQuery(
        group_id="g",
        embedding=unit(axis),
        model="m",
        limit=10,
        agent_id=agent_id,
        terms=analyse_query(text),
        fusion=fusion,
    )


async def found(stores: Stores, wanted: SearchQuery) -> list[int]:
    return [one.memory.id.int - 1001 for one in await stores.longterm.search(wanted)]


@pytest.mark.parametrize("text", QUESTIONS)
async def test_both_stores_rank_alike_however_the_memories_came(stores: Stores, text: str) -> None:
    for start, end in ((0, 1), (1, 4), (4, 8)):
        await promote(stores, "g", [said(number) for number in range(start, end)])
    await promote(stores, "g", [said(number, "a1") for number in range(8, 11)])
    plain = MemoryLongTerm(Bm25())
    plain.hold([said(number, "a1" if number >= 8 else None) for number in range(11)])
    for agent_id in (None, "a1"):
        wanted = query(text, agent_id=agent_id)
        expected = {one.memory.id: one.rank for one in await plain.search(wanted)}
        ranked = {one.memory.id: one.rank for one in await stores.longterm.search(wanted)}
        assert ranked == pytest.approx(expected, abs=2e-3)


async def test_words_bring_what_the_vector_does_not(stores: Stores) -> None:
    await promote(stores, "g", [said(number) for number in range(7)])
    assert (await found(stores, query("RabbitMQ", axis=5)))[0] == 2
    assert set((await found(stores, query("v2.0.1", axis=1)))[:2]) == {4, 6}
    assert (await found(stores, query("上海", axis=1)))[0] == 3


async def test_a_query_without_known_words_is_answered_by_vectors(stores: Stores) -> None:
    await promote(stores, "g", [said(number) for number in range(7)])
    alone = Fusion(author=0, neighbour=0, answer=0, session=0)
    for text in ("xylophone", "the of", "？"):
        assert (await found(stores, query(text, fusion=alone, axis=6)))[0] == 6


async def test_a_memory_is_found_by_its_neighbours_words(stores: Stores) -> None:
    await promote(stores, "g", [said(number) for number in range(2)])
    await promote(stores, "g", [said(2)])
    only_words = Fusion(dense=0, author=0, neighbour=0, answer=0, session=0)
    assert await found(stores, query("RabbitMQ", fusion=only_words)) == [2, 0, 1]


async def test_an_agents_own_memory_is_no_neighbour_of_the_groups(stores: Stores) -> None:
    await promote(stores, "g", [said(1), said(2, "a1")])
    only_words = Fusion(dense=0, author=0, neighbour=0, answer=0, session=0)
    (only,) = await stores.longterm.search(query("RabbitMQ", fusion=only_words))
    assert only.rank == pytest.approx(0)


async def test_the_one_speaker_who_is_named_comes_first(stores: Stores) -> None:
    await promote(stores, "g", [said(number) for number in range(7)])
    only_names = Fusion(dense=0, lexical=0, neighbour=0, answer=0, session=0)
    assert await found(stores, query("what did ANN say?", fusion=only_names)) == [0, 2, 1, 3, 4, 5, 6]
    assert await found(stores, query("小王说了什么", fusion=only_names)) == [4, 0, 1, 2, 3, 5, 6]
    assert await found(stores, query("Ann and Bob, annual", fusion=only_names)) == list(range(7))


async def test_what_follows_a_question_is_lifted_by_it(stores: Stores) -> None:
    await promote(stores, "g", [said(number) for number in range(3)])
    only = Fusion(dense=0, author=0, neighbour=0, session=0, answer=10)
    best, *_ = await stores.longterm.search(replace(query("why did you move it", fusion=only), explain=True))
    assert best.memory.id.int - 1001 == 2
    assert best.parts is not None
    assert best.parts.answer > 0


async def test_memories_that_contradict_each_other_say_so_while_both_are_valid(stores: Stores) -> None:
    await promote(stores, "g", [said(0), said(1), said(2, "a1")])
    one, two, own = (UUID(int=1001 + number) for number in range(3))
    at = datetime(2026, 5, 1, tzinfo=UTC)

    async def conflicts(agent_id: str | None = None) -> dict[UUID, tuple[UUID, ...]]:
        return {
            one.memory.id: one.conflicts_with for one in await stores.longterm.search(query("Kafka", agent_id=agent_id))
        }

    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_conflicts([(one, two), (own, one)], at=at)
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_conflicts([(two, one)], at=at)
    assert await conflicts() == {one: (two,), two: (one,)}
    assert await conflicts("a1") == {one: (two, own), two: (one,), own: (one,)}
    async with stores.decisions.transaction("g") as transaction:
        await transaction.withdraw_memories([two], at=at)
    assert await conflicts() == {one: ()}
    async with stores.decisions.transaction("g") as transaction:
        await transaction.restore_memories([two], at=at)
    assert (await conflicts())[one] == (two,)
