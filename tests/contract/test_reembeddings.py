"""Re-embedding: vectors change, nothing else does, and no search misses a row."""

from dataclasses import replace

import pytest

from clearwell.errors import ReembeddingStarted
from clearwell.ports import SearchQuery, Stores
from clearwell.records import ModelChoice, NewReembedding
from tests.contract.ports import START, promote, promotion, unit

OFFLINE = ModelChoice(embedder="offline", model="m")
API = ModelChoice(embedder="openai", model="n", base_url="http://127.0.0.1:1/v1", dimensions=8)
REEMBEDDING = NewReembedding(
    from_model="m", from_choice=OFFLINE, to_model="n", to_choice=API, started_by="ann", started_at=START
)


async def test_what_was_begun_is_known_with_how_to_reach_both_models(stores: Stores) -> None:
    assert await stores.reembeddings.last() is None
    begun = await stores.reembeddings.begin(REEMBEDDING)
    assert (begun.from_choice, begun.to_choice, begun.moving_at, begun.finished_at) == (OFFLINE, API, None, None)
    assert await stores.reembeddings.last() == begun
    await stores.reembeddings.set_off(begun.id, at=START)
    await stores.reembeddings.finish(begun.id, at=START)
    assert await stores.reembeddings.last() == replace(begun, moving_at=START, finished_at=START)


async def test_going_back_gives_up_what_was_under_way(stores: Stores) -> None:
    first = await stores.reembeddings.begin(REEMBEDDING)
    back = replace(REEMBEDDING, from_model="n", from_choice=API, to_model="m", to_choice=OFFLINE)
    second = await stores.reembeddings.begin(replace(back, at_once=True))
    assert second.number > first.number
    assert second.moving_at == START
    assert await stores.reembeddings.last() == second


async def test_rows_are_reembedded_page_by_page(stores: Stores) -> None:
    many = promotion(1, vectors=[unit(0), unit(1), unit(2)])
    await promote(stores, "g", [many, promotion(2)])
    await promote(stores, "h", [promotion(3, "h")])
    assert await stores.reembeddings.groups() == ["g", "h"]
    assert await stores.reembeddings.count_remaining("g", "n") == 4
    page = await stores.reembeddings.texts("g", "n", after=None, limit=3)
    assert [(one.id.int, one.chunk_no) for one in page] == [(1001, 0), (1001, 1), (1001, 2)]
    assert page[0].content == "memory 1 chunk 0"
    rest = await stores.reembeddings.texts("g", "n", after=page[-1], limit=3)
    assert [one.id.int for one in rest] == [1002]
    assert await stores.reembeddings.put("g", "n", [(one, unit(5)) for one in page], at=START) == 3
    assert await stores.reembeddings.count_remaining("g", "n") == 1
    assert await stores.reembeddings.count_remaining("h", "n") == 1
    assert await stores.reembeddings.models() == {"m": 8, "n": 8}
    query = SearchQuery(group_id="g", embedding=unit(5), model="n", limit=5)
    (found,) = await stores.longterm.search(query)
    assert found.memory == replace(many[1][0], embedding_model="n", embedding=None)


async def test_a_row_that_was_reembedded_or_is_gone_is_not_written_again(stores: Stores) -> None:
    await promote(stores, "g", [promotion(1)])
    (text,) = await stores.reembeddings.texts("g", "n", after=None, limit=9)
    gone = replace(text, chunk_no=7)
    assert await stores.reembeddings.put("g", "n", [(text, unit(5)), (gone, unit(6))], at=START) == 1
    assert await stores.reembeddings.put("g", "n", [(text, unit(6))], at=START) == 0
    assert await stores.reembeddings.put("g", "n", [], at=START) == 0


async def test_a_search_that_does_not_know_of_the_reembedding_is_told(stores: Stores) -> None:
    await promote(stores, "g", [promotion(1)])
    query = SearchQuery(group_id="g", embedding=unit(1), model="m", limit=5, reembedding=0)
    assert len(await stores.longterm.search(query)) == 1
    begun = await stores.reembeddings.begin(REEMBEDDING)
    with pytest.raises(ReembeddingStarted):
        await stores.longterm.search(query)
    query = replace(query, reembedding=begun.number)
    assert len(await stores.longterm.search(query)) == 1
    await stores.reembeddings.set_off(begun.id, at=START)
    with pytest.raises(ReembeddingStarted):
        await stores.longterm.search(query)
    assert len(await stores.longterm.search(replace(query, reembedding=None))) == 1
