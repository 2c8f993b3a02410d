"""Long-term memory: exact search in one group, promotion all or nothing."""

from dataclasses import replace
from uuid import UUID

import pytest

from clearwell.errors import RequestInProgress
from clearwell.ports import Claim, SearchQuery, Stores
from clearwell.records import Origin, PromotedPart, Vector
from tests.contract.ports import promote, promotion, request, unit


def query(
    vector: Vector, *, group_id: str = "g", limit: int = 5, agent_id: str | None = None, model: str = "m"
) -> SearchQuery:
    return SearchQuery(group_id=group_id, embedding=vector, model=model, limit=limit, agent_id=agent_id)


async def test_a_promoted_memory_is_found_with_all_it_was_stored_with(stores: Stores) -> None:
    decided, chunks = promotion(1)
    await promote(stores, "g", [(decided, chunks)])
    (found,) = await stores.longterm.search(query(unit(1)))
    assert found.memory == chunks[0]
    assert found.similarity == pytest.approx(1.0, abs=1e-3)


async def test_the_nearest_come_first_up_to_the_limit(stores: Stores) -> None:
    tilted = [promotion(number, vectors=[unit(0, tilt=number / 10)]) for number in range(1, 8)]
    await promote(stores, "g", tilted)
    found = await stores.longterm.search(query(unit(0), limit=3))
    assert [one.memory.id.int for one in found] == [1001, 1002, 1003]
    assert await stores.longterm.search(query(unit(0), limit=0)) == []


async def test_the_nearest_of_several_vectors_are_found_at_once(stores: Stores) -> None:
    await promote(stores, "g", [promotion(1), promotion(2), promotion(3, agent_id="a1")])
    asked = [query(unit(1), limit=1), query(unit(2), limit=2), query(unit(3), limit=1, agent_id="a1")]
    found = await stores.longterm.search_nearest(asked)
    assert [[one.memory.id.int for one in each] for each in found] == [[1001], [1002, 1001], [1003]]
    assert found[0][0].similarity == pytest.approx(1.0, abs=1e-3)
    assert await stores.longterm.search_nearest([]) == []


async def test_chunks_of_one_memory_count_as_one_result(stores: Stores) -> None:
    many = promotion(1, vectors=[unit(0, tilt=number / 1000) for number in range(30)])
    await promote(stores, "g", [many, promotion(2, vectors=[unit(0, tilt=0.5)])])
    found = await stores.longterm.search(query(unit(0), limit=2))
    assert [(one.memory.id.int, one.memory.chunk_no) for one in found] == [(1001, 0), (1002, 0)]


async def test_other_groups_agents_and_models_are_not_found(stores: Stores) -> None:
    await promote(stores, "g", [promotion(1), promotion(2, agent_id="a1")])
    assert [one.memory.id.int for one in await stores.longterm.search(query(unit(1)))] == [1001]
    with_agent = await stores.longterm.search(query(unit(2), agent_id="a1"))
    assert [one.memory.id.int for one in with_agent] == [1002, 1001]
    assert len(await stores.longterm.search(query(unit(1), agent_id="a2"))) == 1
    assert await stores.longterm.search(query(unit(1), group_id="other")) == []
    assert await stores.longterm.search(query(unit(1), model="another")) == []


async def test_the_models_of_stored_vectors_are_known(stores: Stores) -> None:
    assert await stores.reembeddings.models() == {}
    await promote(stores, "g", [promotion(1)])
    assert await stores.reembeddings.models() == {"m": 8}


async def test_a_claim_is_answered_with_the_promotion(stores: Stores) -> None:
    claim = await stores.idempotency.claim(request())
    assert isinstance(claim, Claim)
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([promotion(1)])
        await transaction.store_answer(claim, ["x"])
    assert await stores.idempotency.claim(request()) == ["x"]


async def test_a_claim_that_was_lost_stores_nothing(stores: Stores) -> None:
    claim = await stores.idempotency.claim(request())
    assert isinstance(claim, Claim)
    await stores.idempotency.release(claim)
    with pytest.raises(RequestInProgress):
        async with stores.decisions.transaction("g") as transaction:
            await transaction.insert_promotions([promotion(1)])
            await transaction.store_answer(claim, ["x"])
    assert await stores.longterm.search(query(unit(1))) == []


async def test_outputs_that_were_promoted_are_known_to_whoever_sees_their_memory(stores: Stores) -> None:
    shared, own = promotion(1), promotion(2, agent_id="a1")
    outputs = [UUID(int=71), UUID(int=72), UUID(int=73)]
    for (decided, chunks), output in zip((shared, own), outputs, strict=False):
        text = replace(decided.text, origin=Origin.WORKING, origin_id=output)
        await promote(stores, "g", [(replace(decided, text=text), chunks)])
    assert await stores.longterm.find_promoted("g", outputs, agent_id=None) == {PromotedPart(outputs[0])}
    assert await stores.longterm.find_promoted("g", outputs, agent_id="a1") == {*map(PromotedPart, outputs[:2])}
    assert await stores.longterm.find_promoted("other", outputs, agent_id=None) == set()
    assert await stores.longterm.find_promoted("g", [], agent_id=None) == set()
