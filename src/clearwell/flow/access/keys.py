"""Keys: made once, shown once, kept as a hash; and who a caller is by the key it shows."""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from clearwell.errors import DatabaseUnavailable, InvalidInput, NotFound, Unauthenticated
from clearwell.flow import limits
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.deadlines import begun, in_time, leave
from clearwell.ports import Clock, Ids, KeyStore
from clearwell.records import ApiKey, KeyLookup, Principal, Right

PREFIX = "cw_"
KNOWN_PATIENCE = 0.125


@dataclass(frozen=True, slots=True)
class Remembered:
    lookup: KeyLookup
    at: datetime


class KeyRing:
    """Looks every key up anew. While the database is down, what it knew a moment ago holds for a while:
    nothing can be revoked in a database that is down."""

    def __init__(
        self, keys: KeyStore, clock: Clock, ids: Ids, *, remember: timedelta, patience: timedelta = timedelta(seconds=2)
    ) -> None:
        self._keys = keys
        self._clock = clock
        self._ids = ids
        self._audit_events = AuditEvents(clock, ids)
        self._remember = remember
        self._patience = patience
        self._known: dict[bytes | None, Remembered] = {}

    async def create(
        self,
        *,
        name: str,
        rights: frozenset[Right],
        groups: frozenset[str] | None,
        agent_id: str | None = None,
        actor: str,
    ) -> tuple[ApiKey, str]:
        """A new key and its secret, which is not kept."""
        if not rights:
            raise InvalidInput("key_without_scope", field="scope")
        if agent_id is not None and rights & {Right.REVIEW, Right.ADMIN}:
            raise InvalidInput("key_agent_decides", field="scope")
        for group in groups or ():
            limits.require_group(group, "group")
        key = ApiKey(
            id=self._ids.new(),
            name=limits.require_id(name, "name") or name,
            rights=rights,
            groups=groups,
            agent_id=limits.require_id(agent_id, "agent"),
            created_at=self._clock.now(),
        )
        secret = PREFIX + secrets.token_urlsafe(32)
        event = self._audit_events.event("create key", f"key {key.id}", "", by=actor)
        await self._keys.add(key, hashed(secret), event=event)
        return key, secret

    async def list(self) -> list[ApiKey]:
        return [*await self._keys.all()]

    async def names(self) -> Mapping[str, str]:
        """What each key is called, by how its holder is recorded: names may be given twice, and so are not recorded."""
        return {_holder(key): key.name for key in await self._keys.all()}

    async def revoke(self, key_id: UUID, *, actor: str) -> None:
        event = self._audit_events.event("revoke key", f"key {key_id}", "", by=actor)
        if not await self._keys.revoke(key_id, at=event.at, event=event):
            raise NotFound("key_not_found", id=key_id)

    async def principal(self, secret: str | None, *, local: bool) -> Principal:
        """Who shows this key. Without one it is the person at the machine, where ``local`` allows that and
        no key was ever made."""
        secret_hash = None if secret is None else hashed(secret)
        lookup = await self._lookup(secret_hash)
        if lookup.key is not None:
            key = lookup.key
            return Principal(name=_holder(key), rights=key.rights, groups=key.groups, agent_id=key.agent_id)
        if secret is not None:
            raise Unauthenticated("key_invalid")
        if local and not lookup.any_key_ever:
            return Principal.local()
        raise Unauthenticated("key_needed")

    async def any_key_ever(self) -> bool:
        return (await self._keys.find(None)).any_key_ever

    async def _lookup(self, secret_hash: bytes | None) -> KeyLookup:
        now = self._clock.now()
        known = self._known.get(secret_hash)
        trusted = known is not None and now - known.at <= self._remember
        # A caller who is known is not kept waiting: what it asks for has a budget of its own.
        patience = self._patience.total_seconds() * (KNOWN_PATIENCE if trusted else 1)
        asked = begun(self._keys.find(secret_hash), "key look-up")
        try:
            lookup = await in_time(asked, patience)
        except (DatabaseUnavailable, TimeoutError) as error:
            leave(asked)
            if known is not None and trusted:
                return known.lookup
            if isinstance(error, DatabaseUnavailable):
                raise
            raise DatabaseUnavailable("database_unavailable", problem="no answer in time") from error
        if lookup.key is not None or secret_hash is None:
            self._known[secret_hash] = Remembered(lookup, now)
        else:
            self._known.pop(secret_hash, None)
        return lookup


def _holder(key: ApiKey) -> str:
    return f"key:{key.id}"


def hashed(secret: str) -> bytes:
    """A secret of 256 random bits needs no salt and no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
