"""Decisions: a transaction that holds its group, and the chunks that follow a decision later."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime, timedelta
from uuid import UUID
from weakref import WeakValueDictionary

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from clearwell.errors import StillRunning
from clearwell.ports import TOMBSTONED, Claim, Clock, DecisionTransaction, Lexicon, WaitingPromotion
from clearwell.records import (
    AuditEvent,
    Decision,
    Insight,
    Json,
    Memory,
    NewMemory,
    Promotion,
    PromotionState,
    Tombstone,
    Vector,
)
from clearwell.stores.postgres.connection import Statement, StatementRunner
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.decision_rows import (
    decision_of,
    decision_params,
    memory_params,
    models_of,
    promotion_params,
    promotion_state_of,
)
from clearwell.stores.postgres.idempotency import claim_params
from clearwell.stores.postgres.insight_rows import changed_insight_params, insights_of
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rewording import reword
from clearwell.stores.postgres.rows import event_params, to_column
from clearwell.stores.postgres.tombstones import tombstone_of
from clearwell.stores.postgres.words import Words

FIRST, LONGEST = timedelta(seconds=2), timedelta(minutes=5)
"""The pause after the first failed try, twice as long after each, up to this."""


class PostgresDecisions:
    """The reviewer's hand, and the worker's for what a reviewer left to it."""

    def __init__(self, database: Database, lexicon: Lexicon, clock: Clock) -> None:
        self._database = database
        self._lexicon = lexicon
        self._clock = clock
        self._alone: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def transaction(self, group_id: str) -> AbstractAsyncContextManager[DecisionTransaction]:
        return self._open(group_id)

    @asynccontextmanager
    async def _open(self, group_id: str) -> AsyncIterator[DecisionTransaction]:
        # Those of this process wait here: each would hold a connection of the pool while it waits in the database.
        lock = self._alone.setdefault(group_id, asyncio.Lock())
        async with lock, self._database.transaction(Role.REVIEWER, group_id) as transaction:
            await transaction.run([(query("alone_in_longterm"), {"group_id": group_id})])
            yield PostgresDecisionTransaction(transaction, self._lexicon, group_id)

    async def waiting(self, *, limit: int) -> Sequence[WaitingPromotion]:
        params = {"now": self._clock.now(), "limit": limit}
        rows = await self._database.run(Role.WORKER, None, query("waiting_promotions"), params)
        return [WaitingPromotion(**row) for row in rows]

    async def load(self, one: WaitingPromotion) -> Promotion | None:
        rows = await self._database.run(Role.WORKER, one.group_id, query("waiting_promotion"), _waiting_params(one))
        return promotion_state_of(rows[0]).promotion if rows else None

    async def carry_out(
        self, one: WaitingPromotion, chunks: Sequence[Memory], *, digests: Sequence[bytes], event: AuditEvent
    ) -> bool:
        params = _waiting_params(one)
        async with self._database.transaction(Role.WORKER, one.group_id) as transaction:
            _, still, refused = await transaction.run(
                [
                    (query("alone_in_longterm"), params),
                    (query("waiting_promotion"), params),
                    (query("standing_tombstones"), {"group_id": one.group_id, "digests": list(digests)}),
                ]
            )
            if not still or refused:
                return False
            replaced, _ = await transaction.run(
                [
                    (query("supersede_by_waiting"), {**params, "at": event.at}),
                    (query("drop_replaced_work"), params),
                ]
            )
            await reword(transaction, self._lexicon, one.group_id, replaced, by=-1)
            words = Words(self._lexicon, one.group_id, chunks)
            ends = await transaction.run(words.asked())
            placed, changed = await words.read(ends)
            promotion = promotion_state_of(still[0]).promotion
            await transaction.run(
                [
                    *((query("note_embedding_model"), model) for model in models_of([(promotion, chunks)])),
                    *((query("add_memory"), memory_params(chunk) | more) for chunk, more in placed),
                    *changed,
                    (query("add_event"), event_params(event)),
                    (query("end_promotion_work"), params),
                ]
            )
            return True

    async def postpone(self, one: WaitingPromotion, *, problem: str) -> None:
        params = {
            **_waiting_params(one),
            "problem": problem,
            "now": self._clock.now(),
            "first": FIRST,
            "longest": LONGEST,
        }
        await self._database.run(Role.WORKER, one.group_id, query("postpone_promotion"), params)


def _waiting_params(one: WaitingPromotion) -> dict[str, object]:
    return {"group_id": one.group_id, "promotion_id": one.promotion_id}


class PostgresDecisionTransaction:
    """One transaction, step by step."""

    def __init__(self, transaction: StatementRunner, lexicon: Lexicon, group_id: str) -> None:
        self._transaction = transaction
        self._lexicon = lexicon
        self._group_id = group_id

    async def find_insights(self, ids: Sequence[UUID]) -> Mapping[UUID, Insight]:
        params = self._of_group(ids=list(ids), before=None, state=None, now=None, limit=len(ids))
        rows, sources = await self._run(
            (query("insights"), params), (query("insight_sources"), self._of_group(ids=list(ids), chars=None))
        )
        return {one.id: one for one in insights_of(rows, sources)}

    async def find_decision(self, decision_id: UUID) -> Decision | None:
        (rows,) = await self._run((query("decision"), {"group_id": self._group_id, "id": decision_id}))
        return decision_of(rows[0]) if rows else None

    async def find_last_decision(self, insight_id: UUID) -> Decision | None:
        params = {"group_id": self._group_id, "insight_id": insight_id}
        (rows,) = await self._run((query("standing_decision"), params))
        return decision_of(rows[0]) if rows else None

    async def is_undone(self, decision_id: UUID) -> bool:
        (rows,) = await self._run((query("is_undone"), {"group_id": self._group_id, "id": decision_id}))
        return bool(rows)

    async def find_promoting_decisions(self, memory_id: UUID) -> Sequence[tuple[Decision, bool]]:
        (rows,) = await self._run((query("promotes_of"), self._of_group(id=memory_id)))
        return [(decision_of(row), row["undone"]) for row in rows]

    async def find_superseding_decision(self, memory_id: UUID) -> Decision | None:
        (rows,) = await self._run((query("superseding_decision"), self._of_group(id=memory_id)))
        return decision_of(rows[0]) if rows else None

    async def find_retracting_decision(self, memory_id: UUID) -> Decision | None:
        (rows,) = await self._run((query("retracting_decision"), self._of_group(id=memory_id)))
        return decision_of(rows[0]) if rows else None

    async def find_tombstone(self, digests: Sequence[bytes]) -> Tombstone | None:
        params = {"group_id": self._group_id, "digests": list(digests)}
        (rows,) = await self._run((query("standing_tombstones"), params))
        return tombstone_of(rows[0]) if rows else None

    async def find_duplicate(self, text: NewMemory, fingerprint: bytes) -> PromotionState | None:
        params = self._of_group(fingerprint=fingerprint, origin_id=text.origin_id)
        (rows,) = await self._run((query("same_promotion"), params))
        return promotion_state_of(rows[0]) if rows else None

    async def list_duplicates(self, text: NewMemory, fingerprint: bytes) -> Sequence[PromotionState]:
        params = self._of_group(fingerprint=fingerprint, origin_id=text.origin_id)
        (rows,) = await self._run((query("alike_promotions"), params))
        return [promotion_state_of(row) for row in rows]

    async def find_promotions(self, memory_ids: Sequence[UUID]) -> Mapping[UUID, PromotionState]:
        params = {"group_id": self._group_id, "memory_ids": list(memory_ids)}
        (rows,) = await self._run((query("promotion_states"), params))
        return {row["memory_id"]: promotion_state_of(row) for row in rows}

    async def insert_promotions(self, promotions: Sequence[tuple[Promotion, Sequence[Memory] | None]]) -> None:
        whole = [(promotion, chunks) for promotion, chunks in promotions if chunks is not None]
        statements: list[Statement] = [(query("note_embedding_model"), model) for model in models_of(whole)]
        statements += [(query("add_promotion"), promotion_params(promotion)) for promotion, _ in promotions]
        statements += [
            (query("add_promotion_work"), self._of_group(promotion_id=promotion.id, at=promotion.decided_at))
            for promotion, chunks in promotions
            if chunks is None
        ]
        if whole:
            words = Words(self._lexicon, self._group_id, [chunk for _, chunks in whole for chunk in chunks])
            ends = await self._run(*words.asked())
            placed, changed = await words.read(ends)
            statements += [(query("add_memory"), memory_params(chunk) | more) for chunk, more in placed]
            statements += changed
        await self._run(*statements)

    async def withdraw_memories(self, memory_ids: Sequence[UUID], *, at: datetime) -> None:
        params = self._of_group(ids=list(memory_ids), at=at)
        chunks, _ = await self._run((query("withdraw"), params), (query("drop_promotion_work"), params))
        await reword(self._transaction, self._lexicon, self._group_id, chunks, by=-1)

    async def restore_memories(self, memory_ids: Sequence[UUID], *, at: datetime) -> None:
        params = self._of_group(ids=list(memory_ids), at=at)
        statements: list[Statement] = [(query(name), params) for name in ("keep_gaps", "restore", "wait_again")]
        _, chunks, _ = await self._run(*statements)
        await reword(self._transaction, self._lexicon, self._group_id, chunks, by=1)

    async def update_insight(self, insight: Insight) -> None:
        await self._run((query("change_insight"), changed_insight_params(insight)))

    async def merge_sources(self, insight_id: UUID, others: Sequence[UUID]) -> None:
        await self._run((query("unite_sources"), self._of_group(id=insight_id, others=list(others))))

    async def separate_sources(self, insight_id: UUID, others: Sequence[UUID]) -> None:
        await self._run((query("separate_sources"), self._of_group(id=insight_id, others=list(others))))

    async def mark_judged(self, log_ids: Sequence[UUID], *, by: UUID) -> None:
        await self._run((query("judge_rows"), self._of_group(log_ids=list(log_ids), by=by)))

    async def clear_judged(self, *, by: UUID) -> None:
        await self._run((query("free_rows"), self._of_group(by=by)))

    async def insert_tombstone(
        self, tombstone: Tombstone, digest: bytes, *, embedding: Vector | None, model: str | None
    ) -> UUID | None:
        params = {
            "group_id": self._group_id,
            "id": tombstone.id,
            "digest": digest,
            "kind": tombstone.kind,
            "reason": tombstone.reason,
            "model": None if embedding is None else model,
            "embedding": None if embedding is None else to_column(embedding),
            "made_by": tombstone.made_by,
            "made_at": tombstone.made_at,
        }
        (added,) = await self._run((query("add_tombstone"), params))
        return tombstone.id if added[0]["rowcount"] else None

    async def lift_tombstone(self, tombstone_id: UUID, *, by: str, at: datetime) -> bool:
        (lifted,) = await self._run((query("lift_tombstone"), self._of_group(id=tombstone_id, by=by, at=at)))
        return bool(lifted[0]["rowcount"])

    async def find_rejecting_decisions(self, tombstone_id: UUID) -> Sequence[tuple[Decision, bool]]:
        (rows,) = await self._run((query("rejects_of"), self._of_group(id=tombstone_id)))
        return [(decision_of(row), row["undone"]) for row in rows]

    async def find_nearest_tombstone(self, embedding: Vector, model: str) -> tuple[Tombstone, float] | None:
        params = self._of_group(embedding=to_column(embedding), model=model)
        (rows,) = await self._run((query("nearest_tombstone"), params))
        return (tombstone_of(rows[0]), float(rows[0]["similarity"])) if rows else None

    async def find_flagged_insights(self, flag: str) -> Sequence[Insight]:
        (rows,) = await self._run((query("flagged_insights"), self._of_group(flag=flag)))
        return list((await self.find_insights([row["id"] for row in rows])).values())

    async def retry_refused_promotions(self, *, at: datetime) -> None:
        await self._run((query("hurry_promotions"), self._of_group(problem=TOMBSTONED, at=at)))

    async def record_decision(self, decision: Decision | None, event: AuditEvent) -> None:
        statements: list[Statement] = [(query("add_event"), event_params(event))]
        if decision is not None:
            statements.append((query("add_decision"), decision_params(decision)))
        await self._run(*statements)

    async def store_answer(self, claim: Claim, answer: Json) -> None:
        params = {**claim_params(claim.request), "token": claim.token, "answer": Jsonb(answer)}
        (completed,) = await self._run((query("complete_claim"), params))
        if completed[0]["rowcount"] != 1:
            raise StillRunning("idempotency_running", key=claim.request.key)

    async def _run(self, *statements: Statement) -> list[list[DictRow]]:
        return await self._transaction.run(statements)

    def _of_group(self, **params: object) -> dict[str, object]:
        return {"group_id": self._group_id, **params}
