"""The pool of connections to PostgreSQL. Every statement enters a working role and a group first.

A connection starts in ``clearwell_app``, which may do nothing but look up a key. ``run`` sends the entry and
the statements in one pipeline: one round trip, one transaction.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from enum import StrEnum
from typing import Final

import psycopg
from pgvector.psycopg import register_vector_async
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import set_json_loads
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from pydantic_core import from_json

from clearwell.errors import ConfigurationError, DatabaseUnavailable, SchemaError
from clearwell.ports import Signer
from clearwell.stores.postgres.connection import (
    Params,
    PooledConnection,
    SqlStatement,
    StatementRunner,
    open_connection,
)
from clearwell.stores.postgres.queries import query

IDLE_FACTOR: Final = 2
"""The server ends a transaction that does nothing for this many times the limit of a statement: its client is cut off
or stopped, and others wait for its locks."""


class Role(StrEnum):
    """The working roles. Each has only the rights of its own part of the path."""

    AGENT = "clearwell_agent"
    REVIEWER = "clearwell_reviewer"
    WORKER = "clearwell_worker"
    ERASER = "clearwell_eraser"
    OPERATOR = "clearwell_operator"
    ARCHIVIST = "clearwell_archivist"


@contextmanager
def translate_errors() -> Iterator[None]:
    """Translate the driver's connection errors into DatabaseUnavailable."""
    try:
        yield
    except (psycopg.OperationalError, PoolTimeout) as error:
        raise DatabaseUnavailable("database_unavailable", problem=first_line(error)) from error


@contextmanager
def translate_refused_rights() -> Iterator[None]:
    """Translate "permission denied" at start-up into SchemaError: the login lacks a right that it needs."""
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        raise SchemaError("database_not_allowed", problem=first_line(error)) from error


def first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def database_address(url: str) -> str:
    """Return the address if it is valid. The error does not repeat it, because it may hold a password."""
    try:
        conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise ConfigurationError("database_url_invalid") from None
    return url


def name_database(url: str) -> str:
    """A name of the database at this address: its server and its name, without who connects and how."""
    said = conninfo_to_dict(database_address(url))
    return "/".join(str(said.get(part) or "") for part in ("host", "port", "dbname"))


class Database:
    """A pool of connections, entered by role and group."""

    def __init__(
        self,
        pool: AsyncConnectionPool[PooledConnection],
        *,
        url: str,
        signer: Signer | None = None,
        idle_seconds: float = 60.0,
    ) -> None:
        self.url = url
        self.signer = signer
        self._pool = pool
        self._releases: set[asyncio.Task[None]] = set()
        self._idle = str(int(idle_seconds * 1000))

    async def run(
        self, role: Role | None, group_id: str | None, statement: str, params: Params | None = None
    ) -> list[DictRow]:
        """Run one statement in one round trip and return its rows."""
        (rows,) = await self.run_all(role, group_id, [(statement, params or {})])
        return rows

    async def run_all(
        self, role: Role | None, group_id: str | None, statements: Sequence[SqlStatement], *, entry: str = "enter"
    ) -> list[list[DictRow]]:
        """Run several statements in one round trip and one transaction: all or nothing.

        ``entry`` names the statement that enters the role and the group, and may also set how to plan.
        """
        before = [] if role is None else [(query(entry), {"role": role, "group_id": group_id or ""})]
        with translate_errors():
            # Not as a context: that would commit, and the runner has ended its transaction itself.
            connection = await self._pool.getconn()
            try:
                answers = await connection.runner.run([*before, *statements])
            finally:
                await self._pool.putconn(connection)
        return answers[len(before) :]

    @asynccontextmanager
    async def transaction(self, role: Role, group_id: str) -> AsyncIterator[StatementRunner]:
        """Open a transaction of several steps in one role and one group."""
        with translate_errors():
            async with self._pool.connection() as connection, connection.transaction():
                params = {"role": role, "group_id": group_id, "milliseconds": self._idle}
                await connection.runner.run([(query("enter_transaction"), params)])
                yield connection.runner

    @asynccontextmanager
    async def snapshot(self, role: Role, group_id: str) -> AsyncIterator["SnapshotReader"]:
        """Open a transaction that reads one group as it is at this moment, whatever is committed meanwhile."""
        with translate_errors():
            connection = await self._pool.getconn()
            reader = SnapshotReader(connection)
            try:
                # By itself, because preparing another statement would already read.
                await reader.run([(query("begin_snapshot"), {})])
                await reader.run([(query("enter"), {"role": role, "group_id": group_id})])
                yield reader
            finally:
                release = asyncio.create_task(self._release(connection, reader))
                self._releases.add(release)
                release.add_done_callback(self._releases.discard)
                await asyncio.shield(release)

    async def _release(self, connection: PooledConnection, reader: "SnapshotReader") -> None:
        """End the transaction of a snapshot and return its connection to the pool."""
        try:
            await reader.stop()
            await connection.rollback()
        except psycopg.Error:
            await connection.close()
        finally:
            await self._pool.putconn(connection)

    async def ping(self) -> None:
        await self.run(None, None, query("ping"))

    async def close(self) -> None:
        await self._pool.close()


class SnapshotReader:
    """Runs the statements of a snapshot in tasks of their own.

    Where the reader of an answer leaves, the server cancels its task again and again, also while the connection is
    waiting for its last statement to be cancelled. The pool would then have to replace the connection.
    """

    def __init__(self, connection: PooledConnection) -> None:
        self._connection = connection
        self._running: asyncio.Task[list[list[DictRow]]] | None = None

    async def run(self, statements: Sequence[SqlStatement]) -> list[list[DictRow]]:
        """Run all statements in one round trip and return the rows of each."""
        self._running = asyncio.create_task(self._connection.runner.run(statements))
        return await asyncio.shield(self._running)

    async def stop(self) -> None:
        """Cancel the statements that still run, and wait until they have ended."""
        if self._running is not None and not self._running.done():
            self._running.cancel()
            await asyncio.wait([self._running])
            if not self._running.cancelled():
                self._running.exception()  # nobody waits for it any more


async def open_database(
    url: str,
    *,
    owner_url: str | None = None,
    pool_min: int,
    pool_max: int,
    connect_seconds: float,
    statement_seconds: float,
    prepare: bool,
    signer: Signer | None = None,
) -> Database:
    """Connect, enter ``clearwell_app`` on every connection, and register the vector types.

    ``signer`` signs the audit events that are stored. ``owner_url`` has the login that builds indexes, if it is another
    one.
    """

    async def configure(connection: PooledConnection) -> None:
        # Statements are prepared by the runner: psycopg would deallocate them all at a rollback.
        connection.prepare_threshold = None
        connection.prepare = prepare
        # The server ends a statement that takes too long. What takes longer than that is not answered any more.
        connection.answer_seconds = statement_seconds + connect_seconds
        await connection.execute(query("start"), {"milliseconds": str(int(statement_seconds * 1000))})
        await register_vector_async(connection)
        set_json_loads(from_json, connection)

    pool: AsyncConnectionPool[PooledConnection] = AsyncConnectionPool(
        url,
        connection_class=PooledConnection,
        min_size=min(pool_min, pool_max),
        max_size=pool_max,
        timeout=connect_seconds,
        reconnect_timeout=connect_seconds,
        configure=configure,
        kwargs={
            "autocommit": True,
            "row_factory": dict_row,
            "connect_timeout": max(2, int(connect_seconds)),
            "application_name": conninfo_to_dict(url).get("application_name") or "clearwell",
        },
        open=False,
        name="clearwell",
    )
    with translate_errors(), translate_refused_rights():
        await _prove_reachable(url, connect_seconds)
        await pool.open(wait=pool_min > 0, timeout=connect_seconds)
    return Database(pool, url=owner_url or url, signer=signer, idle_seconds=IDLE_FACTOR * statement_seconds)


async def _prove_reachable(url: str, connect_seconds: float) -> None:
    """Connect once without the pool, which would retry in the background and report only a time-out."""
    async with open_connection(url, connect_timeout=max(2, int(connect_seconds))) as connection:
        try:
            await connection.execute("SET ROLE clearwell_app")
        except (psycopg.errors.UndefinedObject, psycopg.errors.InvalidParameterValue) as error:
            raise SchemaError("schema_missing") from error
