"""The change to another embedding model, in the worker's role, which can change vectors and nothing else."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from clearwell.ports import ReembeddingStore
from clearwell.records import ModelChoice, NewReembedding, Reembedding, StoredText, Vector
from clearwell.stores.postgres.connection import SqlStatement
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rows import to_column

BEFORE_ALL = UUID(int=0)


class PostgresReembeddings(ReembeddingStore):
    def __init__(self, database: Database) -> None:
        self._database = database

    async def last(self) -> Reembedding | None:
        rows = await self._database.run(Role.WORKER, None, query("last_reembedding"))
        return reembedding_of(rows[0]) if rows else None

    async def begin(self, reembedding: NewReembedding) -> Reembedding:
        params = {
            "from_model": reembedding.from_model,
            "from_choice": Jsonb(reembedding.from_choice.to_json()),
            "to_model": reembedding.to_model,
            "to_choice": Jsonb(reembedding.to_choice.to_json()),
            "by": reembedding.started_by,
            "at": reembedding.started_at,
            "moving_at": reembedding.started_at if reembedding.at_once else None,
        }
        statements = [(query("give_up_reembedding"), params), (query("begin_reembedding"), params)]
        _, (row,) = await self._database.run_all(Role.WORKER, None, statements)
        return reembedding_of(row)

    async def set_off(self, reembedding_id: int, *, at: datetime) -> None:
        await self._database.run(Role.WORKER, None, query("set_off_reembedding"), {"id": reembedding_id, "at": at})

    async def finish(self, reembedding_id: int, *, at: datetime) -> None:
        await self._database.run(Role.WORKER, None, query("finish_reembedding"), {"id": reembedding_id, "at": at})

    async def models(self) -> dict[str, int]:
        rows = await self._database.run(Role.WORKER, None, query("embedding_models"))
        return {row["model"]: row["dimensions"] for row in rows}

    async def groups(self) -> list[str]:
        return [row["group_id"] for row in await self._database.run(Role.WORKER, None, query("groups_with_memories"))]

    async def count_remaining(self, group_id: str, model: str) -> int:
        params = {"group_id": group_id, "model": model}
        (row,) = await self._database.run(Role.WORKER, group_id, query("vectors_left"), params)
        count: int = row["chunks"]
        return count

    async def texts(self, group_id: str, model: str, *, after: StoredText | None, limit: int) -> list[StoredText]:
        params = {
            "group_id": group_id,
            "model": model,
            "after_id": BEFORE_ALL if after is None else after.id,
            "after_chunk": -1 if after is None else after.chunk_no,
            "limit": limit,
        }
        rows = await self._database.run(Role.WORKER, group_id, query("texts_of_other_models"), params)
        return [StoredText(**row) for row in rows]

    async def put(self, group_id: str, model: str, made: Sequence[tuple[StoredText, Vector]], *, at: datetime) -> int:
        if not made:
            return 0
        noted = {"model": model, "dimensions": len(made[0][1]), "at": at}
        updates: list[SqlStatement] = [
            (
                query("put_vector"),
                {
                    "group_id": group_id,
                    "id": text.id,
                    "chunk_no": text.chunk_no,
                    "model": model,
                    "embedding": to_column(vector),
                },
            )
            for text, vector in made
        ]
        statements = [(query("note_embedding_model"), noted), *updates]
        _, *touched = await self._database.run_all(Role.WORKER, group_id, statements)
        return sum(rows[0]["rowcount"] for rows in touched)


def reembedding_of(row: DictRow) -> Reembedding:
    return Reembedding(
        id=row["id"],
        from_model=row["from_model"],
        from_choice=ModelChoice.from_json(row["from_choice"]),
        to_model=row["to_model"],
        to_choice=ModelChoice.from_json(row["to_choice"]),
        moving_at=row["moving_at"],
        finished_at=row["finished_at"],
    )
