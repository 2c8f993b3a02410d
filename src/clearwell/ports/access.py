"""Keys, repeated requests and the audit."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from clearwell.records import ApiKey, AuditEvent, IdempotencyKey, Json, KeyLookup


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A running request that holds an Idempotency-Key."""

    request: IdempotencyKey
    token: UUID


class IdempotencyStore(Protocol):
    async def claim(self, request: IdempotencyKey) -> Claim | Json:
        """Start a request, or get the answer its first run gave.

        Raises StillRunning while the first run lasts and IdempotencyMismatch for another request.
        """
        ...

    async def complete(self, claim: Claim, answer: Json) -> None:
        """Keep the answer of a request that has ended. Raises StillRunning where another holds the key now."""
        ...

    async def release(self, claim: Claim) -> None:
        """Give up a claim whose request failed, so that it can be tried again."""
        ...

    async def expire(self) -> int:
        """Remove the answers that are older than they have to be kept; how many there were."""
        ...


class KeyStore(Protocol):
    async def add(self, key: ApiKey, secret_hash: bytes, *, event: AuditEvent) -> None: ...

    async def find(self, secret_hash: bytes | None) -> KeyLookup: ...

    async def all(self) -> Sequence[ApiKey]: ...

    async def revoke(self, key_id: UUID, *, at: datetime, event: AuditEvent) -> bool:
        """False where there is no such key, or it was revoked before."""
        ...


class AuditStore(Protocol):
    async def add(self, event: AuditEvent) -> None: ...
