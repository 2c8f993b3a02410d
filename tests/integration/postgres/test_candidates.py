"""Reading what a digest looks at: row by row along the key, whatever the database believes to know of its tables."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest

from clearwell.ports import CandidateFilter
from clearwell.stores.postgres import Database, PostgresDigestMaterial, Role, open_database
from clearwell.stores.postgres.queries import query

ROWS, PAGE = 3000, 500
TABLES = ("admissions", "digest_marks", "quarantine_logs", "ingress_verdicts", "segmentations", "statements")
FILL = """
WITH ids AS (SELECT n, ('01900000-0000-7000-8000-' || lpad(to_hex(n + %(first)s), 12, '0'))::uuid AS id
    FROM generate_series(1, %(rows)s) AS n),
logs AS (INSERT INTO quarantine_logs (group_id, id, node_type, agent_id, content, raw_metadata, partial, occurred_at,
        created_at, captured_by)
    SELECT %(group)s, id, 'agent', 'a', 'output ' || n, '{}', false, now(), now(), 'test' FROM ids),
settled AS (INSERT INTO admissions (group_id, log_id, state, next_try_at, settled_at)
    SELECT %(group)s, id, 'refused', now(), now() FROM ids),
verdicts AS (INSERT INTO ingress_verdicts (group_id, log_id, at, position, "check", outcome, reason)
    SELECT %(group)s, id, now(), position, 'length', 'pass', 'x' FROM ids, generate_series(0, 5) AS position)
INSERT INTO segmentations (group_id, log_id, version, model) SELECT %(group)s, id, 1, 'm' FROM ids
"""


@pytest.fixture
def tables(database_url: str) -> Iterator[psycopg.Connection]:
    """Tables whose statistics are made when a test says so, and not in the background."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        for table in TABLES:
            connection.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
        yield connection


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await open_database(
        database_url, pool_min=1, pool_max=2, connect_seconds=5, statement_seconds=60, prepare=True
    )
    yield opened
    await opened.close()


def fill(tables: psycopg.Connection, group: str, *, first: int) -> None:
    tables.execute(FILL, {"group": group, "first": first, "rows": ROWS})


async def read(database: Database, group: str) -> int:
    """All pages, as a digest reads them."""
    material, where, after, found = (
        PostgresDigestMaterial(database),
        CandidateFilter(group_id=group, model="m"),
        None,
        0,
    )
    while page := await material.list_rows(where, after=after, limit=PAGE):
        after = page[-1].log_id
        found += len(page)
    assert await material.count_rows(where) == found
    return found


async def looked_at(database: Database, name: str, group: str) -> int:
    """How many blocks one run of a statement touches: the same on a slow machine."""
    params: dict[str, Any] = {"group_id": group, "most_considered": 4}
    if name == "digest_rows":
        params |= {"without_types": ["none"], "after": None, "limit": PAGE, "chars": 100}
    statements = [(query("plan_by_id"), {}), (f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query(name)}", params)]
    _, rows = await database.run_all(Role.WORKER, group, statements)
    top = rows[0]["QUERY PLAN"][0]["Plan"]
    return int(top["Shared Hit Blocks"]) + int(top["Shared Read Blocks"])


@pytest.mark.parametrize("analyzed", [None, "before", "after"])
async def test_a_page_costs_what_its_rows_cost(
    tables: psycopg.Connection, database: Database, analyzed: str | None
) -> None:
    """The second group is one that the statistics know nothing of, as after a morning of captures."""
    fill(tables, "first", first=0)
    if analyzed == "before":
        tables.execute("ANALYZE")
    fill(tables, "second", first=1_000_000)
    tables.execute("INSERT INTO digest_marks SELECT group_id, log_id, 1 FROM admissions WHERE group_id = 'second'")
    if analyzed == "after":
        tables.execute("ANALYZE")
    assert await read(database, "second") == ROWS
    assert await looked_at(database, "digest_rows", "second") < 40 * PAGE
    assert await looked_at(database, "count_digest_candidates", "second") < 10 * ROWS
