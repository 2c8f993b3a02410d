"""What a search is about: times, sessions, what was verified when, and conditions on metadata; words alone."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from clearwell.flow.retrieval.bm25 import analyse_query
from clearwell.flow.retrieval.metadata_filters import read_filters
from clearwell.ports import Fusion, SearchQuery, Stores
from clearwell.records import Memory, Promotion, Scope, SearchFilter
from tests.contract.ports import START, promote, promotion, unit

DAY = timedelta(days=1)
ROWS: list[dict[str, Any]] = [
    {"source": "minutes", "score": 3, "tags": ["billing", "q3"], "review": {"by": "Ann", "n.m": 1}},
    {"source": "mail", "score": 4.5, "tags": [], "review": {"by": "Bob", "n.m": 2}, "done": True},
    {"source": "Minutes", "score": "3", "done": False, "note": None},
    {"source": "会议纪要", "score": -1, "tags": "billing and more", "done": 1},
    {},
]
CONDITIONS: list[tuple[object, set[int]]] = [
    ({"source": "minutes"}, {0}),
    ({"source": {"ne": "minutes"}}, {1, 2, 3, 4}),
    ({"source": {"in": ["minutes", "会议纪要", 3]}}, {0, 3}),
    ({"source": {"nin": ["minutes", "mail"]}}, {2, 3, 4}),
    ({"score": 3}, {0}),
    ({"score": {"gte": 3}}, {0, 1}),
    ({"score": {"gt": 3, "lt": 4.5}}, set()),
    ({"score": {"lte": 3}}, {0, 3}),
    ({"score": {"gte": "3"}}, {2}),
    ({"source": {"lt": "a"}}, {2}),
    ({"source": {"gt": "z"}}, {3}),
    ({"tags": {"contains": "billing"}}, {0, 3}),
    ({"tags": {"contains": "bill"}}, {3}),
    ({"tags.1": "q3"}, {0}),
    ({"tags.-1": "q3"}, {0}),
    ({"tags.7": {"exists": True}}, set()),
    ({"note": {"exists": True}}, {2}),
    ({"note": None}, {2}),
    ({"note": {"ne": None}}, {0, 1, 3, 4}),
    ({"note": {"in": [None]}}, {2}),
    ({"done": True}, {1}),
    ({"done": {"in": [1]}}, {3}),
    ({"done": {"exists": False}}, {0, 4}),
    ({"review.by": "Ann"}, {0}),
    ({"review": {"exists": True}, "score": {"gt": 3}}, {1}),
    ([{"key": ["review", "n.m"], "op": "gte", "value": 2}], {1}),
    ([{"key": "review.by", "value": "Bob"}], {1}),
    ({"source": "minutes' OR true --"}, set()),
    ({"' OR true --": 1}, set()),
]


def memory(number: int, **changes: Any) -> tuple[Promotion, list[Memory]]:
    decided, chunks = promotion(number + 1, vectors=[unit(number, tilt=0.2)])
    return decided, [replace(chunk, **changes) for chunk in chunks]


def query(where: SearchFilter, *, words: str | None = "memory", limit: int = 10) -> SearchQuery:
    by_words = None if words is None else analyse_query(words)
    return SearchQuery(group_id="g", embedding=unit(0), model="m", limit=limit, terms=by_words, where=where)


async def found(stores: Stores, wanted: SearchQuery) -> set[int]:
    return {one.memory.id.int - 1001 for one in await stores.longterm.search(wanted)}


@pytest.mark.parametrize(("given", "expected"), CONDITIONS, ids=[str(given) for given, _ in CONDITIONS])
async def test_conditions_on_metadata_hold(stores: Stores, given: object, expected: set[int]) -> None:
    await promote(stores, "g", [memory(n, metadata=row) for n, row in enumerate(ROWS)])
    where = SearchFilter(conditions=read_filters(given))
    assert await found(stores, query(where)) == expected
    assert await found(stores, query(where, words=None)) == expected


async def test_times_are_of_when_it_was_said_else_promoted(stores: Stores) -> None:
    moments = [START - 3 * DAY, START - 2 * DAY, START - DAY, None]
    await promote(stores, "g", [memory(n, occurred_at=at) for n, at in enumerate(moments)])
    assert await found(stores, query(SearchFilter(since=START - 2 * DAY))) == {1, 2, 3}
    assert await found(stores, query(SearchFilter(until=START - 2 * DAY))) == {0}
    assert await found(stores, query(SearchFilter(since=START - 2 * DAY, until=START))) == {1, 2}
    assert await found(stores, query(SearchFilter(since=START))) == {3}


async def test_a_session_is_searched_alone(stores: Stores) -> None:
    await promote(stores, "g", [memory(n, session_id=s) for n, s in enumerate(("a", "b", "a", None))])
    assert await found(stores, query(SearchFilter(session_id="a"))) == {0, 2}
    assert await found(stores, query(SearchFilter(session_id="' OR true"))) == set()


async def test_what_is_left_out_takes_nobodys_place(stores: Stores) -> None:
    """Filters come before the best are taken: the one that is meant is found behind sixty better ones."""
    better = [promotion(n, vectors=[unit(0, tilt=n / 1000)]) for n in range(1, 61)]
    decided, chunks = promotion(100, vectors=[unit(4)])
    meant = (decided, [replace(chunk, session_id="other", metadata={"meant": True}) for chunk in chunks])
    await promote(stores, "g", [*better, meant])
    for where in (SearchFilter(session_id="other"), SearchFilter(conditions=read_filters({"meant": True}))):
        assert await found(stores, query(where, limit=3)) == {99}


async def test_what_was_verified_then_is_found_as_of_then(stores: Stores, request: pytest.FixtureRequest) -> None:
    promoted = [START, START + DAY, START]
    rows = [memory(n, created_at=at, promoted_at=at) for n, at in enumerate(promoted)]
    await promote(stores, "g", rows)
    ended = START + 2 * DAY
    if "real" in request.node.name:
        with psycopg.connect(request.getfixturevalue("database_url"), autocommit=True) as owner:
            owner.execute("UPDATE memories SET valid_to = %s WHERE id = %s", (ended, rows[2][0].memory_id))
    else:
        chunks = stores.longterm._chunks  # type: ignore[attr-defined]
        chunks[2] = replace(chunks[2], valid_to=ended)
    assert await found(stores, query(SearchFilter())) == {0, 1}
    assert await found(stores, query(SearchFilter(as_of=START - DAY))) == set()
    assert await found(stores, query(SearchFilter(as_of=START))) == {0, 2}
    assert await found(stores, query(SearchFilter(as_of=START + DAY))) == {0, 1, 2}
    assert await found(stores, query(SearchFilter(as_of=ended))) == {0, 1}
    assert await found(stores, query(SearchFilter(as_of=START + DAY, still_valid=True))) == {0, 1}


async def test_words_alone_find_what_has_them_of_every_model(stores: Stores) -> None:
    texts = ["The invoice service uses Kafka.", "The lamp is green.", "Kafka lost messages.", "无关的内容。"]
    rows = [
        memory(n, content=text, session_id=None, embedding_model="m" if n else "another")
        for n, text in enumerate(texts)
    ]
    await promote(stores, "g", rows)
    wanted = replace(query(SearchFilter(), words="Which service uses Kafka?"), embedding=None, explain=True)
    best = await stores.longterm.search(wanted)
    assert [one.memory.id.int - 1001 for one in best] == [0, 2]
    assert all(one.similarity is None and one.words > 0 for one in best)
    assert best[0].parts is not None
    assert best[0].parts.dense == 0
    assert await found(stores, replace(wanted, terms=analyse_query("the of"))) == set()


async def test_the_parts_add_up_to_the_rank(stores: Stores) -> None:
    await promote(stores, "g", [memory(n) for n in range(4)])
    wanted = query(SearchFilter(), words="what did Ann say of memory 2?")
    assert all(one.parts is None for one in await stores.longterm.search(wanted)), "nobody asked for them"
    for one in await stores.longterm.search(replace(wanted, explain=True)):
        parts = one.parts
        assert parts is not None
        total = parts.dense + parts.lexical + parts.author + parts.neighbour + parts.answer + parts.session
        assert total == pytest.approx(one.rank, abs=1e-3)
        assert parts.author == Fusion().author
        assert parts.dense == pytest.approx(Fusion().dense * (one.similarity or 0), abs=1e-6)


async def test_an_agents_own_memory_moves_no_rank_of_the_groups(stores: Stores) -> None:
    """How rare a word is for the group tells nothing of what only one agent may read, nor do its speakers."""
    shared = [memory(n, content=text) for n, text in enumerate(["Kafka is used.", "Redis is used."])]
    await promote(stores, "g", shared)
    wanted = query(SearchFilter(), words="What did Eve say of Kafka or Redis and Ann?")
    before = {one.memory.id: one.rank for one in await stores.longterm.search(wanted)}
    own = [promotion(n + 50, agent_id="a1") for n in range(9)]
    kept = [(p, [replace(chunk, content="Kafka again", author="Eve") for chunk in chunks]) for p, chunks in own]
    await promote(stores, "g", kept)
    after = {one.memory.id: one.rank for one in await stores.longterm.search(wanted)}
    assert after == pytest.approx(before, abs=1e-6)
    with_own = await stores.longterm.search(replace(wanted, agent_id="a1", limit=20))
    assert len(with_own) == 11


async def test_one_may_ask_for_the_agents_own_memory_alone_or_for_the_groups(stores: Stores) -> None:
    agents: list[str | None] = [None, "a1", "a2"]
    kept = [promotion(number + 1, vectors=[unit(number)], agent_id=agent) for number, agent in enumerate(agents)]
    await promote(stores, "g", kept)
    for scope, expected in ((None, {0, 1}), (Scope.AGENT, {1}), (Scope.GROUP, {0})):
        for words in ("memory", None):
            wanted = replace(query(SearchFilter(scope=scope), words=words), agent_id="a1")
            assert await found(stores, wanted) == expected
    assert await found(stores, query(SearchFilter(scope=Scope.AGENT))) == set()
