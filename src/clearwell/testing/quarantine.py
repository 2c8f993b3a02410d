"""Quarantine in a dict."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from clearwell.errors import IdempotencyMismatch
from clearwell.ports import (
    ADMISSION_BACK_OFF,
    AdmissionBatch,
    AdmissionResult,
    BackOff,
    Clock,
    Lease,
    PendingOutput,
    QuarantineFilter,
    SegmentedOutput,
    StoredCapture,
)
from clearwell.records import (
    Admission,
    AuditEvent,
    Capture,
    IdempotencyKey,
    IngressCount,
    Outcome,
    QuarantinePage,
    QuarantineRow,
    Sighting,
    SightingRow,
    Tombstone,
    Vector,
    Verdict,
    WorkingCapacity,
    WorkingEntry,
)
from clearwell.testing.longterm import MemoryLongTerm, MemoryTombstones
from clearwell.testing.simple import has_come
from clearwell.vocabulary import PROPOSED


@dataclass
class Row:
    """A captured output with all that was found of it."""

    capture: Capture
    key: IdempotencyKey | None
    state: Admission = Admission.PENDING
    attempts: int = 0
    next_try_at: datetime | None = None
    settled_at: datetime | None = None
    flags: tuple[str, ...] = ()
    verdicts: list[Verdict] = field(default_factory=list)
    vector: Vector | None = None
    model: str | None = None
    sightings: Sequence[Sighting] = ()
    judge_tries: int = 0
    failures: int = 0
    leased_by: UUID | None = None
    leased_until: datetime | None = None
    removed_at: datetime | None = None
    segmented: SegmentedOutput | None = None
    segmenter_attempts: int = 0
    segmenter_problem: str | None = None

    def segment(self, output: SegmentedOutput) -> None:
        self.segmented, self.segmenter_attempts, self.segmenter_problem = output, 0, None


class MemoryQuarantine:
    """Quarantine in a dict: the capture, quarantine and admission ports over the same rows."""

    def __init__(
        self,
        clock: Clock,
        *,
        ttl: timedelta = timedelta(hours=24),
        judge_back_off: BackOff | None = None,
        tombstones: MemoryTombstones | None = None,
        longterm: MemoryLongTerm | None = None,
    ) -> None:
        self._tombstones = tombstones or MemoryTombstones()
        self._longterm = longterm
        self._clock = clock
        self._ttl = ttl
        self._judge_back_off = judge_back_off or BackOff()
        self._rows: defaultdict[str, dict[UUID, Row]] = defaultdict(dict)
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._counts: Counter[tuple[str, str, str, Outcome]] = Counter()
        self.events: list[AuditEvent] = []

    def groups(self) -> set[str]:
        """The groups that have outputs."""
        return {group_id for group_id, rows in self._rows.items() if rows}

    @property
    def rows(self) -> Mapping[str, Mapping[UUID, Row]]:
        """By group and id, for the twins of what else reads quarantine."""
        return self._rows

    async def add(
        self,
        captures: Sequence[Capture],
        *,
        keys: Sequence[IdempotencyKey | None] = (),
        settled: Sequence[Verdict] = (),
    ) -> list[StoredCapture]:
        pairs = list(zip(captures, keys or [None] * len(captures), strict=True))
        for capture, key in pairs:
            self._find_earlier(capture.group_id, key)  # a mismatch stores nothing
        return [self._add(capture, key, settled) for capture, key in pairs]

    def _add(self, capture: Capture, key: IdempotencyKey | None, settled: Sequence[Verdict]) -> StoredCapture:
        if (earlier := self._find_earlier(capture.group_id, key)) is not None:
            return StoredCapture(id=earlier.capture.id, replayed=True)
        row = Row(capture=capture, key=key, next_try_at=capture.created_at + timedelta(seconds=2))
        if settled:
            row.state, row.settled_at, row.verdicts = Admission.REFUSED, capture.created_at, list(settled)
        self._rows[capture.group_id][capture.id] = row
        return StoredCapture(id=capture.id, replayed=False)

    def _find_earlier(self, group_id: str, key: IdempotencyKey | None) -> Row | None:
        """The row that was stored with this key."""
        if key is None:
            return None
        for row in self._rows[group_id].values():
            if row.key is not None and replace(row.key, request_hash=key.request_hash) == key:
                if row.key != key:
                    raise IdempotencyMismatch("idempotency_mismatch", field="Idempotency-Key", key=key.key)
                return row
        return None

    async def get(self, group_id: str, log_id: UUID) -> QuarantineRow | None:
        row = self._rows[group_id].get(log_id)
        if row is None:
            return None
        again = tuple(
            SightingRow(
                log_id=one.capture.id,
                agent_id=one.capture.agent_id,
                session_id=one.capture.session_id,
                at=one.settled_at or one.capture.created_at,
            )
            for one in self._rows[group_id].values()
            if log_id in {sighting.entry_id for sighting in one.sightings}
        )
        found = replace(quarantine_row_of(row), sightings=again)
        if row.segmented is None:
            return found
        return replace(
            found,
            statements=tuple(row.segmented.statements),
            segmented_by=row.segmented.segmenter,
            segmenter_problem=row.segmenter_problem,
        )

    async def find(self, group_id: str, log_ids: Sequence[UUID]) -> Mapping[UUID, QuarantineRow]:
        rows = self._rows[group_id]
        return {log_id: quarantine_row_of(rows[log_id]) for log_id in log_ids if log_id in rows}

    async def page(
        self, group_id: str, *, where: QuarantineFilter, before: UUID | None = None, limit: int = 50
    ) -> QuarantinePage:
        newest_first = sorted(self._rows[group_id].values(), key=_place, reverse=True)
        last = None if before is None else self._rows[group_id].get(before)
        rows = [row for row in newest_first if _matches(row, where) and (last is None or _place(row) < _place(last))]
        if where.proposed:
            promoted = {one.text.origin_id for one in self._longterm.promotions} if self._longterm else set()
            rows = [row for row in rows if row.capture.id not in promoted]
        page = tuple(quarantine_row_of(row) for row in rows[:limit])
        return QuarantinePage(rows=page, next=page[-1].capture.id if len(rows) > limit else None)

    async def find_pending(self, *, limit: int) -> list[PendingOutput]:
        now = self._clock.now()
        due = [
            row
            for rows in self._rows.values()
            for row in rows.values()
            if row.state is Admission.PENDING
            and row.next_try_at is not None
            and has_come(row.next_try_at, now, farthest=self._judge_back_off.longest)
            and (row.leased_until is None or has_come(row.leased_until, now))
        ]
        due.sort(key=lambda row: row.next_try_at or now)
        return [PendingOutput(group_id=row.capture.group_id, log_id=row.capture.id) for row in due[:limit]]

    async def claim(self, group_id: str, log_ids: Sequence[UUID], lease: Lease) -> list[Capture]:
        now = self._clock.now()
        free = [
            row
            for row in self._pending_among(group_id, log_ids)
            if row.leased_until is None or has_come(row.leased_until, now) or row.leased_by == lease.holder
        ]
        for row in free:
            row.leased_by, row.leased_until = lease.holder, now + lease.lasts
        return sorted((row.capture for row in free), key=lambda capture: capture.id)

    async def renew(self, group_id: str, log_ids: Sequence[UUID], lease: Lease) -> None:
        for row in self._leased_among(group_id, log_ids, lease):
            row.leased_until = self._clock.now() + lease.lasts

    async def release(self, group_id: str, log_ids: Sequence[UUID], lease: Lease) -> None:
        for row in self._leased_among(group_id, log_ids, lease):
            row.leased_by = row.leased_until = None

    def _pending_among(self, group_id: str, log_ids: Sequence[UUID]) -> list[Row]:
        rows = [self._rows[group_id][log_id] for log_id in log_ids if log_id in self._rows[group_id]]
        return [row for row in rows if row.state is Admission.PENDING]

    def _leased_among(self, group_id: str, log_ids: Sequence[UUID], lease: Lease) -> list[Row]:
        return [row for row in self._pending_among(group_id, log_ids) if row.leased_by == lease.holder]

    def open(self, group_id: str, log_ids: Sequence[UUID]) -> AbstractAsyncContextManager[AdmissionBatch]:
        return self._open(group_id, log_ids)

    @asynccontextmanager
    async def _open(self, group_id: str, log_ids: Sequence[UUID]) -> AsyncIterator[AdmissionBatch]:
        async with self._locks[group_id]:
            pending = frozenset(row.capture.id for row in self._pending_among(group_id, log_ids))
            batch = _Batch(pending, self._tombstones, self._rows[group_id])
            yield batch
            for one in batch.settled:
                self._settle(group_id, one)
            self.events += batch.events
            for one, event in batch.admitted:
                self._admit_refused(group_id, one, event)

    def _admit_refused(self, group_id: str, one: AdmissionResult, event: AuditEvent) -> None:
        row, counted = self._rows[group_id][one.log_id], self._counts.copy()
        row.state = Admission.PENDING
        self._settle(group_id, one)
        self._counts = counted
        self._counts[group_id, one.agent_id or "", one.verdicts[-1].check, one.verdicts[-1].outcome] += 1
        self.events.append(event)

    def _settle(self, group_id: str, one: AdmissionResult) -> None:
        row = self._rows[group_id][one.log_id]
        if row.state is not Admission.PENDING:
            return
        row.state, row.settled_at, row.flags = one.state, one.at, tuple(one.flags)
        row.verdicts, row.vector, row.model = list(one.verdicts), one.embedding, one.embedding_model
        row.sightings = one.sightings
        if one.segmented is not None:
            row.segment(one.segmented)
        row.attempts += 1
        row.leased_by = row.leased_until = None
        self._counts.update((group_id, one.agent_id or "", given.check, given.outcome) for given in one.verdicts)

    async def postpone(self, group_id: str, log_ids: Sequence[UUID], lease: Lease) -> None:
        for row in self._leased_among(group_id, log_ids, lease):
            row.next_try_at = self._clock.now() + ADMISSION_BACK_OFF.after(row.attempts + 1)
            row.attempts += 1
            row.leased_by = row.leased_until = None

    async def fail(self, group_id: str, log_id: UUID, lease: Lease) -> int:
        for row in self._leased_among(group_id, [log_id], lease):
            await self.postpone(group_id, [log_id], lease)
            row.failures += 1
            return row.failures
        return 0

    async def read_judge_tries(self, group_id: str, log_id: UUID) -> int:
        row = self._rows[group_id].get(log_id)
        return 0 if row is None else row.judge_tries

    async def hold(
        self, group_id: str, log_id: UUID, verdict: Verdict, *, tries: int, lease: Lease, wait: timedelta | None = None
    ) -> None:
        for row in self._leased_among(group_id, [log_id], lease):
            row.attempts += tries > row.judge_tries
            row.judge_tries, row.verdicts = tries, [verdict]
            row.next_try_at = self._clock.now() + (self._judge_back_off.after(tries) if wait is None else wait)
            row.leased_by = row.leased_until = None

    async def requeue(self, group_id: str, log_id: UUID, *, event: AuditEvent) -> Admission | None:
        row = self._rows[group_id].get(log_id)
        if row is None or row.state is Admission.ADMITTED:
            return None
        was = row.state
        if was is Admission.REFUSED:
            row.state, row.settled_at = Admission.PENDING, None
            row.attempts, row.judge_tries, row.failures = 0, 0, 0
        row.next_try_at = self._clock.now()
        self.events.append(event)
        return was

    async def find_refused(self, group_id: str, *, by: str, limit: int) -> Sequence[UUID]:
        return sorted(
            row.capture.id
            for row in self._rows[group_id].values()
            if row.state is Admission.REFUSED
            and any(
                one.outcome is Outcome.FAIL and by in (one.check, one.reason.removeprefix("verdict_"))
                for one in row.verdicts
            )
        )[:limit]

    async def mark_removed(self, group_id: str, log_id: UUID, *, event: AuditEvent) -> bool:
        row = self._rows[group_id].get(log_id)
        if row is None or row.state is not Admission.ADMITTED or row.removed_at is not None:
            return False
        row.removed_at = event.at
        self.events.append(event)
        return True

    async def read_texts(self, group_id: str, log_ids: Sequence[UUID]) -> Mapping[UUID, str]:
        rows = self._rows.get(group_id, {})
        return {one: rows[one].capture.content for one in log_ids if one in rows}

    async def find_working_groups(self, *, since: datetime) -> Sequence[str]:
        return sorted(
            group_id
            for group_id, rows in self._rows.items()
            if any(
                row.state is Admission.PENDING
                or (row.state is Admission.ADMITTED and row.settled_at is not None and row.settled_at > since)
                for row in rows.values()
            )
        )

    async def read_counts(self, group_id: str) -> Sequence[IngressCount]:
        return [
            IngressCount(agent_id=agent_id or None, check=check, outcome=outcome, count=count)
            for (group, agent_id, check, outcome), count in sorted(self._counts.items())
            if group == group_id
        ]

    async def read_receipts(
        self, group_id: str, log_ids: Sequence[UUID]
    ) -> Mapping[UUID, tuple[Admission, tuple[Verdict, ...]]]:
        rows = self._rows[group_id]
        return {one: (rows[one].state, tuple(rows[one].verdicts)) for one in log_ids if one in rows}

    async def read_admitted(self, group_id: str, *, since: datetime, capacity: WorkingCapacity) -> list[WorkingEntry]:
        rows = [
            row
            for row in self._rows[group_id].values()
            if row.state is Admission.ADMITTED
            and row.capture.content
            and row.removed_at is None
            and row.settled_at is not None
            and row.settled_at > since
        ]
        rows.sort(key=lambda row: (row.settled_at or since, row.capture.id), reverse=True)
        return capacity.choose([_working_entry(row, self._ttl) for row in rows])


class _Batch:
    def __init__(self, pending: frozenset[UUID], tombstones: MemoryTombstones, rows: Mapping[UUID, Row]) -> None:
        self.pending = pending
        self.settled: list[AdmissionResult] = []
        self.events: list[AuditEvent] = []
        self.admitted: list[tuple[AdmissionResult, AuditEvent]] = []
        self._rows = rows
        self._tombstones = tombstones

    async def look_up(
        self, group_id: str, value_hashes: Sequence[bytes], *, embeddings: Sequence[Vector] = (), model: str = ""
    ) -> tuple[Tombstone | None, tuple[Tombstone, float] | None]:
        return await self._tombstones.look_up(group_id, value_hashes, embeddings=embeddings, model=model)

    async def settle(self, settled: Sequence[AdmissionResult], *, event: AuditEvent | None = None) -> None:
        self.settled.extend(settled)
        if event is not None:
            self.events.append(event)

    async def admit_refused(self, admitted: AdmissionResult, *, event: AuditEvent) -> bool:
        row = self._rows.get(admitted.log_id)
        if row is None or row.state is not Admission.REFUSED:
            return False
        self.admitted.append((admitted, event))
        return True


def quarantine_row_of(row: Row) -> QuarantineRow:
    return QuarantineRow(
        capture=row.capture,
        admission=row.state,
        attempts=row.attempts,
        settled_at=row.settled_at,
        flags=row.flags,
        verdicts=tuple(row.verdicts),
        removed_at=row.removed_at,
        sighting_of=row.sightings[0].entry_id if row.sightings else None,
        next_try_at=row.next_try_at if row.state is Admission.PENDING else None,
    )


def _working_entry(row: Row, ttl: timedelta) -> WorkingEntry:
    capture = row.capture
    return WorkingEntry(
        id=capture.id,
        group_id=capture.group_id,
        session_id=capture.session_id,
        node_type=capture.node_type,
        agent_id=capture.agent_id,
        content=capture.content,
        metadata=capture.metadata,
        occurred_at=capture.occurred_at,
        created_at=capture.created_at,
        expires_at=None if row.settled_at is None else row.settled_at + ttl,
        embedding=row.vector,
        embedding_model=row.model,
        flags=row.flags,
    )


def _place(row: Row) -> tuple[datetime, UUID]:
    return row.capture.created_at, row.capture.id


def _matches(row: Row, where: QuarantineFilter) -> bool:
    capture = row.capture
    return (
        (where.ids is None or capture.id in where.ids)
        and where.session_id in (None, capture.session_id)
        and where.agent_id in (None, capture.agent_id)
        and where.node_type in (None, capture.node_type)
        and where.admission in (None, row.state)
        and (where.flag is None or where.flag in row.flags)
        and (where.words is None or where.words.lower() in capture.content.lower())
        and (where.since is None or capture.created_at >= where.since)
        and (where.until is None or capture.created_at < where.until)
        and (not where.proposed or capture.metadata.get(PROPOSED) is True)
    )
