"""One round trip, one transaction: also when something in it fails."""

import asyncio
import contextlib
import gc
import logging
import random
from collections.abc import AsyncIterator

import anyio
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from clearwell.errors import DatabaseUnavailable
from clearwell.stores.postgres import Database, Role, open_database
from clearwell.stores.postgres.connection import open_connection
from tests.servers.proxy import Address, Trouble, faulty_proxy
from tests.waiting import until


@pytest.fixture(params=[True, False], ids=["prepared", "unprepared"])
async def database(request: pytest.FixtureRequest, database_url: str) -> AsyncIterator[Database]:
    opened = await open_database(
        database_url,
        pool_min=1,
        pool_max=1,
        connect_seconds=5,
        statement_seconds=1,
        prepare=request.param,
    )
    yield opened
    await opened.close()


async def test_every_statement_gives_its_rows(database: Database) -> None:
    answers = await database.run_all(
        Role.AGENT,
        "g",
        [
            ("SELECT current_user::text AS role, current_setting('clearwell.group') AS grp", {}),
            ("SELECT %(n)s::int AS n, %(text)s AS text", {"n": 7, "text": "中文"}),
            ("SELECT 1 AS n WHERE false", {}),
        ],
    )
    assert answers == [[{"role": "clearwell_agent", "grp": "g"}], [{"n": 7, "text": "中文"}], []]
    (after,) = await database.run(
        None, None, "SELECT current_user::text AS role, current_setting('clearwell.group') AS grp"
    )
    assert after == {"role": "clearwell_app", "grp": ""}


async def test_a_failing_statement_undoes_the_others_and_the_connection_goes_on(database: Database) -> None:
    note = "INSERT INTO embedding_models VALUES ('m', 1, now())"
    for _ in range(3):
        with pytest.raises(psycopg.errors.DivisionByZero):
            await database.run_all(Role.REVIEWER, "g", [(note, {}), ("SELECT 1/0", {}), (note, {})])
    assert await database.run(Role.REVIEWER, "g", "SELECT model FROM embedding_models") == []
    assert await database.run(Role.REVIEWER, "g", note) == [{"rowcount": 1}]


async def test_a_statement_that_takes_too_long_is_ended_by_the_server(database: Database) -> None:
    with pytest.raises(DatabaseUnavailable, match="statement timeout"):
        await database.run(Role.AGENT, "g", "SELECT pg_sleep(5)")
    assert await database.run(None, None, "SELECT 1 AS up") == [{"up": 1}]


async def test_a_cancelled_caller_leaves_the_connection_usable(database: Database, database_url: str) -> None:
    task = asyncio.create_task(database.run(Role.AGENT, "g", "SELECT pg_sleep(60)"))
    with psycopg.connect(database_url, autocommit=True) as owner:
        running = "SELECT FROM pg_stat_activity WHERE application_name = 'clearwell' AND wait_event = 'PgSleep'"

        async def asleep() -> bool:
            return owner.execute(running).fetchone() is not None

        await until(asleep)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await database.run(None, None, "SELECT 1 AS up") == [{"up": 1}]


async def test_a_cancelled_snapshot_leaves_the_connection_usable(
    database: Database, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """An export whose client has gone, both while a statement runs and between two of them.

    A server of anyio cancels again and again, also what is awaited to clean up.
    """
    pid = "SELECT pg_backend_pid() AS pid"
    mode = "SELECT current_setting('transaction_isolation') AS level, current_setting('transaction_read_only') AS only"
    before = await database.run(None, None, pid)
    entered = asyncio.Event()

    async def read(statement: str | None) -> None:
        async with database.snapshot(Role.ARCHIVIST, "g") as transaction:
            assert await transaction.run([(mode, {})]) == [[{"level": "repeatable read", "only": "on"}]]
            entered.set()
            if statement is None:
                await asyncio.Event().wait()
            await transaction.run([("SELECT 1 AS n", {}), (statement or "", {}), ("SELECT 2 AS n", {})])

    with psycopg.connect(database_url, autocommit=True) as owner:

        async def asleep() -> bool:
            running = "SELECT FROM pg_stat_activity WHERE application_name = 'clearwell' AND wait_event = 'PgSleep'"
            return owner.execute(running).fetchone() is not None

        for statement in (None, "SELECT pg_sleep(60)"):
            entered.clear()
            async with anyio.create_task_group() as group:
                group.start_soon(read, statement)
                await asyncio.wait_for(entered.wait(), 10)
                if statement is not None:
                    await until(asleep)
                group.cancel_scope.cancel()
            assert await database.run(None, None, mode) == [{"level": "read committed", "only": "off"}]
            assert await database.run(None, None, pid) == before
    assert not [record for record in caplog.records if record.name.startswith("psycopg")]


async def test_a_lost_connection_is_told_and_replaced(database: Database, database_url: str) -> None:
    await database.run(None, None, "SELECT 1 AS up")
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'clearwell'")
    with pytest.raises(DatabaseUnavailable):
        await database.run(None, None, "SELECT 1 AS up")
    assert await database.run(None, None, "SELECT 1 AS up") == [{"up": 1}]


async def test_many_large_statements_do_not_block_each_other(database: Database) -> None:
    echo = "SELECT %(text)s AS text"
    answers = await database.run_all(Role.AGENT, "g", [(echo, {"text": "x" * 200_000}) for _ in range(100)])
    assert sum(len(rows[0]["text"]) for rows in answers) == 20_000_000


async def test_connections_that_the_pool_replaced_are_freed(
    database: Database, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    # The records that pytest keeps would hold the connections that the pool's warnings name.
    caplog.set_level(logging.CRITICAL, logger="psycopg.pool")
    earlier = _connections()
    with psycopg.connect(database_url, autocommit=True) as owner:
        for _ in range(5):
            await database.run(Role.AGENT, "g", "SELECT 1 AS up")
            owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'clearwell'")
            with contextlib.suppress(DatabaseUnavailable):
                await database.run(None, None, "SELECT 1 AS up")
    assert await database.run(None, None, "SELECT 1 AS up") == [{"up": 1}]
    assert len(_connections() - earlier) == 1


def _connections() -> set[int]:
    gc.collect()
    return {id(one) for one in gc.get_objects() if isinstance(one, psycopg.AsyncConnection)}


async def test_a_server_that_was_cut_off_is_not_waited_for(database_url: str) -> None:
    """A connection on which nothing arrives any more, and nothing is refused, would keep its place in the pool."""
    name = conninfo_to_dict(database_url)["dbname"]
    async with faulty_proxy(Address.of_postgres(database_url), random.Random(1)) as proxy:
        database = await open_database(
            f"postgresql://clearwell@127.0.0.1:{proxy.port}/{name}",
            pool_min=1,
            pool_max=1,
            connect_seconds=1,
            statement_seconds=0.2,
            prepare=True,
        )
        proxy.begin(Trouble.BLACK_HOLE)
        with pytest.raises(DatabaseUnavailable, match="no answer within"):
            async with asyncio.timeout(10):
                await database.run(Role.AGENT, "g", "SELECT 1 AS up")
        with pytest.raises(DatabaseUnavailable):
            async with asyncio.timeout(10), database.transaction(Role.AGENT, "g") as transaction:
                await transaction.run([("SELECT 1 AS up", {})])
        proxy.end()

        async def answers() -> bool:
            with contextlib.suppress(DatabaseUnavailable):
                return await database.run(None, None, "SELECT 1 AS up") == [{"up": 1}]
            return False

        await until(answers)
        await database.close()


async def test_a_client_that_was_cut_off_in_a_transaction_does_not_keep_its_locks(database_url: str) -> None:
    """The server hears nothing of it, and without a limit the others would wait until TCP gives up, after hours."""
    name = conninfo_to_dict(database_url)["dbname"]
    lock, obtained = "SELECT pg_advisory_xact_lock(4711)", False
    async with faulty_proxy(Address.of_postgres(database_url), random.Random(1)) as proxy:
        database = await open_database(
            f"postgresql://clearwell@127.0.0.1:{proxy.port}/{name}",
            pool_min=1,
            pool_max=1,
            connect_seconds=1,
            statement_seconds=0.5,
            prepare=True,
        )
        with contextlib.suppress(DatabaseUnavailable):
            async with database.transaction(Role.AGENT, "g") as transaction:
                await transaction.run([(lock, {})])
                proxy.begin(Trouble.BLACK_HOLE)
                async with await psycopg.AsyncConnection.connect(database_url) as other, asyncio.timeout(20):
                    await other.execute(lock)
                    obtained = True
        proxy.end()
        await database.close()
    assert obtained


async def test_a_connection_is_closed_if_its_commit_is_cancelled(database_url: str) -> None:
    opened: list[psycopg.AsyncConnection] = []

    async def use() -> None:
        async with open_connection(database_url) as connection:
            opened.append(connection)
            await connection.execute("SELECT 1")
            task = asyncio.current_task()
            assert task is not None
            task.cancel()  # takes effect where the task waits next, which is in the commit

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(use())
    assert opened[0].closed
