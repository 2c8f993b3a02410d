"""Pages of quarantine that compare only a part of it, and the plans by which they are read."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from clearwell.ports import QuarantineFilter
from clearwell.stores.postgres.database import Database, Role, open_database
from clearwell.stores.postgres.quarantine import PostgresCaptures, PostgresQuarantine
from clearwell.stores.postgres.queries import query
from tests.contract.ports import START, capture

ROWS = 3000
FILL = """
WITH ids AS (SELECT n, ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid AS id
    FROM generate_series(1, %(rows)s) AS n),
logs AS (INSERT INTO quarantine_logs (group_id, id, node_type, agent_id, content, raw_metadata, partial, occurred_at,
        created_at, captured_by)
    SELECT 'g', id, 'agent', 'a', repeat('output ', 100), '{}', false, now(), now(), 'test' FROM ids)
INSERT INTO admissions (group_id, log_id, state, next_try_at, settled_at)
SELECT 'g', id, 'refused', now(), now() FROM ids
"""


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await open_database(
        database_url, pool_min=1, pool_max=2, connect_seconds=5, statement_seconds=10, prepare=True
    )
    yield opened
    await opened.close()


async def test_a_rare_output_is_found_page_by_page(database: Database) -> None:
    said = [replace(capture(number), node_type="audit" if number == 2 else "agent") for number in range(1, 12)]
    await PostgresCaptures(database).add(said)
    quarantine = PostgresQuarantine(database, window=4)
    pages: list[list[int]] = []
    before = None
    while not pages or before is not None:
        page = await quarantine.page("g", where=QuarantineFilter(node_type="audit"), before=before, limit=3)
        pages.append([row.capture.id.int for row in page.rows])
        before = page.next
    assert pages == [[], [], [2]]


async def test_a_page_goes_on_where_an_output_was_forgotten(database: Database, database_url: str) -> None:
    times = [START + timedelta(milliseconds=number) for number in range(4)]
    ids = [UUID(int=int(at.timestamp() * 1000) << 80) for at in times]
    said = [replace(capture(1), id=one, created_at=at) for one, at in zip(ids, times, strict=True)]
    await PostgresCaptures(database).add(said)
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("DELETE FROM quarantine_logs WHERE id = %s", (ids[2],))
    page = await PostgresQuarantine(database).page("g", where=QuarantineFilter(), before=ids[2])
    assert [row.capture.id for row in page.rows] == [ids[1], ids[0]]


@pytest.mark.parametrize("wanted", [{"flag": "hidden_text", "agent_id": "a"}, {"admission": "pending"}])
async def test_outputs_that_are_not_listed_cost_little(
    database: Database, database_url: str, wanted: dict[str, str]
) -> None:
    """In blocks, which are the same on a slow machine: less than one for each output that is compared."""
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute(FILL, {"rows": ROWS})
        owner.execute("VACUUM ANALYZE quarantine_logs, admissions")
    names = ("session_id", "agent_id", "node_type", "words", "admission", "flag", "since", "until", "proposed", "ids")
    params: dict[str, Any] = dict.fromkeys((*names, "before", "before_at"))
    params |= {"group_id": "g", "window": ROWS, "limit": 3} | wanted
    explained = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query('quarantine_rows')}"
    (rows,) = await database.run_all(Role.REVIEWER, "g", [(explained, params)], entry="enter_to_list")
    top = rows[0]["QUERY PLAN"][0]["Plan"]
    assert top["Actual Rows"] == 0
    assert top["Shared Hit Blocks"] + top["Shared Read Blocks"] < ROWS / 4
