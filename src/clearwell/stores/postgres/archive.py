"""Export and import, in the archivist's role: reads everything of a group, adds rows, and changes none."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from clearwell.errors import InvalidInput
from clearwell.ports import ArchiveSnapshot, ArchiveStore, SparseEncoder
from clearwell.records import (
    ArchivedRow,
    ArchiveKind,
    AuditEvent,
    ImportedRow,
    ImportProgress,
    ImportState,
    Memory,
    RowCounts,
    TombstoneKind,
)
from clearwell.stores.postgres.connection import SqlStatement, StatementRunner
from clearwell.stores.postgres.database import Database, Role, SnapshotReader
from clearwell.stores.postgres.lost_memories import insert_chunks
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rows import event_params

PARTS: Final[Mapping[ArchiveKind, Sequence[str]]] = {
    ArchiveKind.OUTPUT: ("admission", "verdicts", "sightings", "marks"),
    ArchiveKind.INSIGHT: ("sources",),
}
"""The rows of other tables that belong to a row."""


class PostgresSnapshot(ArchiveSnapshot):
    def __init__(self, transaction: SnapshotReader, group_id: str) -> None:
        self._transaction = transaction
        self._params = {"group_id": group_id}

    async def count(self) -> int:
        ((row,),) = await self._transaction.run([(query("export_count"), self._params)])
        rows: int = row["rows"]
        return rows

    async def rows(self, kind: ArchiveKind) -> AsyncGenerator[Sequence[ArchivedRow]]:
        await self._transaction.run([(query(f"export_{kind}"), self._params)])
        while page := (await self._transaction.run([(query("fetch_archive"), {})]))[0]:
            yield [row["row"] for row in page]
        await self._transaction.run([(query("close_archive"), {})])


class PostgresArchive(ArchiveStore):
    def __init__(self, database: Database, encoder: SparseEncoder) -> None:
        self._database = database
        self._encoder = encoder

    def open_snapshot(self, group_id: str) -> AbstractAsyncContextManager[ArchiveSnapshot]:
        return self._open_snapshot(group_id)

    @asynccontextmanager
    async def _open_snapshot(self, group_id: str) -> AsyncIterator[ArchiveSnapshot]:
        async with self._database.snapshot(Role.ARCHIVIST, group_id) as transaction:
            yield PostgresSnapshot(transaction, group_id)

    async def find_import(self, group_id: str, import_id: UUID) -> ImportState | None:
        params = {"group_id": group_id, "id": import_id}
        rows = await self._database.run(Role.ARCHIVIST, group_id, query("find_import"), params)
        return _state_of(rows[0]) if rows else None

    async def claim_secret(self, group_id: str, secret: bytes) -> bool:
        params = {"group_id": group_id, "secret": secret.hex()}
        statements: list[SqlStatement] = [(query("import_secret"), params), (query("read_secret"), params)]
        _, rows = await self._database.run_all(Role.ARCHIVIST, group_id, statements)
        return bytes(rows[0]["secret"]) == secret

    async def add_rows(
        self,
        progress: ImportProgress,
        kind: ArchiveKind,
        rows: Sequence[ImportedRow],
        chunks: Mapping[UUID, Sequence[Memory]],
        *,
        event: AuditEvent | None,
    ) -> RowCounts | None:
        try:
            async with self._database.transaction(Role.ARCHIVIST, progress.group_id) as transaction:
                if not await self._is_expected(transaction, progress):
                    return None
                accepted = await self._refuse_tombstoned(transaction, progress.group_id, kind, rows)
                stored = await self._insert(transaction, progress, kind, accepted, chunks)
                await transaction.run(self._finish(progress, event))
        except (psycopg.IntegrityError, psycopg.DataError) as error:
            raise InvalidInput("import_rows_invalid", field="lines", number=progress.number) from error
        return RowCounts(stored=stored, known=len(accepted) - stored, refused=len(rows) - len(accepted))

    async def _is_expected(self, transaction: StatementRunner, progress: ImportProgress) -> bool:
        params = {
            "group_id": progress.group_id,
            "id": progress.import_id,
            "public_key": progress.public_key,
            "by": progress.by,
            "at": progress.at,
        }
        *_, (found,) = await transaction.run(
            [
                (query("alone_in_group"), params),
                (query("alone_in_longterm"), params),
                (query("begin_import"), params),
                (query("lock_import"), params),
            ]
        )
        return (found["next_number"], found["root"]) == (progress.number, progress.previous)

    async def _refuse_tombstoned(
        self, transaction: StatementRunner, group_id: str, kind: ArchiveKind, rows: Sequence[ImportedRow]
    ) -> list[ArchivedRow]:
        hashes = [value for row in rows for value in (*row.value_hashes, *row.metadata_hashes)]
        params = {"group_id": group_id, "value_hashes": hashes}
        (found,) = await transaction.run([(query("tombstones_in_force"), params)])
        standing = {bytes(row["value_hash"]): TombstoneKind(row["kind"]) for row in found}
        forgotten = {one for one, of in standing.items() if of is TombstoneKind.FORGOTTEN}
        refusing = standing.keys() if kind is ArchiveKind.MEMORY else forgotten
        return [
            row.row
            for row in rows
            if refusing.isdisjoint(row.value_hashes) and forgotten.isdisjoint(row.metadata_hashes)
        ]

    async def _insert(
        self,
        transaction: StatementRunner,
        progress: ImportProgress,
        kind: ArchiveKind,
        rows: Sequence[ArchivedRow],
        chunks: Mapping[UUID, Sequence[Memory]],
    ) -> int:
        params: dict[str, Any] = {"rows": Jsonb(list(rows))}
        for part in PARTS.get(kind, ()):
            params[part] = Jsonb([one for row in rows for one in _list_part(row.get(part))])
        (stored,) = await transaction.run([(query(f"import_{kind}"), params)])
        if kind is ArchiveKind.MEMORY:
            await self._insert_chunks(transaction, progress, rows, {row["id"] for row in stored}, chunks)
        if kind is ArchiveKind.CONFLICT:
            ids = list({row["id"] for row in stored})
            await transaction.run([(query("mark_disputed"), {"group_id": progress.group_id, "ids": ids})])
        return len(stored)

    async def _insert_chunks(
        self,
        transaction: StatementRunner,
        progress: ImportProgress,
        rows: Sequence[ArchivedRow],
        stored: set[UUID],
        chunks: Mapping[UUID, Sequence[Memory]],
    ) -> None:
        waiting = [row["id"] for row in rows if row["waiting"] and UUID(str(row["id"])) in stored]
        if waiting:
            params = {"group_id": progress.group_id, "ids": waiting, "at": progress.at}
            await transaction.run([(query("import_waiting"), params)])
        made = [chunk for promotion_id in chunks if promotion_id in stored for chunk in chunks[promotion_id]]
        if made:
            await insert_chunks(transaction, self._encoder, progress.group_id, made)

    def _finish(self, progress: ImportProgress, event: AuditEvent | None) -> list[SqlStatement]:
        params = {
            "group_id": progress.group_id,
            "id": progress.import_id,
            "number": progress.number,
            "root": progress.root,
            "finished_at": progress.at if progress.last else None,
        }
        recorded = () if event is None else ((query("add_event"), event_params(event, self._database.signer)),)
        return [(query("advance_import"), params), *recorded]


def _list_part(part: object) -> Sequence[object]:
    if part is None:
        return ()
    return part if isinstance(part, list) else (part,)


def _state_of(row: Mapping[str, Any]) -> ImportState:
    return ImportState(next_number=row["next_number"], root=row["root"], finished=row["finished_at"] is not None)
