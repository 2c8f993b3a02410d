"""The worker's side of quarantine: find pending rows of any group, then read and settle them in their group."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from uuid import UUID

from psycopg.rows import DictRow

from clearwell.ports import (
    ADMISSION_BACK_OFF,
    FAR_AHEAD,
    AdmissionBatch,
    AdmissionResult,
    AdmissionStore,
    BackOff,
    Clock,
    Lease,
    PendingOutput,
    Signer,
)
from clearwell.records import (
    Admission,
    AuditEvent,
    Capture,
    IngressCount,
    Outcome,
    Tombstone,
    Vector,
    Verdict,
    WorkingCapacity,
    WorkingEntry,
)
from clearwell.stores.postgres.connection import SqlStatement, StatementRunner
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rows import capture_of, event_params, from_column, to_column, verdict_of, verdict_params
from clearwell.stores.postgres.statements import put_statements
from clearwell.stores.postgres.tombstones import lookup_result, lookup_statements


class PostgresAdmissions(AdmissionStore):
    def __init__(
        self, database: Database, clock: Clock, *, ttl: timedelta, judge_back_off: BackOff | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._ttl = ttl
        self._judge_back_off = judge_back_off or BackOff()
        self._farthest = max(FAR_AHEAD, self._judge_back_off.longest)

    async def find_pending(self, *, limit: int) -> list[PendingOutput]:
        now = self._clock.now()
        params = {"now": now, "ahead": now + self._farthest, "limit": limit}
        rows = await self._database.run(Role.WORKER, None, query("pending"), params)
        return [PendingOutput(group_id=row["group_id"], log_id=row["log_id"]) for row in rows]

    async def claim(self, group_id: str, log_ids: Sequence[UUID], lease: Lease) -> list[Capture]:
        rows = await self._run_leased("claim_rows", group_id, log_ids, lease)
        return [capture_of(row) for row in rows]

    async def renew(self, group_id: str, log_ids: Sequence[UUID], lease: Lease) -> None:
        await self._run_leased("renew_leases", group_id, log_ids, lease)

    async def release(self, group_id: str, log_ids: Sequence[UUID], lease: Lease) -> None:
        await self._run_leased("release_leases", group_id, log_ids, lease)

    async def _run_leased(self, name: str, group_id: str, log_ids: Sequence[UUID], lease: Lease) -> list[DictRow]:
        now = self._clock.now()
        params = {
            "group_id": group_id,
            "ids": list(log_ids),
            "holder": lease.holder,
            "now": now,
            "until": now + lease.lasts,
            "ahead": now + self._farthest,
        }
        return await self._database.run(Role.WORKER, group_id, query(name), params)

    def open(self, group_id: str, log_ids: Sequence[UUID]) -> AbstractAsyncContextManager[AdmissionBatch]:
        return self._open(group_id, log_ids)

    @asynccontextmanager
    async def _open(self, group_id: str, log_ids: Sequence[UUID]) -> AsyncIterator[AdmissionBatch]:
        async with self._database.transaction(Role.WORKER, group_id) as transaction:
            lock = (query("alone_in_group"), {"group_id": group_id})
            look = (query("still_pending"), {"group_id": group_id, "ids": list(log_ids)})
            _, rows = await transaction.run([lock, look])
            pending = frozenset(row["log_id"] for row in rows)
            yield PostgresAdmissionBatch(transaction, group_id, pending, self._database.signer)

    async def postpone(self, group_id: str, log_ids: Sequence[UUID], lease: Lease) -> None:
        await self._postpone(group_id, log_ids, lease, failures=0)

    async def fail(self, group_id: str, log_id: UUID, lease: Lease) -> int:
        rows = await self._postpone(group_id, [log_id], lease, failures=1)
        return int(rows[0]["failures"]) if rows else 0

    async def _postpone(self, group_id: str, log_ids: Sequence[UUID], lease: Lease, *, failures: int) -> list[DictRow]:
        params = {
            "group_id": group_id,
            "ids": list(log_ids),
            "now": self._clock.now(),
            "first": ADMISSION_BACK_OFF.first,
            "longest": ADMISSION_BACK_OFF.longest,
            "failures": failures,
            "holder": lease.holder,
        }
        return await self._database.run(Role.WORKER, group_id, query("postpone"), params)

    async def read_judge_tries(self, group_id: str, log_id: UUID) -> int:
        params = {"group_id": group_id, "log_id": log_id}
        rows = await self._database.run(Role.WORKER, group_id, query("judge_tries"), params)
        return int(rows[0]["judge_tries"]) if rows else 0

    async def hold(
        self, group_id: str, log_id: UUID, verdict: Verdict, *, tries: int, lease: Lease, wait: timedelta | None = None
    ) -> None:
        held = {
            "group_id": group_id,
            "log_id": log_id,
            "tries": tries,
            "now": self._clock.now(),
            "wait": self._judge_back_off.after(tries) if wait is None else wait,
            "holder": lease.holder,
        }
        async with self._database.transaction(Role.WORKER, group_id) as transaction:
            (changed,) = await transaction.run([(query("hold"), held)])
            if changed[0]["rowcount"]:
                await transaction.run([(query("add_verdict"), verdict_params(group_id, log_id, verdict, 0))])

    async def requeue(self, group_id: str, log_id: UUID, *, event: AuditEvent) -> Admission | None:
        params = {"group_id": group_id, "log_id": log_id, "now": self._clock.now()}
        if await self._change_and_audit(Role.WORKER, group_id, (query("requeue"), params), event):
            return Admission.REFUSED
        hurried = await self._change_and_audit(Role.WORKER, group_id, (query("hurry"), params), event)
        return Admission.PENDING if hurried else None

    async def find_refused(self, group_id: str, *, by: str, limit: int) -> Sequence[UUID]:
        params = {"group_id": group_id, "by": by, "limit": limit}
        rows = await self._database.run(Role.WORKER, group_id, query("refused"), params)
        return [row["log_id"] for row in rows]

    async def mark_removed(self, group_id: str, log_id: UUID, *, event: AuditEvent) -> bool:
        params = {"group_id": group_id, "log_id": log_id, "by": event.actor, "at": event.at}
        return await self._change_and_audit(Role.REVIEWER, group_id, (query("mark_removed"), params), event)

    async def _change_and_audit(self, role: Role, group_id: str, change: SqlStatement, event: AuditEvent) -> bool:
        """Make a change of one row and its event, or neither."""
        async with self._database.transaction(role, group_id) as transaction:
            (changed,) = await transaction.run([change])
            if changed[0]["rowcount"]:
                await transaction.run([(query("add_event"), event_params(event, self._database.signer))])
            return bool(changed[0]["rowcount"])

    async def read_texts(self, group_id: str, log_ids: Sequence[UUID]) -> Mapping[UUID, str]:
        params = {"group_id": group_id, "ids": list(log_ids)}
        rows = await self._database.run(Role.WORKER, group_id, query("output_texts"), params)
        return {row["id"]: row["content"] for row in rows}

    async def find_working_groups(self, *, since: datetime) -> Sequence[str]:
        rows = await self._database.run(Role.WORKER, None, query("working_groups"), {"since": since})
        return [row["group_id"] for row in rows]

    async def read_counts(self, group_id: str) -> Sequence[IngressCount]:
        rows = await self._database.run(Role.WORKER, group_id, query("ingress_counts"), {"group_id": group_id})
        return [
            IngressCount(
                agent_id=row["agent_id"] or None,
                check=row["check"],
                outcome=Outcome(row["outcome"]),
                count=row["count"],
            )
            for row in rows
        ]

    async def read_receipts(
        self, group_id: str, log_ids: Sequence[UUID]
    ) -> Mapping[UUID, tuple[Admission, tuple[Verdict, ...]]]:
        params = {"group_id": group_id, "ids": list(log_ids)}
        rows = await self._database.run(Role.WORKER, group_id, query("receipts"), params)
        by_row = groupby(rows, key=lambda row: (row["log_id"], row["state"]))
        return {
            log_id: (Admission(state), tuple(verdict_of(row) for row in found if row["check"] is not None))
            for (log_id, state), found in by_row
        }

    async def read_admitted(self, group_id: str, *, since: datetime, capacity: WorkingCapacity) -> list[WorkingEntry]:
        params = {
            "group_id": group_id,
            "since": since,
            "limit": capacity.size,
            "agent_limit": capacity.agent_size,
        }
        rows = await self._database.run(Role.WORKER, group_id, query("admitted"), params)
        return [
            WorkingEntry(
                id=row["id"],
                group_id=row["group_id"],
                session_id=row["session_id"],
                node_type=row["node_type"],
                agent_id=row["agent_id"],
                content=row["content"],
                metadata=row["raw_metadata"],
                occurred_at=row["occurred_at"],
                created_at=row["created_at"],
                expires_at=row["settled_at"] + self._ttl,
                embedding=from_column(row["embedding"]),
                embedding_model=row["model"],
                flags=tuple(row["flags"]),
            )
            for row in rows
        ]


class PostgresAdmissionBatch:
    """Alone in the group until the transaction ends."""

    def __init__(
        self, transaction: StatementRunner, group_id: str, pending: frozenset[UUID], signer: Signer | None
    ) -> None:
        self._transaction = transaction
        self._signer = signer
        self._group_id = group_id
        self.pending = pending

    async def look_up(
        self, group_id: str, value_hashes: Sequence[bytes], *, embeddings: Sequence[Vector] = (), model: str = ""
    ) -> tuple[Tombstone | None, tuple[Tombstone, float] | None]:
        return lookup_result(await self._transaction.run(lookup_statements(group_id, value_hashes, embeddings, model)))

    async def settle(self, settled: Sequence[AdmissionResult], *, event: AuditEvent | None = None) -> None:
        settled = [_without_forgotten(one) for one in settled]
        statements = [statement for one in settled for statement in self._settle_row(one)]
        statements += [(query("empty_forgotten"), {"log_id": one.log_id}) for one in settled if _is_forgotten(one)]
        if event is not None:
            statements.append((query("add_event"), event_params(event, self._signer)))
        segmented = [one.segmented for one in settled if one.segmented is not None]
        if segmented:
            statements += put_statements(self._group_id, segmented)
        counts = [*self._count_verdicts(settled), *self._count_settled(settled)]
        await self._transaction.run([*statements, *counts, *self._note_group(settled)])

    async def admit_refused(self, admitted: AdmissionResult, *, event: AuditEvent) -> bool:
        keys = {"group_id": self._group_id, "log_id": admitted.log_id}
        (changed,) = await self._transaction.run([(query("requeue"), {**keys, "now": admitted.at})])
        if not changed[0]["rowcount"]:
            return False
        statements = [*self._settle_row(admitted), (query("add_event"), event_params(event, self._signer))]
        if admitted.segmented is not None:
            statements += put_statements(self._group_id, [admitted.segmented])
        counted = replace(admitted, verdicts=admitted.verdicts[-1:])
        counts = [*self._count_verdicts([counted]), *self._count_settled([admitted])]
        await self._transaction.run([*statements, *counts, *self._note_group([admitted])])
        return True

    def _count_verdicts(self, settled: Sequence[AdmissionResult]) -> Iterator[SqlStatement]:
        """One statement for each way that checks ended, in one order, so that two processes never deadlock."""
        ends = Counter(
            (one.agent_id or "", verdict.check, verdict.outcome) for one in settled for verdict in one.verdicts
        )
        for (agent_id, check, outcome), count in sorted(ends.items()):
            params = {"agent_id": agent_id, "check": check, "outcome": outcome, "count": count}
            yield query("count_verdicts"), {"group_id": self._group_id, **params}

    def _count_settled(self, settled: Sequence[AdmissionResult]) -> Iterator[SqlStatement]:
        """How many outputs were admitted on a day, or refused by a check. In one order, as above."""
        ends = Counter((one.at.astimezone(UTC).date(), _find_refusal(one)) for one in settled)
        for (day, check), count in sorted(ends.items()):
            params = {"day": day, "check": check, "count": count}
            yield query("count_settled"), {"group_id": self._group_id, **params}

    def _note_group(self, settled: Sequence[AdmissionResult]) -> Iterator[SqlStatement]:
        admitted = [one.at for one in settled if one.state is Admission.ADMITTED]
        if admitted:
            yield query("note_working_group"), {"group_id": self._group_id, "at": max(admitted)}
        elif settled:
            yield query("note_settled_group"), {"group_id": self._group_id, "at": min(one.at for one in settled)}

    def _settle_row(self, one: AdmissionResult) -> Iterator[SqlStatement]:
        keys = {"group_id": self._group_id, "log_id": one.log_id}
        yield query("settle"), {**keys, "state": one.state, "at": one.at, "flags": list(one.flags)}
        for position, verdict in enumerate(one.verdicts):
            yield query("add_verdict"), verdict_params(self._group_id, one.log_id, verdict, position)
        if one.embedding is not None:
            vector = {**keys, "model": one.embedding_model, "embedding": to_column(one.embedding)}
            yield query("add_quarantine_vector"), vector
        for sighting in one.sightings:
            seen = {**keys, "entry_id": sighting.entry_id, "layer": sighting.layer, "at": one.at}
            yield query("add_sighting"), seen
        if one.segmented is None:
            yield query("note_unsegmented"), keys


def _find_refusal(result: AdmissionResult) -> str:
    """The check that refused an output; empty if it is admitted."""
    failed = (verdict.check for verdict in reversed(result.verdicts) if verdict.outcome is Outcome.FAIL)
    return next(failed, "") if result.state is Admission.REFUSED else ""


def _is_forgotten(result: AdmissionResult) -> bool:
    return any(verdict.reason == "verdict_tombstone_forgotten" for verdict in result.verdicts)


def _without_forgotten(result: AdmissionResult) -> AdmissionResult:
    """Leave out what would keep something of a forgotten text: its vector, its statements and what it repeats."""
    if not _is_forgotten(result):
        return result
    return replace(result, embedding=None, embedding_model=None, segmented=None, sightings=())
