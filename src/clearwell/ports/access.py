"""Keys, repeated requests and the audit log."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A running request that holds an Idempotency-Key."""

    request: IdempotencyKey
    token: UUID


class IdempotencyStore(Protocol):
    async def claim(self, request: IdempotencyKey) -> Claim | Json:
        """Start a request, or return the stored answer to its first run.

        Raises RequestInProgress while the first run lasts, and IdempotencyMismatch for a different request.
        """
        ...

    async def complete(self, claim: Claim, answer: Json) -> None:
        """Store the answer to a completed request. Raises RequestInProgress if another request holds the key now."""
        ...

    async def release(self, claim: Claim) -> None:
        """Release the claim of a failed request, so that it can be retried."""
        ...

    async def expire(self) -> int:
        """Remove expired answers and return their number."""
        ...


class KeyStore(Protocol):
    async def add(self, key: ApiKey, secret_hash: bytes, *, event: AuditEvent) -> None: ...

    async def find(self, secret_hash: bytes | None) -> KeyLookup: ...

    async def all(self) -> Sequence[ApiKey]: ...

    async def revoke(self, key_id: UUID, *, at: datetime, event: AuditEvent) -> bool:
        """Revoke a key. Returns False if there is no such key or it is already revoked."""
        ...

    async def find_session(self, token_hash: bytes, *, at: datetime) -> KeyLookup:
        """Find the key of a session of the console: None if the session has ended or the key was revoked."""
        ...

    async def add_session(self, token_hash: bytes, key_id: UUID, *, at: datetime, expires_at: datetime) -> None:
        """Store a session and remove those that have expired."""
        ...

    async def remove_session(self, token_hash: bytes) -> None: ...


class AuditBatch(Protocol):
    """The events of one group that no seal covers yet. Nobody else seals the group until the transaction ends."""

    last: AuditSeal | None
    events: Sequence[AuditEvent]

    async def seals(self, *, after: int, limit: int) -> Sequence[AuditSeal]:
        """Return the seals of the group with higher numbers than ``after``, in order."""
        ...

    async def seal(self, seal: AuditSeal) -> None:
        """Store the seal over these events."""
        ...


class AuditStore(Protocol):
    """Events and seals. Nothing is ever changed or removed here."""

    async def add(self, event: AuditEvent) -> None: ...

    async def page(self, group_id: str, where: AuditFilter, *, before: UUID | None, limit: int) -> Sequence[AuditEvent]:
        """Return events of a group, newest first. ``before`` is the id of the last event of the page before."""
        ...

    async def find_unsealed_groups(self, *, after: str | None, limit: int) -> Sequence[str]:
        """Return the groups that have events without a seal, in the order of their names, from after ``after`` on."""
        ...

    def open_batch(self, group_id: str, *, limit: int) -> AbstractAsyncContextManager[AuditBatch]: ...

    async def seals(self, group_id: str, *, after: int, limit: int) -> Sequence[AuditSeal]:
        """Return the seals with higher numbers than ``after``, in order."""
        ...

    async def last_seal(self, group_id: str) -> AuditSeal | None: ...

    async def read(self, group_id: str, event_ids: Sequence[UUID]) -> Mapping[UUID, AuditEvent]: ...

    async def scan(self, group_id: str, *, after: UUID | None, limit: int) -> Sequence[AuditEvent]:
        """Return the events of a group with higher ids than ``after``, in the order of their ids."""
        ...


class AuditHeads(Protocol):
    """The last seal of every group that this installation has seen. They are kept outside of the database."""

    async def find(self, group_id: str) -> KnownHead | None: ...

    async def begin(self) -> None:
        """Keep since when there are heads, unless that is known. Call it before the first seal of a group."""
        ...

    async def record(self, heads: Sequence[KnownHead]) -> None:
        """Keep these heads, each unless a newer one of its group is known."""
        ...

    async def mark_refused(self, group_id: str, *, at: datetime) -> None:
        """Keep that the stored seals of a group do not continue its head."""
        ...

    async def replace(self, group_id: str, head: KnownHead | None) -> None:
        """Keep another head of a group, or none, on the word of an operator."""
        ...

    async def state(self) -> HeadsState: ...
