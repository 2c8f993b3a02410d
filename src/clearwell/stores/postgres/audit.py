"""The audit trail: events, and the seals over them."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict
from uuid import UUID

from psycopg.rows import DictRow

from clearwell.ports import AuditBatch, AuditStore
from clearwell.records import INSTALLATION, AuditEvent, AuditFilter, AuditSeal
from clearwell.stores.postgres.connection import StatementRunner
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rows import event_of, event_params

HASH_BYTES = 32


class PostgresAudit(AuditStore):
    """Events are read as a reviewer, those of the installation as an operator; the worker seals."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, event: AuditEvent) -> None:
        role = Role.OPERATOR if event.group_id == INSTALLATION else Role.WORKER
        params = event_params(event, self._database.signer)
        await self._database.run(role, event.group_id, query("add_event"), params)

    async def page(self, group_id: str, where: AuditFilter, *, before: UUID | None, limit: int) -> Sequence[AuditEvent]:
        params = {"group_id": group_id, **asdict(where), "before": before, "limit": limit}
        rows = await self._database.run(_reader(group_id), group_id, query("audit_page"), params)
        return [event_of(row) for row in rows]

    async def find_unsealed_groups(self, *, after: str | None, limit: int) -> Sequence[str]:
        params = {"after": after, "limit": limit}
        rows = await self._database.run(Role.WORKER, None, query("audit_unsealed_groups"), params)
        return [row["group_id"] for row in rows]

    def open_batch(self, group_id: str, *, limit: int) -> AbstractAsyncContextManager[AuditBatch]:
        return self._open_batch(group_id, limit)

    @asynccontextmanager
    async def _open_batch(self, group_id: str, limit: int) -> AsyncIterator[AuditBatch]:
        params = {"group_id": group_id, "limit": limit}
        async with self._database.transaction(Role.WORKER, group_id) as transaction:
            await transaction.run([(query("alone_in_seals"), params)])
            last, unsealed = await transaction.run([(query("last_seal"), params), (query("audit_unsealed"), params)])
            events = [event_of(row) for row in unsealed]
            yield PostgresAuditBatch(transaction, group_id, _seal_of(last[0]) if last else None, events)

    async def seals(self, group_id: str, *, after: int, limit: int) -> Sequence[AuditSeal]:
        params = {"group_id": group_id, "after": after, "limit": limit}
        rows = await self._database.run(_reader(group_id), group_id, query("audit_seals"), params)
        return [_seal_of(row) for row in rows]

    async def last_seal(self, group_id: str) -> AuditSeal | None:
        rows = await self._database.run(_reader(group_id), group_id, query("last_seal"), {"group_id": group_id})
        return _seal_of(rows[0]) if rows else None

    async def read(self, group_id: str, event_ids: Sequence[UUID]) -> Mapping[UUID, AuditEvent]:
        params = {"group_id": group_id, "ids": list(event_ids)}
        rows = await self._database.run(_reader(group_id), group_id, query("audit_read"), params)
        return {row["id"]: event_of(row) for row in rows}

    async def scan(self, group_id: str, *, after: UUID | None, limit: int) -> Sequence[AuditEvent]:
        params = {"group_id": group_id, "after": after, "limit": limit}
        rows = await self._database.run(_reader(group_id), group_id, query("audit_scan"), params)
        return [event_of(row) for row in rows]


class PostgresAuditBatch(AuditBatch):
    """Alone among the sealers of the group until the transaction ends."""

    def __init__(
        self, transaction: StatementRunner, group_id: str, last: AuditSeal | None, events: Sequence[AuditEvent]
    ) -> None:
        self._transaction = transaction
        self._group_id = group_id
        self.last = last
        self.events = events

    async def seals(self, *, after: int, limit: int) -> Sequence[AuditSeal]:
        params = {"group_id": self._group_id, "after": after, "limit": limit}
        (rows,) = await self._transaction.run([(query("audit_seals"), params)])
        return [_seal_of(row) for row in rows]

    async def seal(self, seal: AuditSeal) -> None:
        params = {
            "group_id": seal.group_id,
            "number": seal.number,
            "sealed_at": seal.sealed_at,
            "event_ids": list(seal.event_ids),
            "event_hashes": b"".join(seal.event_hashes),
            "root": seal.root,
            "signature": seal.signature,
        }
        await self._transaction.run([(query("add_seal"), params)])


def _reader(group_id: str) -> Role:
    return Role.OPERATOR if group_id == INSTALLATION else Role.REVIEWER


def _seal_of(row: DictRow) -> AuditSeal:
    hashes = bytes(row["event_hashes"])
    return AuditSeal(
        group_id=row["group_id"],
        number=row["number"],
        sealed_at=row["sealed_at"],
        event_ids=tuple(row["event_ids"]),
        event_hashes=tuple(hashes[start : start + HASH_BYTES] for start in range(0, len(hashes), HASH_BYTES)),
        root=bytes(row["root"]),
        signature=bytes(row["signature"]),
    )
