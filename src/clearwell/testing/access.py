"""Keys and answers in dicts, the audit trail in lists."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from clearwell.errors import IdempotencyMismatch, RequestInProgress
from clearwell.ports import AuditBatch, AuditHeads, AuditStore, Claim, Clock, Ids
from clearwell.records import (
    ApiKey,
    AuditEvent,
    AuditFilter,
    AuditSeal,
    HeadsState,
    IdempotencyKey,
    Json,
    KeyLookup,
    KnownHead,
)
from clearwell.testing.simple import has_come


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

    def __init__(self, clock: Clock, ids: Ids, *, keep: timedelta = timedelta(hours=24)) -> None:
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
            if not has_come(held.lease_until, now):
                raise RequestInProgress("idempotency_running", key=request.key)
        token = self._ids.new()
        self._held[_place(request)] = _Held(request.request_hash, token, now + timedelta(minutes=2), now + self._keep)
        return Claim(request=request, token=token)

    async def complete(self, claim: Claim, answer: Json) -> None:
        held = self._held.get(_place(claim.request))
        if held is None or held.token != claim.token:
            raise RequestInProgress("idempotency_running", key=claim.request.key)
        held.done, held.answer = True, answer

    async def release(self, claim: Claim) -> None:
        held = self._held.get(_place(claim.request))
        if held is not None and held.token == claim.token and not held.done:
            del self._held[_place(claim.request)]

    async def expire(self) -> int:
        old = [place for place, held in self._held.items() if held.expires_at <= self._clock.now()]
        for place in old:
            del self._held[place]
        return len(old)


def _place(request: IdempotencyKey) -> tuple[str, str, str]:
    return request.principal, request.route, request.key


class MemoryKeys:
    """Keys in a dict."""

    def __init__(self) -> None:
        self._keys: dict[UUID, tuple[ApiKey, bytes]] = {}
        self._sessions: dict[bytes, tuple[UUID, datetime]] = {}
        self.events: list[AuditEvent] = []

    async def add(self, key: ApiKey, secret_hash: bytes, *, event: AuditEvent) -> None:
        self._keys[key.id] = (key, secret_hash)
        self.events.append(event)

    async def find(self, secret_hash: bytes | None) -> KeyLookup:
        found = [key for key, kept in self._keys.values() if kept == secret_hash and key.revoked_at is None]
        return KeyLookup(key=found[0] if found else None, any_key_ever=bool(self._keys))

    async def all(self) -> Sequence[ApiKey]:
        return [key for key, _ in self._keys.values()]

    def list_revoked(self) -> Sequence[ApiKey]:
        return [key for key, _ in self._keys.values() if key.revoked_at is not None]

    async def revoke(self, key_id: UUID, *, at: datetime, event: AuditEvent) -> bool:
        if key_id not in self._keys or self._keys[key_id][0].revoked_at is not None:
            return False
        key, secret_hash = self._keys[key_id]
        self._keys[key_id] = (replace(key, revoked_at=at), secret_hash)
        self.events.append(event)
        return True

    async def find_session(self, token_hash: bytes, *, at: datetime) -> KeyLookup:
        key_id, expires_at = self._sessions.get(token_hash, (None, at))
        key = self._keys[key_id][0] if key_id is not None and expires_at > at else None
        valid = key if key is not None and key.revoked_at is None else None
        return KeyLookup(key=valid, any_key_ever=bool(self._keys))

    async def add_session(self, token_hash: bytes, key_id: UUID, *, at: datetime, expires_at: datetime) -> None:
        self._sessions = {kept: held for kept, held in self._sessions.items() if held[1] > at}
        self._sessions[token_hash] = (key_id, expires_at)

    async def remove_session(self, token_hash: bytes) -> None:
        self._sessions.pop(token_hash, None)


class MemoryAudit(AuditStore):
    """Events and seals in lists."""

    def __init__(self) -> None:
        self.events: list[AuditEvent] = []
        self.sealed: list[AuditSeal] = []

    async def add(self, event: AuditEvent) -> None:
        self.events.append(event)

    async def page(self, group_id: str, where: AuditFilter, *, before: UUID | None, limit: int) -> Sequence[AuditEvent]:
        found = [event for event in self._of(group_id) if _matches(event, where)]
        return [event for event in found[::-1] if before is None or event.id < before][:limit]

    async def find_unsealed_groups(self, *, after: str | None, limit: int) -> Sequence[str]:
        groups = {event.group_id for event in self.events if self._is_unsealed(event)}
        return sorted(group for group in groups if after is None or group > after)[:limit]

    def open_batch(self, group_id: str, *, limit: int) -> AbstractAsyncContextManager[AuditBatch]:
        return self._open_batch(group_id, limit)

    @asynccontextmanager
    async def _open_batch(self, group_id: str, limit: int) -> AsyncIterator[AuditBatch]:
        unsealed = [event for event in self._of(group_id) if self._is_unsealed(event)]
        yield MemoryAuditBatch(self, group_id, await self.last_seal(group_id), unsealed[:limit])

    async def seals(self, group_id: str, *, after: int, limit: int) -> Sequence[AuditSeal]:
        return [seal for seal in self.sealed if seal.group_id == group_id and seal.number > after][:limit]

    async def last_seal(self, group_id: str) -> AuditSeal | None:
        seals = [seal for seal in self.sealed if seal.group_id == group_id]
        return seals[-1] if seals else None

    async def read(self, group_id: str, event_ids: Sequence[UUID]) -> Mapping[UUID, AuditEvent]:
        return {event.id: event for event in self._of(group_id) if event.id in event_ids}

    async def scan(self, group_id: str, *, after: UUID | None, limit: int) -> Sequence[AuditEvent]:
        return [event for event in self._of(group_id) if after is None or event.id > after][:limit]

    def _of(self, group_id: str) -> list[AuditEvent]:
        return sorted((event for event in self.events if event.group_id == group_id), key=lambda event: event.id)

    def _is_unsealed(self, event: AuditEvent) -> bool:
        return not any(event.id in seal.event_ids for seal in self.sealed)


class MemoryAuditBatch(AuditBatch):
    """The events that no seal covers."""

    def __init__(self, audit: MemoryAudit, group_id: str, last: AuditSeal | None, events: Sequence[AuditEvent]) -> None:
        self._audit = audit
        self._group_id = group_id
        self.last = last
        self.events = events

    async def seals(self, *, after: int, limit: int) -> Sequence[AuditSeal]:
        return await self._audit.seals(self._group_id, after=after, limit=limit)

    async def seal(self, seal: AuditSeal) -> None:
        self._audit.sealed.append(seal)


class MemoryAuditHeads(AuditHeads):
    """Heads in a dict."""

    def __init__(self, clock: Clock, *, since: datetime | None = None) -> None:
        self._clock = clock
        self._heads: dict[str, KnownHead] = {}
        self._since = since

    async def find(self, group_id: str) -> KnownHead | None:
        return self._heads.get(group_id)

    async def begin(self) -> None:
        self._since = self._since or self._clock.now()

    async def record(self, heads: Sequence[KnownHead]) -> None:
        for head in heads:
            known = self._heads.get(head.group_id)
            self._heads[head.group_id] = head if known is None else known.advance(head)

    async def mark_refused(self, group_id: str, *, at: datetime) -> None:
        self._heads[group_id] = replace(self._heads[group_id], refused_at=at)

    async def replace(self, group_id: str, head: KnownHead | None) -> None:
        self._heads.pop(group_id, None)
        if head is not None:
            self._heads[group_id] = head

    async def state(self) -> HeadsState:
        return HeadsState(
            since=self._since,
            heads=len(self._heads),
            begun=tuple(group for group, head in self._heads.items() if head.begun_at is not None),
            refused=tuple(group for group, head in self._heads.items() if head.refused_at is not None),
        )


def _matches(event: AuditEvent, where: AuditFilter) -> bool:
    return (
        where.actor in (None, event.actor)
        and where.action in (None, event.action)
        and (where.since is None or event.at >= where.since)
        and (where.until is None or event.at < where.until)
    )
