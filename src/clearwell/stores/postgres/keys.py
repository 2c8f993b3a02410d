"""API keys, by the hash of their secret."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from psycopg.rows import DictRow

from clearwell.ports import KeyStore
from clearwell.records import ApiKey, AuditEvent, KeyLookup, Right
from clearwell.stores.postgres.connection import SqlStatement
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rows import event_params


class PostgresKeys(KeyStore):
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, key: ApiKey, secret_hash: bytes, *, event: AuditEvent) -> None:
        params = {
            "id": key.id,
            "name": key.name,
            "secret_hash": secret_hash,
            "rights": sorted(key.rights),
            "groups": None if key.groups is None else sorted(key.groups),
            "agent_id": key.agent_id,
            "created_at": key.created_at,
        }
        statements = [(query("add_key"), params), (query("add_event"), event_params(event, self._database.signer))]
        await self._database.run_all(Role.OPERATOR, None, statements)

    async def find(self, secret_hash: bytes | None) -> KeyLookup:
        (row,) = await self._database.run(None, None, query("find_key"), {"hash": secret_hash})
        return _lookup_of(row)

    async def all(self) -> Sequence[ApiKey]:
        return [_key_of(row) for row in await self._database.run(Role.OPERATOR, None, query("list_keys"))]

    async def revoke(self, key_id: UUID, *, at: datetime, event: AuditEvent) -> bool:
        async with self._database.transaction(Role.OPERATOR, "") as transaction:
            (revoked,) = await transaction.run([(query("revoke_key"), {"id": key_id, "at": at})])
            if revoked[0]["rowcount"]:
                await transaction.run([(query("add_event"), event_params(event, self._database.signer))])
            return bool(revoked[0]["rowcount"])

    async def find_session(self, token_hash: bytes, *, at: datetime) -> KeyLookup:
        (row,) = await self._database.run(None, None, query("find_session"), {"hash": token_hash, "at": at})
        return _lookup_of(row)

    async def add_session(self, token_hash: bytes, key_id: UUID, *, at: datetime, expires_at: datetime) -> None:
        params = {"hash": token_hash, "key_id": key_id, "at": at, "expires_at": expires_at}
        expired: SqlStatement = (query("remove_expired_sessions"), {"at": at})
        statements = [expired, (query("add_session"), params)]
        await self._database.run_all(Role.OPERATOR, None, statements)

    async def remove_session(self, token_hash: bytes) -> None:
        await self._database.run(Role.OPERATOR, None, query("remove_session"), {"hash": token_hash})


def _lookup_of(row: DictRow) -> KeyLookup:
    found = None if row["id"] is None else _key_of({**row, "revoked_at": None})
    return KeyLookup(key=found, any_key_ever=row["any_key_ever"])


def _key_of(row: DictRow) -> ApiKey:
    return ApiKey(
        id=row["id"],
        name=row["name"],
        rights=frozenset(Right(right) for right in row["rights"]),
        groups=None if row["groups"] is None else frozenset(row["groups"]),
        agent_id=row["agent_id"],
        created_at=row["created_at"],
        revoked_at=row["revoked_at"],
    )
