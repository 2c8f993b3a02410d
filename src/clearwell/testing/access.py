"""Keys and answers in dicts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from clearwell.errors import IdempotencyMismatch, RequestInProgress
from clearwell.ports import Claim, Clock, Ids
from clearwell.records import ApiKey, AuditEvent, IdempotencyKey, Json, KeyLookup


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
            if held.lease_until > now:
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


class MemoryAudit:
    """Events in a list."""

    def __init__(self) -> None:
        self.events: list[AuditEvent] = []

    async def add(self, event: AuditEvent) -> None:
        self.events.append(event)
