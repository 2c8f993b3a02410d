"""Indexes of large groups, built and dropped in the background, on a connection of the table's owner.

``CREATE INDEX CONCURRENTLY`` runs in no transaction and so in no function: the statement is written by PostgreSQL
itself, which quotes the group's id, and sent back as it is. A process that dies leaves an index that is not valid and a
record that says ``building``; the next one that looks removes the one and starts over.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Final

import psycopg
import structlog
from psycopg.rows import DictRow, dict_row

from clearwell.ports import Clock
from clearwell.records import IndexChanges
from clearwell.stores.postgres.database import Database, Role, first_line, translated_errors
from clearwell.stores.postgres.large import LargeGroups
from clearwell.stores.postgres.queries import query

WIDEST: Final = 4000
"""Longer vectors cannot be indexed by pgvector: such groups are searched exactly, whatever their size."""
TRY_AGAIN: Final = timedelta(hours=1)

log = structlog.get_logger(__name__)


class GroupIndexes:
    """Sees to it that groups above ``rows`` chunks have their indexes, and that groups under half of it have none."""

    def __init__(self, database: Database, large: LargeGroups, clock: Clock, *, rows: int) -> None:
        self._database = database
        self._large = large
        self._clock = clock
        self._rows = rows

    async def maintain(self, model: str) -> IndexChanges:
        """Look once. Where there is nothing to do this costs two small statements."""
        to_build, to_leave = await self._due(model)
        if not to_build and not to_leave:
            return IndexChanges()
        async with self._owner() as (owner, allowed):
            if owner is None:
                return IndexChanges(not_owner=not allowed)
            dropped = [await self._drop(owner, row, model) for row in to_leave]
            results = [(row["group_id"], await self._build(owner, row, model)) for row in to_build]
        await self._large.look()
        return IndexChanges(
            built=tuple(group for group, done in results if done),
            dropped=tuple(dropped),
            failed=tuple(group for group, done in results if not done),
        )

    async def _due(self, model: str) -> tuple[list[DictRow], list[DictRow]]:
        params = {
            "model": model,
            "rows": self._rows,
            "widest": WIDEST,
            "failed_since": self._clock.now() - TRY_AGAIN,
        }
        statements = [(query("groups_without_indexes"), params), (query("groups_to_leave"), params)]
        to_build, to_leave = await self._database.run_all(Role.WORKER, None, statements)
        return to_build, to_leave

    @asynccontextmanager
    async def _owner(self) -> AsyncIterator[tuple["psycopg.AsyncConnection[DictRow] | None", bool]]:
        """A connection that may build, or None: to another owner's table, or while another process builds."""
        with translated_errors():
            connection = await psycopg.AsyncConnection.connect(
                self._database.url, autocommit=True, row_factory=dict_row
            )
            async with connection:
                row = await (await connection.execute(query("may_index"))).fetchone() or {}
                yield (connection if row["owner"] and row["alone"] else None), bool(row["owner"])

    async def _build(self, owner: psycopg.AsyncConnection[DictRow], row: DictRow, model: str) -> bool:
        named = {"group_id": row["group_id"], "model": model, "dimensions": row["dimensions"]}
        await self._note(named, row["chunks"], "building")
        try:
            await self._carry_out(owner, "index_statements", named)
        except (psycopg.errors.OperationalError, psycopg.errors.DataError) as error:
            if owner.broken:
                raise
            log.warning("group not indexed", group_id=row["group_id"], problem=first_line(error))
            await self._note(named, row["chunks"], "failed")
            return False
        await self._note(named, row["chunks"], "ready")
        return True

    async def _drop(self, owner: psycopg.AsyncConnection[DictRow], row: DictRow, model: str) -> str:
        """The record goes first: a search that still knows of the index finds the same without it."""
        group_id: str = row["group_id"]
        named = {"group_id": group_id, "model": row["model"]}
        await self._database.run(Role.WORKER, None, query("forget_index"), named)
        await self._carry_out(owner, "unindex_statements", {**named, "last": row["model"] == model})
        return group_id

    async def _note(self, named: dict[str, Any], chunks: int, state: str) -> None:
        params = {**named, "chunks": chunks, "state": state, "at": self._clock.now()}
        await self._database.run(Role.WORKER, None, query("note_index"), params)

    @staticmethod
    async def _carry_out(owner: psycopg.AsyncConnection[DictRow], name: str, named: dict[str, Any]) -> None:
        rows = await (await owner.execute(query(name), named)).fetchall()
        for row in rows:
            await owner.execute(row["statement"])
