"""From the schema of the first release to the current one, with data, under load, and through a crash."""

import asyncio
import os
import shutil
import signal
from collections.abc import Iterator

import psycopg
import pytest

from clearwell.app import Clearwell
from clearwell.embedded import EmbeddedPostgres, RunningServer
from clearwell.errors import DatabaseUnavailable
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.models import OfflineEmbedder
from clearwell.records import Admission, Source
from clearwell.settings import Settings
from clearwell.stores.postgres import migrate, migrations, require_schema
from clearwell.worker import rebuild_lexical_index
from tests.conftest import opened, with_database
from tests.integration.postgres.first_release import (
    ADMITTED,
    AT,
    FIRST_RELEASE,
    GROUP,
    KEPT,
    MEMORIES,
    OUTPUTS,
    PENDING,
    PRIVATE,
    REFUSED,
    STRAY,
    OldPrograms,
    fill,
)
from tests.path import PERSON
from tests.places import make_folder
from tests.schema import SCHEMA_FILE, dumped
from tests.waiting import until


@pytest.fixture
def upgraded(settings: Settings, empty_database_url: str) -> Settings:
    return settings.model_copy(update={"database_url": type(settings)(database_url=empty_database_url).database_url})


async def test_the_first_release_is_upgraded_while_its_programs_run(
    upgraded: Settings, empty_database_url: str, offline_embedder: OfflineEmbedder
) -> None:
    await fill(empty_database_url, offline_embedder)
    programs = OldPrograms(empty_database_url)

    async def both_worked(captured: int, reads: int) -> bool:
        return len(programs.captured) > captured and programs.reads > reads

    async with programs.running():
        await until(lambda: both_worked(10, 10))
        await migrate(empty_database_url)
        captured, reads = len(programs.captured), programs.reads
        await until(lambda: both_worked(captured, reads))
    await require_schema(empty_database_url)
    assert dumped(empty_database_url) == SCHEMA_FILE.read_text(encoding="utf-8")
    with psycopg.connect(empty_database_url) as owner:
        stored = {row[0] for row in owner.execute("SELECT id FROM quarantine_logs")}
        chunks = owner.execute("SELECT id, content, agent_id, valid_to, metadata FROM memories ORDER BY id").fetchall()
    assert stored == {*OUTPUTS, STRAY, *programs.captured}, "every capture that was acknowledged, once"
    assert chunks == [
        (id, content, agent, valid_to, {"room": 7}) for id, (content, agent, valid_to) in MEMORIES.items()
    ]
    async with opened(upgraded, offline_embedder) as clearwell:
        await _work_on(clearwell)


async def _work_on(clearwell: Clearwell) -> None:
    """What was stored before goes the rest of the path, and what is new joins it."""
    memory = clearwell.memory.acting_as(PERSON)
    clearwell.queue.offer(GROUP, PENDING)
    await clearwell.queue.join()
    assert await rebuild_lexical_index(clearwell) == 1
    states = {row.capture.id: row.admission for row in await memory.quarantine_rows(group=GROUP)}
    assert states == {
        PENDING: Admission.ADMITTED,
        ADMITTED: Admission.ADMITTED,
        REFUSED: Admission.REFUSED,
    }
    for agent, wanted in ((None, KEPT), ("pilot", PRIVATE)):
        options = RetrieveOptions(agent_id=agent, sources=[Source.COLD])
        found = await memory.retrieve(MEMORIES[wanted][0], group=GROUP, options=options)
        assert found.items[0].id == wanted
        assert found.items[0].promoted_at == AT
    promoted = await memory.promote("The lock closes at ten in the evening.", group=GROUP)
    found = await memory.retrieve("When does the lock close?", group=GROUP, options=RetrieveOptions(sources=["cold"]))
    assert found.items[0].id == promoted.id
    await clearwell.sealer.seal_all()
    assert (await memory.verify_audit(group=GROUP)).intact


async def test_a_migration_waits_for_a_table_and_lets_others_work(empty_database_url: str) -> None:
    await migrate(empty_database_url, up_to=FIRST_RELEASE)
    async with (
        await psycopg.AsyncConnection.connect(empty_database_url) as reader,
        await psycopg.AsyncConnection.connect(empty_database_url, autocommit=True) as other,
    ):
        await reader.execute("SELECT count(*) FROM memories")
        upgrade = asyncio.create_task(migrate(empty_database_url))
        await until(lambda: _waits(other))
        async with asyncio.timeout(20):
            await other.execute("SELECT count(*) FROM quarantine_logs")
            await other.execute("SELECT count(*) FROM memories")
        assert not upgrade.done()
        await reader.rollback()
        assert len(await upgrade) == len(migrations()) - FIRST_RELEASE


@pytest.fixture
def server() -> Iterator[EmbeddedPostgres]:
    """A server of the test's own, which it may kill."""
    folder = make_folder("cw-crash-")
    server = EmbeddedPostgres(folder)
    server.start()
    yield server
    server.stop()
    shutil.rmtree(folder)


async def test_a_migration_that_a_crash_interrupts_is_whole_or_absent(
    server: EmbeddedPostgres, offline_embedder: OfflineEmbedder
) -> None:
    """Three databases are upgraded; each is stopped inside of another migration when PostgreSQL is killed."""
    running = server.start()
    numbers = (FIRST_RELEASE + 1, 16, 31)
    async with asyncio.TaskGroup() as tasks:
        for number in numbers:
            tasks.create_task(_fill_up_to(running, number, offline_embedder))
    stopped = [asyncio.create_task(_upgrade_until_killed(_database(running, number))) for number in numbers]
    async with await psycopg.AsyncConnection.connect(running.url, autocommit=True) as owner:
        await until(lambda: _all_stopped(owner, len(numbers)))
    os.kill(running.pid, signal.SIGKILL)
    for upgrade in stopped:
        with pytest.raises(DatabaseUnavailable):
            await upgrade
    await until(lambda: _has_ended(server))
    await asyncio.to_thread(server.start)
    for number in numbers:
        url = _database(running, number)
        with psycopg.connect(url) as owner_again:
            applied = [row[0] for row in owner_again.execute("SELECT version FROM schema_migrations ORDER BY 1")]
            outputs = owner_again.execute("SELECT count(*) FROM quarantine_logs").fetchall()
            owner_again.execute("DROP FUNCTION wait_here() CASCADE")
        assert (applied, outputs) == (list(range(1, number)), [(len(OUTPUTS) + 1,)])
        rest = [one.version for one in migrations() if one.version >= number]
        assert [one.version for one in await migrate(url)] == rest
        assert dumped(url) == SCHEMA_FILE.read_text(encoding="utf-8")


def _database(running: RunningServer, number: int) -> str:
    return with_database(running.url, f"before_{number}")


async def _fill_up_to(running: RunningServer, number: int, embedder: OfflineEmbedder) -> None:
    """A database with rows of the first release and all migrations before this one."""
    async with await psycopg.AsyncConnection.connect(running.url, autocommit=True) as owner:
        await owner.execute(f"CREATE DATABASE before_{number} STRATEGY FILE_COPY".encode())
    await fill(_database(running, number), embedder)
    await migrate(_database(running, number), up_to=number - 1)


async def _upgrade_until_killed(url: str) -> None:
    """Migrate up to the end of a migration: recording it waits for a lock that is never released."""
    async with await psycopg.AsyncConnection.connect(url) as other:
        await other.execute("SELECT pg_advisory_lock(7)")
        await other.execute("""
            CREATE FUNCTION wait_here() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END';
            CREATE TRIGGER wait_here BEFORE INSERT ON schema_migrations FOR EACH ROW EXECUTE FUNCTION wait_here()""")
        await other.commit()
        await migrate(url)


async def _has_ended(server: EmbeddedPostgres) -> bool:
    return not server.alive()


async def _all_stopped(owner: psycopg.AsyncConnection, wanted: int) -> bool:
    rows = await owner.execute("SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'")
    return await rows.fetchone() == (wanted,)


async def _waits(owner: psycopg.AsyncConnection) -> bool:
    rows = await owner.execute("SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'")
    return await rows.fetchone() != (0,)
