"""The approximate indexes of large groups: which groups have one, and the builder that creates and drops them.

Indexes are built in the background on a connection of the table's owner. ``CREATE INDEX CONCURRENTLY`` cannot run in a
transaction or a function, so PostgreSQL formats the statement, which quotes the group's id, and it is sent back as it
is. A process that dies leaves an invalid index and a record in state ``building``; the next run drops both and starts
over.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Final

import psycopg
import structlog
from psycopg.rows import DictRow, dict_row

from clearwell.errors import Unavailable
from clearwell.ports import Clock, SearchQuery
from clearwell.records import IndexChanges
from clearwell.stores.postgres.connection import SqlStatement, open_connection
from clearwell.stores.postgres.database import Database, Role, first_line, translate_errors
from clearwell.stores.postgres.queries import query

MAX_DIMENSIONS: Final = 4000
"""pgvector cannot index longer vectors. Such groups are searched exactly, whatever their size."""
RETRY_AFTER: Final = timedelta(hours=1)
VECTOR_CANDIDATES: Final = 400
"""How many chunks a search takes from the vector index."""
WORD_CANDIDATES: Final = 2000
"""Words of the query are looked up, rarest first, while they add at most this many chunks; the rarest one always is."""
REFRESH_SECONDS: Final = 15.0

log = structlog.get_logger(__name__)


class IndexedGroups:
    """The groups that have an index, kept in memory so that a search in a small group costs no extra statement.

    The list may be some seconds old. A search finds the same memories with and without the index, only slower.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._dimensions: dict[tuple[str, str], int] = {}
        self._refreshed_at: float | None = None
        self._task: asyncio.Task[None] | None = None

    def find_dimensions(self, wanted: SearchQuery, limit: int) -> int | None:
        """Return the length of the indexed vectors if this search can use an index, else None.

        Searches with a metadata filter compare few rows, and searches without a vector are ranked by words alone: both
        are exact.
        """
        if self._refreshed_at is None or time.monotonic() - self._refreshed_at > REFRESH_SECONDS:
            self._start_refresh()
        if wanted.embedding is None or not wanted.where.everything or limit >= VECTOR_CANDIDATES:
            return None
        return self._dimensions.get((wanted.group_id, wanted.model))

    @property
    def groups(self) -> frozenset[tuple[str, str]]:
        """The groups, each with the model of its index."""
        return frozenset(self._dimensions)

    async def refresh(self) -> None:
        """Read which groups have indexes now."""
        self._refreshed_at = time.monotonic()
        rows = await self._database.run(Role.WORKER, None, query("groups_with_indexes"))
        self._dimensions = {(row["group_id"], row["model"]): row["dimensions"] for row in rows}

    async def close(self) -> None:
        if self._task is not None:
            await asyncio.wait([self._task])

    def _start_refresh(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._refresh_or_log(), name="refresh indexed groups")

    async def _refresh_or_log(self) -> None:
        try:
            await self.refresh()
        except Unavailable as error:
            log.warning("indexed groups not refreshed", reason=error.code)


def search_by_index(name: str, params: dict[str, Any], dimensions: int) -> list[SqlStatement]:
    """Return the planner settings and the named search, with the parameters that a search by index adds."""
    more = {"size": dimensions, "near": VECTOR_CANDIDATES, "telling": WORD_CANDIDATES}
    return [(query("plan_by_index"), {"effort": str(VECTOR_CANDIDATES)}), (query(name), params | more)]


class GroupIndexBuilder:
    """Builds the indexes of groups above ``rows`` chunks and drops those of groups below half of that."""

    def __init__(self, database: Database, indexed: IndexedGroups, clock: Clock, *, rows: int) -> None:
        self._database = database
        self._indexed = indexed
        self._clock = clock
        self._rows = rows

    async def maintain(self, model: str) -> IndexChanges:
        """Build and drop the indexes that are due. If none are, this takes two small statements."""
        to_build, to_drop = await self._fetch_due(model)
        if not to_build and not to_drop:
            return IndexChanges()
        async with self._connect_as_owner() as (owner, allowed):
            if owner is None:
                return IndexChanges(not_owner=not allowed)
            dropped = [await self._drop(owner, row, model) for row in to_drop]
            results = [(row["group_id"], await self._build(owner, row, model)) for row in to_build]
        await self._indexed.refresh()
        return IndexChanges(
            built=tuple(group for group, done in results if done),
            dropped=tuple(dropped),
            failed=tuple(group for group, done in results if not done),
        )

    async def _fetch_due(self, model: str) -> tuple[list[DictRow], list[DictRow]]:
        params = {
            "model": model,
            "rows": self._rows,
            "widest": MAX_DIMENSIONS,
            "failed_since": self._clock.now() - RETRY_AFTER,
        }
        statements = [(query("groups_without_indexes"), params), (query("groups_with_unneeded_indexes"), params)]
        to_build, to_drop = await self._database.run_all(Role.WORKER, None, statements)
        return to_build, to_drop

    @asynccontextmanager
    async def _connect_as_owner(self) -> AsyncIterator[tuple["psycopg.AsyncConnection[DictRow] | None", bool]]:
        """Yield a connection that may build, and whether the login owns the table.

        The connection is None if the login does not own the table, or while another process builds.
        """
        with translate_errors():
            async with open_connection(self._database.url, autocommit=True, row_factory=dict_row) as connection:
                row = await (await connection.execute(query("may_index"))).fetchone() or {}
                yield (connection if row["owner"] and row["alone"] else None), bool(row["owner"])

    async def _build(self, owner: psycopg.AsyncConnection[DictRow], row: DictRow, model: str) -> bool:
        named = {"group_id": row["group_id"], "model": model, "dimensions": row["dimensions"]}
        await self._record(named, row["chunks"], "building")
        try:
            await self._execute_all(owner, "index_statements", named)
        except (psycopg.errors.OperationalError, psycopg.errors.DataError) as error:
            if owner.broken:
                raise
            log.warning("group not indexed", group_id=row["group_id"], problem=first_line(error))
            await self._record(named, row["chunks"], "failed")
            return False
        await self._record(named, row["chunks"], "ready")
        return True

    async def _drop(self, owner: psycopg.AsyncConnection[DictRow], row: DictRow, model: str) -> str:
        # The record goes first: a search that still uses the index finds the same memories without it.
        group_id: str = row["group_id"]
        named = {"group_id": group_id, "model": row["model"]}
        await self._database.run(Role.WORKER, None, query("delete_index_record"), named)
        await self._execute_all(owner, "unindex_statements", {**named, "last": row["model"] == model})
        return group_id

    async def _record(self, named: dict[str, Any], chunks: int, state: str) -> None:
        params = {**named, "chunks": chunks, "state": state, "at": self._clock.now()}
        await self._database.run(Role.WORKER, None, query("record_index"), params)

    @staticmethod
    async def _execute_all(owner: psycopg.AsyncConnection[DictRow], name: str, named: dict[str, Any]) -> None:
        """Run each statement that the named query formats."""
        rows = await (await owner.execute(query(name), named)).fetchall()
        for row in rows:
            await owner.execute(row["statement"])
