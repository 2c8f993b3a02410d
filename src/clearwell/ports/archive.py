"""Groups as a whole, for export and import."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol
from uuid import UUID

from clearwell.records import (
    ArchivedRow,
    ArchiveKind,
    AuditEvent,
    ImportedRow,
    ImportProgress,
    ImportState,
    Memory,
    RowCounts,
)


class ArchiveSnapshot(Protocol):
    """A group at one moment."""

    async def count(self) -> int:
        """How many rows there are of all kinds."""
        ...

    def rows(self, kind: ArchiveKind) -> AsyncGenerator[Sequence[ArchivedRow]]:
        """All rows of a kind, some at a time."""
        ...


class ArchiveStore(Protocol):
    """Reads everything of a group, and adds rows of an export that are not there yet."""

    def open_snapshot(self, group_id: str) -> AbstractAsyncContextManager[ArchiveSnapshot]: ...

    async def find_import(self, group_id: str, import_id: UUID) -> ImportState | None: ...

    async def claim_secret(self, group_id: str, secret: bytes) -> bool:
        """Take over the secret of a group that has none here. Returns whether it is the group's secret now."""
        ...

    async def add_rows(
        self,
        progress: ImportProgress,
        kind: ArchiveKind,
        rows: Sequence[ImportedRow],
        chunks: Mapping[UUID, Sequence[Memory]],
        *,
        event: AuditEvent | None,
    ) -> RowCounts | None:
        """Store a batch in one transaction, or return None if it is not the expected one.

        Rows that say something that has a tombstone are refused: memories by any tombstone, others by that of a
        forgotten value. ``chunks`` are those of memories, by promotion.
        """
        ...
