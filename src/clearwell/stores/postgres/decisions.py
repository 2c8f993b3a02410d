"""Decisions: a transaction that holds its group, and the promotions whose chunks follow later."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from uuid import UUID
from weakref import WeakValueDictionary

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from clearwell.errors import RequestInProgress, Unauthenticated
from clearwell.ports import (
    FAR_AHEAD,
    PROMOTION_BACK_OFF,
    TOMBSTONED,
    Claim,
    Clock,
    DecisionStore,
    DecisionTransaction,
    PromotionKey,
    RecordedDecision,
    Signer,
    SparseEncoder,
    WaitingPromotion,
)
from clearwell.records import (
    AuditEvent,
    Decision,
    Insight,
    Json,
    Memory,
    Promotion,
    PromotionState,
    Tombstone,
    Vector,
    find_key_id,
)
from clearwell.stores.postgres.connection import SqlStatement, StatementRunner
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.decision_rows import (
    chunks_params,
    decision_of,
    decisions_params,
    models_of,
    promotion_state_of,
    promotions_params,
)
from clearwell.stores.postgres.idempotency import claim_params
from clearwell.stores.postgres.insight_rows import changed_insight_params, insights_of
from clearwell.stores.postgres.lexical_index import NewChunkIndexer, reindex_sessions
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rows import event_params, events_params, to_column
from clearwell.stores.postgres.tombstones import tombstone_of, tombstone_params


class PostgresDecisions(DecisionStore):
    """Transactions for reviewers, and for the worker the promotions that reviewers left waiting."""

    def __init__(self, database: Database, encoder: SparseEncoder, clock: Clock) -> None:
        self._database = database
        self._encoder = encoder
        self._clock = clock
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def transaction(self, group_id: str) -> AsyncIterator["PostgresDecisionTransaction"]:
        # The tasks of this process queue here: in the database each would hold a pooled connection while it waits.
        lock = self._locks.setdefault(group_id, asyncio.Lock())
        async with lock, self._database.transaction(Role.REVIEWER, group_id) as runner:
            transaction = PostgresDecisionTransaction(runner, self._encoder, group_id, self._database.signer)
            yield transaction
            await transaction.flush()

    async def list_waiting(self, *, limit: int) -> Sequence[WaitingPromotion]:
        now = self._clock.now()
        params = {"now": now, "ahead": now + FAR_AHEAD, "limit": limit}
        rows = await self._database.run(Role.WORKER, None, query("waiting_promotions"), params)
        return [WaitingPromotion(**row) for row in rows]

    async def read_waiting(self, waiting: WaitingPromotion) -> Promotion | None:
        params = _waiting_params(waiting)
        rows = await self._database.run(Role.WORKER, waiting.group_id, query("waiting_promotion"), params)
        return promotion_state_of(rows[0]).promotion if rows else None

    async def complete_waiting(
        self,
        waiting: WaitingPromotion,
        chunks: Sequence[Memory],
        *,
        value_hashes: Sequence[bytes],
        conflicts_with: Sequence[UUID] = (),
        event: AuditEvent,
    ) -> bool:
        params = _waiting_params(waiting)
        async with self._database.transaction(Role.WORKER, waiting.group_id) as runner:
            _, still_waiting, refused = await runner.run(
                [
                    (query("alone_in_longterm"), params),
                    (query("waiting_promotion"), params),
                    (query("tombstones_in_force"), {"group_id": waiting.group_id, "value_hashes": list(value_hashes)}),
                ]
            )
            if not still_waiting or refused:
                return False
            replaced, _ = await runner.run(
                [
                    (query("supersede_by_waiting"), {**params, "at": event.at}),
                    (query("withdraw_replaced_work"), params),
                ]
            )
            await reindex_sessions(runner, self._encoder, waiting.group_id, replaced, by=-1)
            indexer = NewChunkIndexer(self._encoder, waiting.group_id, chunks)
            ends = await runner.run(indexer.make_reads())
            pairs = [(chunks[0].id, other) for other in conflicts_with]
            await runner.run(
                [
                    *await _build_chunk_inserts(indexer, chunks, waiting.group_id, ends),
                    (query("add_event"), event_params(event, self._database.signer)),
                    (query("delete_promotion_work"), params),
                    (query("add_conflicts"), _conflict_params(waiting.group_id, pairs, event.at)),
                ]
            )
            return True

    async def postpone_waiting(self, waiting: WaitingPromotion, *, problem: str) -> None:
        params = {
            **_waiting_params(waiting),
            "problem": problem,
            "now": self._clock.now(),
            "first": PROMOTION_BACK_OFF.first,
            "longest": PROMOTION_BACK_OFF.longest,
        }
        await self._database.run(Role.WORKER, waiting.group_id, query("postpone_promotion"), params)


def _waiting_params(waiting: WaitingPromotion) -> dict[str, Any]:
    return {"group_id": waiting.group_id, "promotion_id": waiting.promotion_id}


async def _build_chunk_inserts(
    indexer: NewChunkIndexer[Memory], chunks: Sequence[Memory], group_id: str, ends: Sequence[Sequence[DictRow]]
) -> list[SqlStatement]:
    """The statements that store new chunks with their positions and terms, now that the ends of sessions are read."""
    placed, changed = await indexer.index(ends)
    return [
        *((query("note_embedding_model"), model) for model in models_of(chunks)),
        (query("add_memories"), {"group_id": group_id, **chunks_params(placed)}),
        *changed,
    ]


class PostgresDecisionTransaction(DecisionTransaction):
    """One transaction of a reviewer.

    Writes are collected and sent with the next statement whose answer is needed, so that they cost no round trip of
    their own. The first of them takes the lock of the group.
    """

    def __init__(self, runner: StatementRunner, encoder: SparseEncoder, group_id: str, signer: Signer | None) -> None:
        self._runner = runner
        self._encoder = encoder
        self._group_id = group_id
        self._signer = signer
        self._writes: list[SqlStatement] = [(query("alone_in_longterm"), {"group_id": group_id})]

    async def flush(self) -> None:
        """Send the writes that are left."""
        if self._writes:
            await self._read()

    # insights

    async def find_insights(self, ids: Sequence[UUID]) -> Mapping[UUID, Insight]:
        found = {"ids": list(ids), "before": None, "state": None, "now": None, "limit": len(ids)}
        rows, sources = await self._read(
            self._statement("insights", **found), self._statement("insight_sources", ids=list(ids), chars=None)
        )
        return {one.id: one for one in insights_of(rows, sources)}

    async def find_flagged_insights(self, flag: str) -> Sequence[Insight]:
        (rows,) = await self._read(self._statement("flagged_insights", flag=flag))
        return list((await self.find_insights([row["id"] for row in rows])).values())

    async def update_insight(self, insight: Insight) -> None:
        self._writes.append((query("update_insight"), changed_insight_params(insight)))

    async def merge_sources(self, insight_id: UUID, others: Sequence[UUID]) -> None:
        self._write("merge_sources", id=insight_id, others=list(others))

    async def separate_sources(self, insight_id: UUID, others: Sequence[UUID]) -> None:
        self._write("separate_sources", id=insight_id, others=list(others))

    async def mark_decided(self, marks: Mapping[UUID, UUID]) -> None:
        self._write("mark_judged", log_ids=list(marks), by=list(marks.values()))

    async def clear_judged(self, *, by: UUID) -> None:
        self._write("clear_judged", by=by)

    # decisions

    async def find_decision(self, decision_id: UUID) -> Decision | None:
        (rows,) = await self._read(self._statement("decision", id=decision_id))
        return decision_of(rows[0]) if rows else None

    async def find_last_decision(self, insight_id: UUID) -> Decision | None:
        (rows,) = await self._read(self._statement("last_decision", insight_id=insight_id))
        return decision_of(rows[0]) if rows else None

    async def is_undone(self, decision_id: UUID) -> bool:
        (rows,) = await self._read(self._statement("is_undone", id=decision_id))
        return bool(rows)

    async def find_promoting_decisions(self, memory_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[RecordedDecision]]:
        (rows,) = await self._read(self._statement("promoting_decisions", ids=list(memory_ids)))
        found: dict[UUID, list[RecordedDecision]] = {}
        for row in rows:
            found.setdefault(row["memory_id"], []).append(RecordedDecision(decision_of(row), row["undone"]))
        return found

    async def find_superseding_decisions(self, memory_ids: Sequence[UUID]) -> Mapping[UUID, Decision]:
        (rows,) = await self._read(self._statement("superseding_decisions", ids=list(memory_ids)))
        return {row["supersedes"]: decision_of(row) for row in rows}

    async def find_retracting_decision(self, memory_id: UUID) -> Decision | None:
        (rows,) = await self._read(self._statement("retracting_decision", id=memory_id))
        return decision_of(rows[0]) if rows else None

    async def find_rejecting_decisions(self, tombstone_id: UUID) -> Sequence[RecordedDecision]:
        (rows,) = await self._read(self._statement("rejecting_decisions", id=tombstone_id))
        return [RecordedDecision(decision_of(row), row["undone"]) for row in rows]

    async def record_decisions(self, decisions: Sequence[tuple[Decision, AuditEvent]]) -> None:
        held = {key_id for decision, _ in decisions if (key_id := find_key_id(decision.by))}
        if held:
            ((row,),) = await self._read((query("has_revoked_key"), {"ids": list(held)}))
            if row["revoked"]:
                raise Unauthenticated("key_revoked")
        self._writes.append((query("add_events"), events_params([event for _, event in decisions], self._signer)))
        self._write("add_decisions", **decisions_params([decision for decision, _ in decisions]))

    async def record_event(self, event: AuditEvent) -> None:
        self._writes.append((query("add_event"), event_params(event, self._signer)))

    # promotions and long-term memory

    async def find_promotions(self, memory_ids: Sequence[UUID]) -> Mapping[UUID, PromotionState]:
        (rows,) = await self._read(self._statement("promotion_states", memory_ids=list(memory_ids)))
        return {row["memory_id"]: promotion_state_of(row) for row in rows}

    async def find_duplicates(self, keys: Sequence[PromotionKey]) -> Mapping[PromotionKey, PromotionState]:
        (rows,) = await self._read(self._statement("find_duplicates", **_key_params(keys)))
        return {keys[row["number"] - 1]: promotion_state_of(row) for row in rows}

    async def list_duplicates(self, key: PromotionKey) -> Sequence[PromotionState]:
        (rows,) = await self._read(self._statement("list_duplicates", **_key_params([key])))
        return [promotion_state_of(row) for row in rows]

    async def insert_promotions(self, promotions: Sequence[tuple[Promotion, Sequence[Memory] | None]]) -> None:
        self._write("add_promotions", **promotions_params([promotion for promotion, _ in promotions]))
        waiting = [promotion for promotion, chunks in promotions if chunks is None]
        if waiting:
            ids = [promotion.id for promotion in waiting]
            self._write("add_promotion_work", promotion_ids=ids, at=waiting[0].decided_at)
        stored = [chunk for _, chunks in promotions for chunk in chunks or ()]
        if stored:
            indexer = NewChunkIndexer(self._encoder, self._group_id, stored)
            ends = await self._read(*indexer.make_reads())
            self._writes += await _build_chunk_inserts(indexer, stored, self._group_id, ends)

    async def insert_conflicts(self, pairs: Sequence[tuple[UUID, UUID]], *, at: datetime) -> None:
        self._writes.append((query("add_conflicts"), _conflict_params(self._group_id, pairs, at)))

    async def withdraw_memories(self, memory_ids: Sequence[UUID], *, at: datetime) -> None:
        params = {"ids": list(memory_ids), "at": at}
        chunks, _ = await self._read(
            self._statement("withdraw_memories", **params), self._statement("withdraw_promotion_work", **params)
        )
        await reindex_sessions(self._runner, self._encoder, self._group_id, chunks, by=-1)

    async def restore_memories(self, memory_ids: Sequence[UUID], *, at: datetime) -> None:
        params = {"ids": list(memory_ids), "at": at}
        _, chunks, _ = await self._read(
            self._statement("add_memory_gaps", **params),
            self._statement("restore_memories", **params),
            self._statement("restore_promotion_work", **params),
        )
        await reindex_sessions(self._runner, self._encoder, self._group_id, chunks, by=1)

    async def retry_refused_promotions(self, *, at: datetime) -> None:
        self._write("retry_refused_promotions", problem=TOMBSTONED, at=at)

    # tombstones

    async def find_tombstones(self, value_hashes: Sequence[bytes]) -> Mapping[bytes, Tombstone]:
        (rows,) = await self._read(self._statement("tombstones_in_force", value_hashes=list(value_hashes)))
        return {bytes(row["value_hash"]): tombstone_of(row) for row in rows}

    async def find_nearest_tombstone(self, embedding: Vector, model: str) -> tuple[Tombstone, float] | None:
        nearest = self._statement("nearest_tombstone", embeddings=[to_column(embedding)], model=model)
        (rows,) = await self._read(nearest)
        return (tombstone_of(rows[0]), float(rows[0]["similarity"])) if rows else None

    async def insert_tombstone(
        self, tombstone: Tombstone, value_hash: bytes, *, embedding: Vector | None, model: str | None
    ) -> bool:
        params = tombstone_params(tombstone, value_hash, embedding=embedding, model=model)
        (added,) = await self._read((query("add_tombstone"), params))
        return bool(added[0]["rowcount"])

    async def lift_tombstone(self, tombstone_id: UUID, *, by: str, at: datetime) -> bool:
        (lifted,) = await self._read(self._statement("lift_tombstone", id=tombstone_id, by=by, at=at))
        return bool(lifted[0]["rowcount"])

    # idempotency

    async def store_answer(self, claim: Claim, answer: Json) -> None:
        params = {**claim_params(claim.request), "token": claim.token, "answer": Jsonb(answer)}
        (completed,) = await self._read((query("complete_claim"), params))
        if completed[0]["rowcount"] != 1:
            raise RequestInProgress("idempotency_running", key=claim.request.key)

    def _write(self, name: str, **params: object) -> None:
        self._writes.append(self._statement(name, **params))

    async def _read(self, *statements: SqlStatement) -> list[list[DictRow]]:
        """Send the collected writes and then these statements, in one round trip; the rows of the latter."""
        writes, self._writes = self._writes, []
        answers = await self._runner.run([*writes, *statements])
        return answers[len(writes) :]

    def _statement(self, name: str, **params: object) -> SqlStatement:
        return query(name), {"group_id": self._group_id, **params}


def _key_params(keys: Sequence[PromotionKey]) -> dict[str, object]:
    return {"fingerprints": [key.fingerprint for key in keys], "origin_ids": [key.origin_id for key in keys]}


def _conflict_params(group_id: str, pairs: Sequence[tuple[UUID, UUID]], at: datetime) -> dict[str, Any]:
    """Each pair in both directions, so that either memory finds the other by the key."""
    both = [*pairs, *((other, one) for one, other in pairs)]
    return {"group_id": group_id, "ids": [one for one, _ in both], "others": [other for _, other in both], "at": at}
