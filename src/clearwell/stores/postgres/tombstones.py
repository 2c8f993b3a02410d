"""Values that people rejected or forgot, by their hash."""

import secrets
from collections.abc import Sequence
from typing import Any

from psycopg.rows import DictRow

from clearwell.ports import TombstoneStore
from clearwell.records import Tombstone, TombstoneKind, Vector
from clearwell.stores.postgres.connection import SqlStatement
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rows import to_column


class PostgresTombstones(TombstoneStore):
    def __init__(self, database: Database) -> None:
        self._database = database

    async def secret(self, group_id: str) -> bytes:
        """Return the key of the group's hashes, which is made when it is first needed."""
        mine = {"group_id": group_id, "secret": secrets.token_bytes(32)}
        statements: list[SqlStatement] = [(query("make_secret"), mine), (query("read_secret"), {"group_id": group_id})]
        _, rows = await self._database.run_all(Role.WORKER, group_id, statements)
        return bytes(rows[0]["secret"])

    async def look_up(
        self, group_id: str, value_hashes: Sequence[bytes], *, embeddings: Sequence[Vector] = (), model: str = ""
    ) -> tuple[Tombstone | None, tuple[Tombstone, float] | None]:
        statements = lookup_statements(group_id, value_hashes, embeddings, model)
        return lookup_result(await self._database.run_all(Role.WORKER, group_id, statements))

    async def all(self, group_id: str) -> Sequence[Tombstone]:
        rows = await self._database.run(Role.REVIEWER, group_id, query("list_tombstones"), {"group_id": group_id})
        return [tombstone_of(row) for row in rows]


def lookup_statements(
    group_id: str, value_hashes: Sequence[bytes], embeddings: Sequence[Vector], model: str
) -> list[SqlStatement]:
    """Return the statements that find the tombstones of these values and, with vectors, the nearest rejected one."""
    in_force = (query("tombstones_in_force"), {"group_id": group_id, "value_hashes": list(value_hashes)})
    if not embeddings:
        return [in_force]
    nearest = {"group_id": group_id, "embeddings": [to_column(one) for one in embeddings], "model": model}
    return [in_force, (query("nearest_tombstone"), nearest)]


def lookup_result(answers: Sequence[list[DictRow]]) -> tuple[Tombstone | None, tuple[Tombstone, float] | None]:
    """What the rows of ``lookup_statements`` say."""
    in_force, *others = answers
    nearest = [row for rows in others for row in rows]
    return (
        tombstone_of(in_force[0]) if in_force else None,
        (tombstone_of(nearest[0]), float(nearest[0]["similarity"])) if nearest else None,
    )


def tombstone_params(
    tombstone: Tombstone, value_hash: bytes, *, embedding: Vector | None, model: str | None
) -> dict[str, Any]:
    return {
        "group_id": tombstone.group_id,
        "id": tombstone.id,
        "value_hash": value_hash,
        "kind": tombstone.kind,
        "reason": tombstone.reason,
        "model": None if embedding is None else model,
        "embedding": None if embedding is None else to_column(embedding),
        "made_by": tombstone.made_by,
        "made_at": tombstone.made_at,
    }


def tombstone_of(row: DictRow) -> Tombstone:
    return Tombstone(
        id=row["id"],
        group_id=row["group_id"],
        kind=TombstoneKind(row["kind"]),
        reason=row["reason"],
        made_by=row["made_by"],
        made_at=row["made_at"],
        lifted_by=row["lifted_by"],
        lifted_at=row["lifted_at"],
    )
