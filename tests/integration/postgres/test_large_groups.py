"""Groups that are too large to compare every row: their indexes, who builds them, and that they are used."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import numpy as np
import psycopg
import pytest

from clearwell.flow.retrieval.bm25 import Bm25, analyse_query
from clearwell.ports import SearchQuery
from clearwell.records import IndexChanges, Memory, Promotion, Vector
from clearwell.stores.postgres import (
    Database,
    GroupIndexBuilder,
    IndexedGroups,
    PostgresDecisions,
    PostgresLongTerm,
    Role,
    open_database,
)
from clearwell.stores.postgres.connection import SqlStatement
from clearwell.stores.postgres.group_indexes import search_by_index
from clearwell.stores.postgres.longterm import filter_params, word_params
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rows import to_column
from clearwell.testing import ManualClock
from tests.conftest import with_login
from tests.contract.ports import promotion

ROWS, LARGE, DIMENSIONS = 300, 400, 24
HOSTILE = "g'); DROP TABLE memories; --%s %I \\ 组"
WORDS = [
    "apple",
    "bridge",
    "copper",
    "dawn",
    "ember",
    "forest",
    "garden",
    "harbor",
    "island",
    "jungle",
    "kettle",
    "lantern",
    "meadow",
    "nectar",
    "orchid",
]


def vectors(count: int, *, seed: int) -> list[Vector]:
    made = np.random.default_rng(seed).normal(size=(count, DIMENSIONS)).astype(np.float32)
    return list(made / np.linalg.norm(made, axis=1, keepdims=True))


def memories(group_id: str, count: int, *, first: int = 0) -> list[tuple[Promotion, Sequence[Memory]]]:
    rng = np.random.default_rng(first + count)
    made: list[tuple[Promotion, Sequence[Memory]]] = []
    for number, vector in enumerate(vectors(count, seed=first + count), start=first + 1):
        decided, (chunk,) = promotion(number, group_id, vectors=[vector])
        words = " ".join(rng.choice(WORDS, size=3))
        author, session = ("Ann", "Bob")[number % 2], f"s{number // 20}"
        made.append((decided, [replace(chunk, content=f"{words} {number}", author=author, session_id=session)]))
    return made


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await open_database(
        database_url, pool_min=1, pool_max=4, connect_seconds=5, statement_seconds=30, prepare=True
    )
    yield opened
    await opened.close()


@pytest.fixture
def large(database: Database) -> IndexedGroups:
    return IndexedGroups(database)


@pytest.fixture
def indexes(database: Database, large: IndexedGroups) -> GroupIndexBuilder:
    return GroupIndexBuilder(database, large, ManualClock(), rows=ROWS)


async def fill(database: Database, group_id: str, count: int, *, first: int = 0) -> None:
    async with PostgresDecisions(database, Bm25(), ManualClock()).transaction(group_id) as transaction:
        await transaction.insert_promotions(memories(group_id, count, first=first))


def wanted(group_id: str, vector: Vector, text: str | None = None) -> SearchQuery:
    words = None if text is None else analyse_query(text)
    return SearchQuery(group_id=group_id, embedding=vector, model="m", limit=10, terms=words)


def names(url: str) -> list[str]:
    with psycopg.connect(url) as owner:
        rows = owner.execute(
            "SELECT c.relname FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid WHERE x.indisvalid"
            " AND c.relname ~ '^memories_(near|words)_' ORDER BY 1"
        )
        return [name for (name,) in rows]


async def test_only_a_large_group_gets_indexes_and_loses_them_when_it_shrinks(
    database: Database, indexes: GroupIndexBuilder, database_url: str
) -> None:
    await fill(database, HOSTILE, LARGE)
    await fill(database, "small", 20, first=1000)
    assert await indexes.maintain("m") == IndexChanges(built=(HOSTILE,))
    assert len(names(database_url)) == 2
    assert await indexes.maintain("m") == IndexChanges()
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("UPDATE group_terms SET chunks = %s WHERE group_id = %s AND dimension = 0", (ROWS - 1, HOSTILE))
        assert await indexes.maintain("m") == IndexChanges(), "a group at the border does not come and go"
        owner.execute("UPDATE group_terms SET chunks = 10 WHERE group_id = %s AND dimension = 0", (HOSTILE,))
    assert await indexes.maintain("m") == IndexChanges(dropped=(HOSTILE,))
    assert names(database_url) == []


async def test_a_build_that_was_killed_is_begun_again(
    database: Database, indexes: GroupIndexBuilder, database_url: str
) -> None:
    await fill(database, "g", LARGE)
    await indexes.maintain("m")
    built = names(database_url)
    with psycopg.connect(database_url, autocommit=True) as owner:
        # What a killed CREATE INDEX CONCURRENTLY leaves behind.
        owner.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", (built[0],))
        owner.execute("UPDATE group_indexes SET state = 'building'")
    assert len(names(database_url)) == 1
    assert await indexes.maintain("m") == IndexChanges(built=("g",))
    assert names(database_url) == built


async def test_one_process_builds_at_a_time(database: Database, indexes: GroupIndexBuilder, database_url: str) -> None:
    await fill(database, "g", LARGE)
    with psycopg.connect(database_url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(hashtextextended('clearwell:indexes', 0))")
        assert await indexes.maintain("m") == IndexChanges()
        assert names(database_url) == []
    assert await indexes.maintain("m") == IndexChanges(built=("g",))


async def test_a_login_that_owns_nothing_builds_nothing_and_says_so(database: Database, database_url: str) -> None:
    await fill(database, "g", LARGE)
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("CREATE ROLE plain_builder LOGIN NOINHERIT")
        owner.execute("GRANT clearwell_app TO plain_builder")
    plain = await open_database(
        with_login(database_url, "plain_builder"),
        pool_min=1,
        pool_max=2,
        connect_seconds=5,
        statement_seconds=30,
        prepare=True,
    )
    try:
        changes = await GroupIndexBuilder(plain, IndexedGroups(plain), ManualClock(), rows=ROWS).maintain("m")
        assert changes == IndexChanges(not_owner=True)
    finally:
        await plain.close()
        with psycopg.connect(database_url, autocommit=True) as owner:
            owner.execute("DROP OWNED BY plain_builder")
            owner.execute("DROP ROLE plain_builder")


@pytest.mark.parametrize("text", [None, "What did Ann say of the lantern in the meadow at 17?", "apple 33 44"])
async def test_the_same_is_found_by_the_indexes(
    database: Database, large: IndexedGroups, indexes: GroupIndexBuilder, text: str | None
) -> None:
    await fill(database, "g", LARGE)
    await indexes.maintain("m")
    exact, by_index = PostgresLongTerm(database), PostgresLongTerm(database, indexed=large)
    for vector in vectors(12, seed=5):
        query = wanted("g", vector, text)
        expected, found = await exact.search(query), await by_index.search(query)
        assert [one.memory.id for one in found] == [one.memory.id for one in expected]
        assert [one.rank for one in found] == pytest.approx([one.rank for one in expected])


async def test_what_is_promoted_later_is_found_and_what_is_no_longer_valid_is_not(
    database: Database, large: IndexedGroups, indexes: GroupIndexBuilder, database_url: str
) -> None:
    await fill(database, "g", LARGE)
    await indexes.maintain("m")
    await fill(database, "g", 30, first=2000)
    later = memories("g", 30, first=2000)[3][1][0]
    assert later.embedding is not None
    search, query = PostgresLongTerm(database, indexed=large), wanted("g", later.embedding, later.content)
    assert (await search.search(query))[0].memory.id == later.id
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("UPDATE memories SET valid_to = now() WHERE id = %s", (later.id,))
    found = [one.memory.id for one in await search.search(query)]
    assert later.id not in found
    assert len(found) == 10


async def test_another_group_is_not_reached_through_the_indexes(
    database: Database, large: IndexedGroups, indexes: GroupIndexBuilder
) -> None:
    await fill(database, "g", LARGE)
    await fill(database, "h", LARGE, first=5000)
    await indexes.maintain("m")
    terms = [*Bm25().dimensions(" ".join(WORDS))]
    look = "SELECT count(*) AS places FROM clearwell_worded(%(terms)s)"
    assert (await database.run(Role.AGENT, "g", look, {"terms": terms}))[0]["places"] == LARGE
    assert (await database.run(Role.AGENT, "", look, {"terms": terms}))[0]["places"] == 0
    (vector,) = vectors(1, seed=3)
    found = await PostgresLongTerm(database, indexed=large).search(wanted("h", vector, " ".join(WORDS)))
    assert {one.memory.group_id for one in found} == {"h"}


async def test_the_planner_uses_the_indexes_and_the_exact_search_never_does(
    database: Database, indexes: GroupIndexBuilder
) -> None:
    await fill(database, HOSTILE, LARGE)
    await indexes.maintain("m")
    (vector,) = vectors(1, seed=3)
    asking = wanted(HOSTILE, vector, "lantern meadow")
    params = {"group_id": HOSTILE, "embedding": to_column(vector), "model": "m", "agent_id": None, "limit": 13}
    worded = params | word_params(asking, 13)
    enter = (query("enter_for_scan"), {"role": Role.AGENT, "group_id": HOSTILE})
    searches: list[list[SqlStatement]] = [
        search_by_index("search_large", params, DIMENSIONS),
        search_by_index("search_large_with_words", worded, DIMENSIONS),
        [(query("last_reembedding_number"), {}), (query("search"), params)],
        [enter, (query("search_with_words"), worded)],
        [enter, (query("search_with_filters"), worded | filter_params(asking))],
    ]
    large, large_with_words, *exact = [await plan(database, one) for one in searches]
    assert "Index Scan using memories_near_" in large
    assert "Index Scan using memories_near_" in large_with_words
    for one in exact:
        assert "clearwell_worded" not in one
        assert "memories_near_" not in one


async def test_words_are_found_by_the_inverted_index_and_not_by_reading_rows(
    database: Database, indexes: GroupIndexBuilder, database_url: str
) -> None:
    await fill(database, HOSTILE, LARGE)
    await indexes.maintain("m")
    with psycopg.connect(database_url) as owner:
        owner.execute("SET ROLE clearwell_finder")
        owner.execute("SET enable_seqscan = off")
        rows = owner.execute(
            "EXPLAIN SELECT ctid FROM memories WHERE group_id = %s AND clearwell_dimensions(lexemes) && '{7}'",
            (HOSTILE,),
        ).fetchall()
        assert "Bitmap Index Scan on memories_words_" in "".join(line for (line,) in rows)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            owner.execute("SELECT content FROM memories")


async def plan(database: Database, statements: Sequence[SqlStatement]) -> str:
    first, (statement, params) = statements
    rows = await database.run_all(Role.AGENT, HOSTILE, [first, (f"EXPLAIN (VERBOSE) {statement}", params)])
    return "\n".join(row["QUERY PLAN"] for row in rows[1])
