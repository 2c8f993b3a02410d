"""In-memory twins of the ports, for tests of code that uses Clearwell.

They pass the contract tests of the real ones.
"""

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np

from clearwell.errors import IdempotencyMismatch, StillRunning
from clearwell.ports import AdmissionBatch, Claim, Clock, Pending, QuarantineFilter, SearchQuery, Settled, Stored
from clearwell.records import (
    Admission,
    ApiKey,
    AuditEvent,
    Capture,
    Found,
    IdempotencyKey,
    Json,
    KeyLookup,
    Memory,
    Promotion,
    QuarantineRow,
    Sighting,
    Vector,
    Verdict,
    WorkingEntry,
)

DIMENSIONS = 64


class ManualClock:
    """A clock that stands still until it is told to go on."""

    def __init__(self, now: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def forward(self, by: timedelta) -> None:
        self._now += by


class CountedIds:
    """Ids in order: 1, 2, 3 …"""

    def __init__(self) -> None:
        self._last = 0

    def new(self) -> UUID:
        self._last += 1
        return UUID(int=self._last)


class WordEmbedder:
    """Vectors from the words of a text: the same words, the same vector; no word in common, cosine 0."""

    model = "words"

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [self._vector(text) for text in texts]

    def similarity(self, cosine: float) -> float:
        return min(1.0, max(0.0, cosine))

    relevance = similarity

    async def close(self) -> None:
        """Nothing to close."""

    def _vector(self, text: str) -> Vector:
        vector = np.zeros(DIMENSIONS, dtype=np.float32)
        for word in text.lower().split() or [""]:
            vector[hashlib.sha256(word.encode()).digest()[0] % DIMENSIONS] += 1.0
        normalised: Vector = vector / np.linalg.norm(vector)
        return normalised


@dataclass
class _Row:
    capture: Capture
    request: tuple[str, str, bytes] | None
    state: Admission = Admission.PENDING
    attempts: int = 0
    next_try_at: datetime | None = None
    settled_at: datetime | None = None
    flags: tuple[str, ...] = ()
    verdicts: list[Verdict] = field(default_factory=list)
    vector: Vector | None = None
    model: str | None = None
    sighting: Sighting | None = None


class MemoryQuarantine:
    """Quarantine in a dict: the capture, quarantine and admission ports over the same rows."""

    def __init__(self, clock: Clock, *, ttl: timedelta = timedelta(hours=24)) -> None:
        self._clock = clock
        self._ttl = ttl
        self._rows: defaultdict[str, dict[UUID, _Row]] = defaultdict(dict)
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def add(
        self, captures: Sequence[Capture], *, request: IdempotencyKey | None = None, settled: Sequence[Verdict] = ()
    ) -> list[Stored]:
        if request is not None and (earlier := self._earlier(captures, request)):
            return earlier
        for number, capture in enumerate(captures):
            key = None if request is None else (request.principal, f"{number} {request.key}", request.request_hash)
            row = _Row(capture=capture, request=key, next_try_at=capture.created_at + timedelta(seconds=2))
            if settled:
                row.state, row.settled_at, row.verdicts = Admission.REFUSED, capture.created_at, list(settled)
            self._rows[capture.group_id][capture.id] = row
        return [Stored(id=capture.id, replayed=False) for capture in captures]

    def _earlier(self, captures: Sequence[Capture], request: IdempotencyKey) -> list[Stored]:
        found = [
            row
            for row in self._rows[captures[0].group_id].values()
            if row.request is not None
            and row.request[0] == request.principal
            and row.request[1].partition(" ")[2] == request.key
        ]
        if any(row.request is not None and row.request[2] != request.request_hash for row in found):
            raise IdempotencyMismatch("idempotency_mismatch", field="Idempotency-Key", key=request.key)
        return [Stored(id=row.capture.id, replayed=True) for row in found]

    async def get(self, group_id: str, log_id: UUID) -> QuarantineRow | None:
        row = self._rows[group_id].get(log_id)
        return None if row is None else _quarantine_row(row)

    async def page(
        self, group_id: str, *, where: QuarantineFilter, before: UUID | None = None, limit: int = 50
    ) -> Sequence[QuarantineRow]:
        newest_first = sorted(self._rows[group_id].values(), key=lambda row: row.capture.id, reverse=True)
        rows = [row for row in newest_first if _matches(row, where) and (before is None or row.capture.id < before)]
        return [_quarantine_row(row) for row in rows[:limit]]

    async def pending(self, *, limit: int) -> list[Pending]:
        now = self._clock.now()
        due = [
            row
            for rows in self._rows.values()
            for row in rows.values()
            if row.state is Admission.PENDING and row.next_try_at is not None and row.next_try_at <= now
        ]
        due.sort(key=lambda row: row.next_try_at or now)
        return [Pending(group_id=row.capture.group_id, log_id=row.capture.id) for row in due[:limit]]

    async def load(self, group_id: str, log_ids: Sequence[UUID]) -> list[Capture]:
        rows = [self._rows[group_id][one] for one in log_ids if one in self._rows[group_id]]
        still = [row.capture for row in rows if row.state is Admission.PENDING]
        return sorted(still, key=lambda capture: capture.id)

    def open(self, group_id: str, log_ids: Sequence[UUID]) -> AbstractAsyncContextManager[AdmissionBatch]:
        return self._open(group_id, log_ids)

    @asynccontextmanager
    async def _open(self, group_id: str, log_ids: Sequence[UUID]) -> AsyncIterator[AdmissionBatch]:
        async with self._locks[group_id]:
            batch = _Batch(frozenset(capture.id for capture in await self.load(group_id, log_ids)))
            yield batch
            for one in batch.settled:
                self._settle(group_id, one)

    def _settle(self, group_id: str, one: Settled) -> None:
        row = self._rows[group_id][one.log_id]
        if row.state is not Admission.PENDING:
            return
        row.state, row.settled_at, row.flags = one.state, one.at, tuple(one.flags)
        row.verdicts, row.vector, row.model = list(one.verdicts), one.embedding, one.embedding_model
        row.sighting = one.sighting
        row.attempts += 1

    async def postpone(self, group_id: str, log_ids: Sequence[UUID]) -> None:
        for log_id in log_ids:
            row = self._rows[group_id].get(log_id)
            if row is not None and row.state is Admission.PENDING:
                row.next_try_at = self._clock.now() + min(
                    timedelta(seconds=30), timedelta(seconds=1) * 2 ** min(row.attempts, 10)
                )
                row.attempts += 1

    async def receipts(
        self, group_id: str, log_ids: Sequence[UUID]
    ) -> Mapping[UUID, tuple[Admission, tuple[Verdict, ...]]]:
        rows = self._rows[group_id]
        return {one: (rows[one].state, tuple(rows[one].verdicts)) for one in log_ids if one in rows}

    async def admitted(self, group_id: str, *, since: datetime, limit: int) -> list[WorkingEntry]:
        rows = [
            row
            for row in self._rows[group_id].values()
            if row.state is Admission.ADMITTED and row.settled_at is not None and row.settled_at > since
        ]
        rows.sort(key=lambda row: (row.settled_at or since, row.capture.id), reverse=True)
        return [_working_entry(row, self._ttl) for row in rows[:limit]]


class _Batch:
    def __init__(self, pending: frozenset[UUID]) -> None:
        self.pending = pending
        self.settled: list[Settled] = []

    async def settle(self, settled: Sequence[Settled]) -> None:
        self.settled.extend(settled)


def _quarantine_row(row: _Row) -> QuarantineRow:
    return QuarantineRow(
        capture=row.capture,
        admission=row.state,
        attempts=row.attempts,
        settled_at=row.settled_at,
        flags=row.flags,
        verdicts=tuple(row.verdicts),
    )


def _working_entry(row: _Row, ttl: timedelta) -> WorkingEntry:
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


def _matches(row: _Row, where: QuarantineFilter) -> bool:
    capture = row.capture
    return (
        where.session_id in (None, capture.session_id)
        and where.agent_id in (None, capture.agent_id)
        and where.node_type in (None, capture.node_type)
        and where.admission in (None, row.state)
        and (where.since is None or capture.created_at >= where.since)
        and (where.until is None or capture.created_at < where.until)
    )


class MemoryWorking:
    """Working memory in lists."""

    def __init__(self, clock: Clock, *, size: int = 50) -> None:
        self._clock = clock
        self._size = size
        self._lists: defaultdict[str, list[WorkingEntry]] = defaultdict(list)

    async def push(self, entry: WorkingEntry) -> None:
        if not self._live(entry):
            return
        others = [one for one in self._lists[entry.group_id] if one.id != entry.id]
        self._lists[entry.group_id] = [entry, *others][: self._size]

    async def entries(self, group_id: str) -> list[WorkingEntry]:
        return [entry for entry in self._lists[group_id] if self._live(entry)]

    async def remove(self, group_id: str, entry_id: UUID) -> bool:
        before = len(self._lists[group_id])
        self._lists[group_id] = [entry for entry in self._lists[group_id] if entry.id != entry_id]
        return len(self._lists[group_id]) < before

    async def cleanup(self, group_id: str | None = None) -> int:
        groups = [group_id] if group_id is not None else list(self._lists)
        before = sum(len(self._lists[group]) for group in groups)
        for group in groups:
            self._lists[group] = await self.entries(group)
        return before - sum(len(self._lists[group]) for group in groups)

    async def ping(self) -> None:
        """Always there."""

    def _live(self, entry: WorkingEntry) -> bool:
        return entry.expires_at is not None and entry.expires_at > self._clock.now()


class MemoryLongTerm:
    """Long-term memory in a list: search and promotion over the same chunks."""

    def __init__(self, idempotency: "MemoryIdempotency | None" = None) -> None:
        self._chunks: list[Memory] = []
        self._idempotency = idempotency
        self.promotions: list[Promotion] = []
        self.events: list[AuditEvent] = []

    async def search(self, query: SearchQuery) -> list[Found]:
        found = [
            Found(memory=chunk, similarity=float(np.dot(query.embedding, chunk.embedding)))
            for chunk in self._chunks
            if chunk.group_id == query.group_id
            and chunk.embedding_model == query.model
            and chunk.agent_id in (None, query.agent_id)
            and chunk.embedding is not None
        ]
        found.sort(key=lambda one: (-one.similarity, one.memory.id, one.memory.chunk_no))
        best: dict[UUID, Found] = {}
        for one in found:
            best.setdefault(one.memory.id, one)
        return [replace(one, memory=replace(one.memory, embedding=None)) for one in best.values()][: query.limit]

    async def add(
        self,
        group_id: str,
        promotions: Sequence[tuple[Promotion, Sequence[Memory]]],
        *,
        events: Sequence[AuditEvent],
        claim: Claim | None = None,
        answer: Json = None,
    ) -> None:
        if any(promotion.group_id != group_id for promotion, _ in promotions):
            raise ValueError(f"a promotion of another group than {group_id}")
        if claim is not None and self._idempotency is not None:
            self._idempotency.complete(claim, answer)
        for promotion, chunks in promotions:
            self.promotions.append(promotion)
            self._chunks.extend(chunks)
        self.events.extend(events)

    async def models(self) -> dict[str, int]:
        return {one.embedding_model: len(one.embedding) for one in self._chunks if one.embedding is not None}

    async def ping(self) -> None:
        """Always there."""


@dataclass
class _Held:
    request_hash: bytes
    token: UUID
    lease_until: datetime
    expires_at: datetime
    done: bool = False
    answer: Json = None


class MemoryIdempotency:
    """Claims and answers in a dict."""

    def __init__(self, clock: Clock, ids: CountedIds, *, keep: timedelta = timedelta(hours=24)) -> None:
        self._clock = clock
        self._ids = ids
        self._keep = keep
        self._held: dict[tuple[str, str, str], _Held] = {}

    async def claim(self, request: IdempotencyKey) -> Claim | Json:
        now = self._clock.now()
        held = self._held.get(_place(request))
        if held is not None and held.expires_at > now:
            if held.request_hash != request.request_hash:
                raise IdempotencyMismatch("idempotency_mismatch", field="Idempotency-Key", key=request.key)
            if held.done:
                return held.answer
            if held.lease_until > now:
                raise StillRunning("idempotency_running", key=request.key)
        token = self._ids.new()
        self._held[_place(request)] = _Held(request.request_hash, token, now + timedelta(minutes=2), now + self._keep)
        return Claim(request=request, token=token)

    def complete(self, claim: Claim, answer: Json) -> None:
        held = self._held.get(_place(claim.request))
        if held is None or held.token != claim.token:
            raise StillRunning("idempotency_running", key=claim.request.key)
        held.done, held.answer = True, answer

    async def release(self, claim: Claim) -> None:
        held = self._held.get(_place(claim.request))
        if held is not None and held.token == claim.token and not held.done:
            del self._held[_place(claim.request)]


def _place(request: IdempotencyKey) -> tuple[str, str, str]:
    return request.principal, request.route, request.key


class MemoryKeys:
    """Keys in a dict."""

    def __init__(self) -> None:
        self._keys: dict[UUID, tuple[ApiKey, bytes]] = {}
        self.events: list[AuditEvent] = []

    async def add(self, key: ApiKey, secret_hash: bytes, *, event: AuditEvent) -> None:
        self._keys[key.id] = (key, secret_hash)
        self.events.append(event)

    async def find(self, secret_hash: bytes | None) -> KeyLookup:
        found = [key for key, kept in self._keys.values() if kept == secret_hash and key.revoked_at is None]
        return KeyLookup(key=found[0] if found else None, any_key_ever=bool(self._keys))

    async def all(self) -> Sequence[ApiKey]:
        return [key for key, _ in self._keys.values()]

    async def revoke(self, key_id: UUID, *, at: datetime, event: AuditEvent) -> bool:
        if key_id not in self._keys or self._keys[key_id][0].revoked_at is not None:
            return False
        key, secret_hash = self._keys[key_id]
        self._keys[key_id] = (replace(key, revoked_at=at), secret_hash)
        self.events.append(event)
        return True
