"""Lost and changed chunks, written again in the reviewer's role, which may store the chunks of what reviewers promoted.

Changed ones are removed first, in the eraser's role and the same transaction.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow

from clearwell.offload import offload
from clearwell.ports import (
    TOMBSTONED,
    LostMemory,
    LostMemoryStore,
    RebuildCounts,
    RebuiltMemory,
    SparseEncoder,
)
from clearwell.records import AuditEvent, Memory
from clearwell.stores.postgres.connection import SqlStatement, StatementRunner
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.decision_rows import chunks_params, models_of, promotion_state_of
from clearwell.stores.postgres.lexical_index import encode_chunk, reindex_sessions
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rows import event_params


class PostgresLostMemories(LostMemoryStore):
    def __init__(self, database: Database, encoder: SparseEncoder) -> None:
        self._database = database
        self._encoder = encoder

    async def count_lost(self, group_id: str) -> int:
        params = _lost_params(group_id)
        (row,) = await self._database.run(Role.REVIEWER, group_id, query("count_lost_promotions"), params)
        count: int = row["promotions"]
        return count

    async def list_lost(self, group_id: str, *, after: UUID | None, limit: int) -> list[LostMemory]:
        params = _lost_params(group_id, after=after, limit=limit)
        rows = await self._database.run(Role.REVIEWER, group_id, query("list_lost_promotions"), params)
        return [_lost_memory_of(row) for row in rows]

    async def write_chunks(
        self, group_id: str, rebuilt: Sequence[RebuiltMemory], *, event: AuditEvent
    ) -> RebuildCounts:
        ids = [one.promotion.id for one in rebuilt]
        hashes = [value for one in rebuilt for value in one.value_hashes]
        async with self._database.transaction(Role.ERASER, group_id) as runner:
            _, removed, _, rows, tombstones = await runner.run(
                [
                    (query("alone_in_longterm"), {"group_id": group_id}),
                    (query("remove_changed_chunks"), {"group_id": group_id, "ids": ids}),
                    (query("enter"), {"role": Role.REVIEWER, "group_id": group_id}),
                    (query("list_lost_promotions"), _lost_params(group_id, ids=ids)),
                    (query("tombstones_in_force"), {"group_id": group_id, "value_hashes": hashes}),
                ]
            )
            lost = {one.promotion.id: one for one in map(_lost_memory_of, rows)}
            rejected = {bytes(row["value_hash"]) for row in tombstones}
            still_lost = [one for one in rebuilt if one.promotion.id in lost]
            refused = [one for one in still_lost if not rejected.isdisjoint(one.value_hashes)]
            written = [one for one in still_lost if rejected.isdisjoint(one.value_hashes)]
            chunks = [chunk for one in written for chunk in _date_chunks(one, lost[one.promotion.id])]
            held = [one.promotion.id for one in refused if lost[one.promotion.id].withdrawn_at is None]
            if held:
                params = {"group_id": group_id, "promotion_ids": held, "at": event.at, "problem": TOMBSTONED}
                await runner.run([(query("hold_lost_promotions"), params)])
            if chunks:
                await insert_chunks(runner, self._encoder, group_id, chunks)
            if chunks or held or removed:
                detail = {
                    "memories": len(written),
                    "chunks": len(chunks),
                    "on_hold": len(held),
                    "changed": len({row["promotion_id"] for row in removed}),
                }
                stored = replace(event, detail=detail)
                await runner.run([(query("add_event"), event_params(stored, self._database.signer))])
        return RebuildCounts(len(written), len(chunks), len(refused))

    async def has_outdated_terms(self, group_id: str) -> bool:
        params = {"group_id": group_id, "tokenizer_version": self._encoder.version}
        (row,) = await self._database.run(Role.WORKER, group_id, query("outdated_terms"), params)
        return bool(row["groups"])

    async def note_lost_statements(self, group_id: str) -> None:
        await self._database.run(Role.WORKER, group_id, query("note_lost_statements"), {"group_id": group_id})


async def insert_chunks(
    runner: StatementRunner, encoder: SparseEncoder, group_id: str, chunks: Sequence[Memory]
) -> None:
    """Insert chunks, each with its own terms, and place the valid ones among their neighbours in the session."""
    size = sum(len(chunk.content) for chunk in chunks)
    placed = await offload(size, _encode, encoder, chunks)
    ids = list(dict.fromkeys(chunk.id for chunk in chunks))
    noted = {"group_id": group_id, "tokenizer_version": encoder.version}
    statements: list[SqlStatement] = [
        *((query("note_embedding_model"), model) for model in models_of(chunks)),
        (query("add_memories"), {"group_id": group_id, **chunks_params(placed)}),
        (query("mark_disputed"), {"group_id": group_id, "ids": ids}),
        (query("note_indexed"), noted),
    ]
    await runner.run(statements)
    valid = [_row_of(chunk) for chunk in chunks if chunk.valid_to is None]
    await reindex_sessions(runner, encoder, group_id, valid, by=1)


def _encode(encoder: SparseEncoder, chunks: Sequence[Memory]) -> list[tuple[Memory, dict[str, Any]]]:
    return [(chunk, {"position": None, **encode_chunk(encoder, chunk.content, ())}) for chunk in chunks]


def _lost_params(
    group_id: str, *, ids: Sequence[UUID] | None = None, after: UUID | None = None, limit: int | None = None
) -> dict[str, Any]:
    return {"group_id": group_id, "ids": None if ids is None else list(ids), "after": after, "limit": limit}


def _lost_memory_of(row: DictRow) -> LostMemory:
    return LostMemory(
        promotion=promotion_state_of(row).promotion, promoted_at=row["promoted_at"], withdrawn_at=row["withdrawn_at"]
    )


def _date_chunks(rebuilt: RebuiltMemory, lost: LostMemory) -> list[Memory]:
    """The chunks with the times that the decisions give them."""
    return [
        replace(chunk, created_at=lost.promoted_at, promoted_at=lost.promoted_at, valid_to=lost.withdrawn_at)
        for chunk in rebuilt.chunks
    ]


def _row_of(chunk: Memory) -> DictRow:
    """A chunk as ``restore_memories`` returns it."""
    return {
        "id": chunk.id,
        "chunk_no": chunk.chunk_no,
        "session_id": chunk.session_id,
        "agent_id": chunk.agent_id,
        "author": chunk.author,
        "content": chunk.content,
        "position": None,
    }
