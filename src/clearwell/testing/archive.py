"""Export and import are SQL. Tests of them run on PostgreSQL."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from uuid import UUID

from clearwell.ports import ArchiveSnapshot, ArchiveStore
from clearwell.records import ArchiveKind, AuditEvent, ImportedRow, ImportProgress, ImportState, Memory, RowCounts


class NoArchive(ArchiveStore):
    def open_snapshot(self, group_id: str) -> AbstractAsyncContextManager[ArchiveSnapshot]:
        raise NotImplementedError

    async def find_import(self, group_id: str, import_id: UUID) -> ImportState | None:
        raise NotImplementedError

    async def claim_secret(self, group_id: str, secret: bytes) -> bool:
        raise NotImplementedError

    async def add_rows(
        self,
        progress: ImportProgress,
        kind: ArchiveKind,
        rows: Sequence[ImportedRow],
        chunks: Mapping[UUID, Sequence[Memory]],
        *,
        event: AuditEvent | None,
    ) -> RowCounts | None:
        raise NotImplementedError
