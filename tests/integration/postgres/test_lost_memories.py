"""The comparison of promotions and chunks is quick after a loss of everything: `doctor` and `rebuild` wait for it."""

from typing import LiteralString

import psycopg
import pytest

from clearwell.stores.postgres.queries import query
from tests.integration.postgres.test_rights import enter

LOST: LiteralString = """
    INSERT INTO promotions
        (group_id, id, memory_id, scope, origin, content, metadata, decided_by, decided_at, fingerprint)
    SELECT 'g', md5('p' || n)::uuid, md5('m' || n)::uuid, 'group', 'typed', 'text ' || n, '{}', 'me',
        now() - interval '1 day' + n * interval '1 second', decode(md5('f' || n), 'hex')
    FROM generate_series(1, 5000) AS n"""
DECIDED: LiteralString = """
    INSERT INTO decisions (group_id, id, action, promotion_id, memory_id, decided_by, decided_at)
    SELECT group_id, gen_random_uuid(), 'promote', id, memory_id, decided_by, decided_at FROM promotions"""
RETRACTED: LiteralString = """
    INSERT INTO decisions (group_id, id, action, others, decided_by, decided_at)
    SELECT 'g', gen_random_uuid(), 'retract', ARRAY[memory_id], 'me', now() FROM promotions LIMIT 100"""
STORED: LiteralString = """
    INSERT INTO memories
        (group_id, id, chunk_no, promotion_id, scope, content, embedding, embedding_model, metadata, promoted_at)
    SELECT p.group_id, p.memory_id, c.number - 1, p.id, p.scope, c.content, '[1]', 'm', '{}', p.decided_at
    FROM promotions p, string_to_table(p.content, ' ') WITH ORDINALITY AS c (content, number)"""
CHANGED: LiteralString = "UPDATE memories SET content = 'other' WHERE chunk_no = 1 AND content = '77'"
PARAMS = {"ids": None, "after": None, "limit": None}
MAX_COST = 100_000
"""In the planner's units. Reading all decisions for each memory costs more than a million, one join some thousands."""


@pytest.mark.parametrize("role", ["clearwell_reviewer", None])
def test_the_comparison_does_not_read_all_decisions_for_each_memory(database_url: str, role: str | None) -> None:
    statement, params = query("overview_lost"), {**PARAMS, "group_id": None if role is None else "g"}
    with psycopg.connect(database_url, autocommit=True) as connection:
        for fill in (LOST, DECIDED, RETRACTED, "ANALYZE"):
            connection.execute(fill)
        with connection.transaction():
            if role is not None:
                enter(connection, role)
            row = connection.execute(b"EXPLAIN (FORMAT JSON) " + statement.encode(), params).fetchone()
            assert row is not None
            assert row[0][0]["Plan"]["Total Cost"] < MAX_COST
            assert connection.execute(statement.encode(), params).fetchone() == (4900, 0, 1, 0, "g", None)


def test_the_comparison_of_texts_looks_up_the_chunks_of_each_memory(database_url: str) -> None:
    statement, params = query("overview_lost"), {**PARAMS, "group_id": "g"}
    with psycopg.connect(database_url, autocommit=True) as connection:
        for fill in (LOST, DECIDED, STORED, CHANGED, "ANALYZE"):
            connection.execute(fill)
        with connection.transaction():
            enter(connection, "clearwell_reviewer")
            row = connection.execute(b"EXPLAIN (FORMAT JSON) " + statement.encode(), params).fetchone()
            assert row is not None
            assert row[0][0]["Plan"]["Total Cost"] < MAX_COST
            assert connection.execute(statement.encode(), params).fetchone() == (0, 1, 0, 1, None, "g")
