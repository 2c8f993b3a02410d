"""A statement is prepared once per connection, whatever its values, and a connection keeps a bounded number of them."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import psycopg
import pytest
from psycopg import pq

from clearwell.stores.postgres import Database, open_database
from clearwell.stores.postgres.connection import MAX_PREPARED, parse_placeholders
from clearwell.stores.postgres.queries import queries

PREPARED = "SELECT name, parameter_types::text[] AS types, statement FROM pg_prepared_statements"


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await open_database(
        database_url, pool_min=1, pool_max=1, connect_seconds=5, statement_seconds=5, prepare=True
    )
    yield opened
    await opened.close()


async def test_a_statement_is_prepared_once_whatever_its_values(database: Database) -> None:
    statement = (
        "SELECT %(n)s::bigint AS n, %(at)s::timestamptz AS at, "
        "%(names)s::text[] AS names, %(counts)s::integer[] AS counts"
    )
    now = datetime(2026, 11, 16, tzinfo=UTC)
    for n in (None, 0, 7, 70_000, 2**40):
        for at in (None, now):
            for names in (None, [], ["一", None]):
                for counts in (None, [], [1], [70_000]):
                    values = {"n": n, "at": at, "names": names, "counts": counts}
                    assert await database.run(None, None, statement, values) == [values]
    prepared = [row for row in await database.run(None, None, PREPARED) if "AS counts" in row["statement"]]
    assert [row["types"] for row in prepared] == [["bigint", "timestamp with time zone", "text[]", "integer[]"]]


async def test_a_connection_keeps_a_bounded_number_of_statements(database: Database) -> None:
    for number in range(MAX_PREPARED + 50):
        assert await database.run(None, None, f"SELECT {number} AS n") == [{"n": number}]
    prepared = await database.run(None, None, PREPARED)
    assert len(prepared) == MAX_PREPARED
    last = {row["statement"] for row in prepared}
    assert f"SELECT {MAX_PREPARED + 49} AS n" in last
    assert "SELECT 0 AS n" not in last
    assert await database.run(None, None, "SELECT 0 AS n") == [{"n": 0}]


async def test_one_batch_may_use_more_statements_than_are_kept(database: Database) -> None:
    numbers = range(MAX_PREPARED + 50)
    answers = await database.run_all(None, None, [(f"SELECT {number} AS n", {}) for number in numbers])
    assert [rows[0]["n"] for rows in answers] == list(numbers)
    await database.run(None, None, "SELECT 'one more'")
    assert len(await database.run(None, None, PREPARED)) == MAX_PREPARED


async def test_a_refused_statement_leaves_the_others_prepared(database: Database) -> None:
    for _ in range(3):
        with pytest.raises(psycopg.errors.UndefinedTable):
            await database.run_all(None, None, [("SELECT 1 AS n", {}), ("SELECT n FROM nothing", {})])
    statements = [row["statement"] for row in await database.run(None, None, PREPARED)]
    assert sorted(statements) == sorted(["SELECT 1 AS n", PREPARED])


async def test_the_server_finds_the_types_of_every_statement(database_url: str) -> None:
    refused: dict[str, str] = {}
    with psycopg.connect(database_url, autocommit=True) as connection:
        for name, statement in queries().items():
            text, names = parse_placeholders(statement)
            parsed = connection.pgconn.prepare(b"", text)
            if parsed.status != pq.ExecStatus.COMMAND_OK:
                refused[name] = parsed.error_message.decode()
            else:
                assert connection.pgconn.describe_prepared(b"").nparams == len(names), name
    assert refused == {}
