"""The schema: applied once, in order, by one at a time, and equal to the schema file."""

import asyncio
from pathlib import Path

import psycopg
import pytest

from clearwell.errors import DatabaseUnavailable, SchemaError
from clearwell.stores.postgres import migrate, migrations, open_database, require_schema
from tests.conftest import with_database, with_login
from tests.schema import SCHEMA_FILE, dumped


async def test_a_database_migrated_step_by_step_equals_the_schema_file(empty_database_url: str) -> None:
    for migration in migrations():
        assert [one.version for one in await migrate(empty_database_url, up_to=migration.version)] == [
            migration.version
        ]
    assert dumped(empty_database_url) == SCHEMA_FILE.read_text(encoding="utf-8")


async def test_the_schema_file_makes_the_same_schema(empty_database_url: str) -> None:
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute(SCHEMA_FILE.read_bytes())
    assert dumped(empty_database_url) == SCHEMA_FILE.read_text(encoding="utf-8")


async def test_migrating_again_does_nothing(database_url: str) -> None:
    assert await migrate(database_url) == []
    await require_schema(database_url)


async def test_four_programs_migrate_at_once(empty_database_url: str) -> None:
    applied = await asyncio.gather(*(migrate(empty_database_url) for _ in range(4)))
    assert sorted(len(one) for one in applied) == [0, 0, 0, len(migrations())]


async def test_two_new_databases_of_one_server_migrate_at_once(empty_database_url: str, postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE second_at_once")
        await asyncio.gather(migrate(empty_database_url), migrate(with_database(postgres_url, "second_at_once")))
        connection.execute("DROP DATABASE second_at_once WITH (FORCE)")


async def test_an_older_schema_is_told_with_the_way_out(empty_database_url: str) -> None:
    with pytest.raises(
        SchemaError,
        match=f"{len(migrations())} migrations have not been applied to the database; the first is 0001_roles",
    ):
        await require_schema(empty_database_url)
    await migrate(empty_database_url, up_to=2)
    with pytest.raises(SchemaError, match=r"first is 0003_longterm\. Run: clearwell migrate"):
        await require_schema(empty_database_url)


async def test_a_newer_schema_is_refused(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("INSERT INTO schema_migrations VALUES (9999, 'future', 'x')")
    with pytest.raises(SchemaError, match="9999_future"):
        await migrate(database_url)


async def test_a_changed_migration_is_refused(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("UPDATE schema_migrations SET checksum = 'x' WHERE version = 2")
    with pytest.raises(SchemaError, match="0002_quarantine"):
        await require_schema(database_url)


async def test_a_failing_migration_leaves_nothing_behind(empty_database_url: str) -> None:
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE sightings (in_the_way int)")
    with pytest.raises(psycopg.errors.DuplicateTable):
        await migrate(empty_database_url)
    with psycopg.connect(empty_database_url) as connection:
        rows = connection.execute(
            "SELECT to_regclass('quarantine_logs'), max(version) FROM schema_migrations"
        ).fetchall()
    assert rows == [(None, 1)]


async def test_a_login_that_may_not_migrate_is_told_what_it_needs(empty_database_url: str) -> None:
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute("CREATE ROLE plain_login LOGIN")
        connection.execute("GRANT CREATE ON SCHEMA public TO plain_login")
        try:
            with pytest.raises(SchemaError, match="may create roles and the extension vector"):
                await migrate(with_login(empty_database_url, "plain_login"))
        finally:
            connection.execute("DROP OWNED BY plain_login")
            connection.execute("DROP ROLE plain_login")


async def test_a_login_that_only_enters_clearwell_app_can_check_the_schema(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE ROLE checking_login LOGIN NOINHERIT")
        try:
            with pytest.raises(SchemaError, match="permission denied"):
                await require_schema(with_login(database_url, "checking_login"))
            connection.execute("GRANT clearwell_app TO checking_login")
            await require_schema(with_login(database_url, "checking_login"))
        finally:
            connection.execute("DROP ROLE checking_login")


async def test_a_server_that_does_not_answer_is_told(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnavailable, match="PostgreSQL does not respond"):
        await open_database(
            f"postgresql:///clearwell?host={tmp_path}",
            pool_min=1,
            pool_max=1,
            connect_seconds=2,
            statement_seconds=1,
            prepare=True,
        )


async def test_groups_from_before_there_was_a_list_are_indexed_anew(empty_database_url: str) -> None:
    await migrate(empty_database_url, up_to=8)
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute("""
            INSERT INTO promotions (group_id, id, memory_id, scope, origin, content, metadata, decided_by, decided_at)
            VALUES ('g', gen_random_uuid(), gen_random_uuid(), 'group', 'typed', 'x', '{}', 'ann', now());
            INSERT INTO memories (group_id, id, chunk_no, promotion_id, scope, content, embedding, embedding_model,
                metadata, promoted_at)
            SELECT group_id, memory_id, 0, id, scope, 'Who?”', '[1,2]', 'm', metadata, decided_at FROM promotions;
            INSERT INTO group_terms VALUES ('g', 0, 1)""")
        await migrate(empty_database_url)
        assert connection.execute("SELECT * FROM indexed_groups").fetchall() == [("g", 0)]
        assert connection.execute("SELECT asks FROM memories").fetchall() == [(True,)]
        assert connection.execute("SELECT reader, chunks FROM group_terms").fetchall() == [("", 1)]
        forced = "SELECT relforcerowsecurity FROM pg_class WHERE relname = 'memories'"
        assert connection.execute(forced).fetchall() == [(True,)]


async def test_what_was_undone_before_gaps_were_kept_is_told_from_the_decisions(empty_database_url: str) -> None:
    await migrate(empty_database_url, up_to=15)
    with psycopg.connect(empty_database_url, autocommit=True) as owner:
        owner.execute("""INSERT INTO promotions (group_id, id, memory_id, scope, origin, origin_id, content, metadata,
            decided_by, decided_at) SELECT 'g', gen_random_uuid(), gen_random_uuid(), 'group', 'quarantine',
            gen_random_uuid(), 'x', '{}', 'ann', now()""")
        owner.execute("""INSERT INTO decisions (group_id, id, action, promotion_id, memory_id, others, undoes,
            decided_by, decided_at)
            SELECT 'g', gen_random_uuid(), 'promote', id, memory_id, '{}', NULL::uuid, 'ann', decided_at FROM promotions
            UNION ALL SELECT 'g', '00000000-0000-0000-0000-000000000001', 'retract', NULL, NULL, ARRAY[memory_id], NULL,
                'ann', timestamptz '2026-01-01' FROM promotions
            UNION ALL SELECT 'g', gen_random_uuid(), 'undo', NULL, NULL, ARRAY[memory_id],
                '00000000-0000-0000-0000-000000000001', 'ann', timestamptz '2026-01-02' FROM promotions""")
    await migrate(empty_database_url)
    with psycopg.connect(empty_database_url) as owner:
        gaps = owner.execute("""SELECT g.withdrawn_at = '2026-01-01', g.restored_at = '2026-01-02'
            FROM memory_gaps g JOIN promotions p ON p.memory_id = g.memory_id""").fetchall()
        outputs = owner.execute("""SELECT d.origin_id = p.origin_id FROM decisions d
            JOIN promotions p ON p.id = d.promotion_id""").fetchall()
    assert (gaps, outputs) == ([(True, True)], [(True,)])


async def test_open_digests_survive_the_end_of_the_old_queue(empty_database_url: str) -> None:
    await migrate(empty_database_url, up_to=20)
    with psycopg.connect(empty_database_url, autocommit=True) as owner:
        owner.execute("""INSERT INTO digests (group_id, id, status, requested_by, created_at)
            VALUES ('g', gen_random_uuid(), 'running', 'ann', now())""")
        await migrate(empty_database_url)
        open_digests = owner.execute("SELECT status, next_try_at, leased_until FROM digests").fetchall()
        schemas = owner.execute("SELECT count(*) FROM pg_namespace WHERE nspname = 'procrastinate'").fetchall()
    assert open_digests == [("running", None, None)], "due, and leased by nobody"
    assert schemas == [(0,)]
