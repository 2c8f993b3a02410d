"""API keys: creation, revocation, and the caller that a presented key belongs to.

A key's secret is shown once, when the key is created. Only its hash is stored.
"""

import asyncio
import hashlib
import secrets
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from clearwell.errors import DatabaseUnavailable, InvalidInput, NotAllowed, NotFound, Unauthenticated
from clearwell.flow import limits
from clearwell.flow.access.gate import AccessGate
from clearwell.flow.access.permissions import require_operator
from clearwell.flow.access.rates import RequestRates
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.deadlines import abandon, wait_for_result
from clearwell.ports import Clock, Ids, KeyStore
from clearwell.records import INSTALLATION, ApiKey, KeyLookup, Principal, Right
from clearwell.vocabulary import AuditAction

PREFIX = "cw_"
CACHED_PATIENCE = 0.125
"""The share of the patience that a look-up gets if a recent answer to it is cached."""
SESSION = timedelta(hours=24)
"""How long a person stays signed in to the console."""


@dataclass(frozen=True, slots=True)
class CachedLookup:
    """The result of an earlier lookup, and its time."""

    lookup: KeyLookup
    at: datetime


class KeyRing:
    """Creates, lists, revokes and authenticates keys.

    Every key is looked up in the database. While the database does not answer, the last answer is valid for
    ``remember``: nothing can be revoked in a database that is down. ``patience`` limits each look-up.
    """

    def __init__(
        self,
        keys: KeyStore,
        clock: Clock,
        ids: Ids,
        gate: AccessGate,
        *,
        remember: timedelta,
        rates: RequestRates,
        patience: timedelta = timedelta(seconds=2),
    ) -> None:
        self._keys = keys
        self._gate = gate
        self._clock = clock
        self._ids = ids
        self._audit_events = AuditEvents(clock, ids)
        self._remember = remember
        self._rates = rates
        self._patience = patience
        self._cache: dict[bytes | None, CachedLookup] = {}
        self._trusted: dict[bytes, Principal] = {}

    async def create(
        self,
        *,
        name: str,
        rights: frozenset[Right],
        groups: frozenset[str] | None,
        agent_id: str | None = None,
        by: Principal,
    ) -> tuple[ApiKey, str]:
        """Create a key; returns it with its secret, which is not stored. Raises InvalidInput, or NotAllowed."""
        await self.require_operator(by, "create key")
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
        event = self._audit_events.make(AuditAction.CREATE_KEY, f"key {key.id}", INSTALLATION, by=by.name)
        await self._keys.add(key, hash_secret(secret), event=event)
        return key, secret

    async def list(self) -> list[ApiKey]:
        """All keys, the revoked ones included."""
        return [*await self._keys.all()]

    async def read_all(self, *, by: Principal) -> Sequence[ApiKey]:
        """All keys, for a person who may administer every group. Raises NotAllowed."""
        await self.require_operator(by, "list keys")
        return await self.list()

    async def list_names(self) -> Mapping[str, str]:
        """The name of each key, by the name under which its holder is recorded.

        Two keys may have the same name, so decisions and events record the key's id.
        """
        return {key.holder: key.name for key in await self._keys.all()}

    async def revoke(self, key_id: UUID, *, by: Principal) -> None:
        """Revoke a key. Raises NotFound if there is none, or it was revoked before; NotAllowed."""
        await self.require_operator(by, f"revoke key {key_id}")
        event = self._audit_events.make(AuditAction.REVOKE_KEY, f"key {key_id}", INSTALLATION, by=by.name)
        if not await self._keys.revoke(key_id, at=event.at, event=event):
            raise NotFound("key_not_found", id=key_id)

    async def require_operator(self, by: Principal, what: str) -> None:
        """Require a person who may administer every group, and record a refusal. Raises NotAllowed."""
        try:
            require_operator(by)
        except NotAllowed as refusal:
            await self._gate.record(refusal, by, None, what)
            raise

    def trust(self, secret: str, holder: Principal) -> None:
        """Accept a secret that is no key, as long as this process runs. Whoever presents it is ``holder``."""
        self._trusted[hash_secret(secret)] = holder

    async def authenticate(self, secret: str | None, *, local: bool, counts: bool = True) -> Principal:
        """Return the caller that presents this secret. Raises Unauthenticated, or TooManyRequests.

        A key that is known is counted before it is looked up, so that a flood of its requests costs the database
        nothing; any other is counted if it is valid. The secrets of ``trust`` and the person at the machine are not
        counted, nor is a request that was counted before.

        Without a secret the caller is the person at the machine, if ``local`` allows it and no key was ever created.
        """
        secret_hash = None if secret is None else hash_secret(secret)
        if secret_hash in self._trusted:
            return self._trusted[secret_hash]
        is_known = secret_hash in self._cache
        if counts and secret_hash is not None and is_known:
            self._rates.spend(secret_hash)
        lookup = await self._look_up(secret_hash, self._keys.find(secret_hash))
        if lookup.key is not None:
            if counts and secret_hash is not None and not is_known:
                self._rates.spend(secret_hash)
            return _holder_of(lookup.key)
        if secret is not None:
            raise Unauthenticated("key_invalid")
        if local and not lookup.any_key_ever:
            return Principal.local()
        raise Unauthenticated("key_needed")

    async def start_session(self, secret: str) -> str:
        """Sign a person in to the console; returns the token of the session, of which only a hash is stored.

        Raises Unauthenticated for an invalid key, and NotAllowed for a key of an agent.
        """
        secret_hash = hash_secret(secret)
        key = (await self._look_up(secret_hash, self._keys.find(secret_hash))).key
        if key is None:
            raise Unauthenticated("key_invalid")
        if key.agent_id is not None:
            raise NotAllowed("session_agent_key", name=key.name, agent=key.agent_id)
        if not key.rights & {Right.REVIEW, Right.ADMIN}:
            raise NotAllowed("session_key_scope", name=key.name, scopes=", ".join(sorted(key.rights)))
        token, now = secrets.token_urlsafe(32), self._clock.now()
        await self._keys.add_session(hash_secret(token), key.id, at=now, expires_at=now + SESSION)
        return token

    async def authenticate_session(self, token: str) -> Principal:
        """Return the person who is signed in with this token. Raises Unauthenticated."""
        token_hash = hash_secret(token)
        lookup = await self._look_up(token_hash, self._keys.find_session(token_hash, at=self._clock.now()))
        if lookup.key is None:
            raise Unauthenticated("session_ended")
        return _holder_of(lookup.key)

    async def end_session(self, token: str) -> None:
        """Sign out. A session that has ended before is no error."""
        token_hash = hash_secret(token)
        self._cache.pop(token_hash, None)
        await self._keys.remove_session(token_hash)

    async def any_key_ever(self) -> bool:
        """Whether a key was ever created, revoked ones included."""
        return (await self._keys.find(None)).any_key_ever

    async def _look_up(self, secret_hash: bytes | None, asked: Coroutine[None, None, KeyLookup]) -> KeyLookup:
        """Return what was ``asked`` of the store, or the last answer while the store does not respond."""
        now = self._clock.now()
        cached = self._cache.get(secret_hash)
        valid = cached is not None and now - cached.at <= self._remember
        # With a valid cached answer the wait is short: the request itself has a time limit of its own.
        patience = self._patience.total_seconds() * (CACHED_PATIENCE if valid else 1)
        task = asyncio.create_task(asked, name="look up a key")
        try:
            lookup = await wait_for_result(task, patience)
        except (DatabaseUnavailable, TimeoutError) as error:
            abandon(task)
            if cached is not None and valid:
                return cached.lookup
            if isinstance(error, DatabaseUnavailable):
                raise
            raise DatabaseUnavailable("database_unavailable", problem="no answer in time") from error
        if lookup.key is not None or secret_hash is None:
            self._cache[secret_hash] = CachedLookup(lookup, now)
        else:
            self._cache.pop(secret_hash, None)
        return lookup


def _holder_of(key: ApiKey) -> Principal:
    return Principal(name=key.holder, rights=key.rights, groups=key.groups, agent_id=key.agent_id, key_name=key.name)


def hash_secret(secret: str) -> bytes:
    """Hash a secret for storage. It has 256 random bits and needs neither a salt nor a slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
