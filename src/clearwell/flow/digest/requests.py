"""Request and read digests. Only people can do this, not agents."""

from collections.abc import Sequence
from uuid import UUID

from clearwell.errors import NotFound
from clearwell.flow import limits
from clearwell.flow.access.permissions import require_group_covered, require_right
from clearwell.flow.events.publisher import EventPublisher
from clearwell.flow.idempotency import run_once
from clearwell.ports import Clock, DigestStore, IdempotencyStore, Ids
from clearwell.records import (
    AuditEvent,
    Digest,
    DigestStatus,
    EventType,
    IdempotencyKey,
    Json,
    Principal,
    Right,
)
from clearwell.vocabulary import AuditAction


class DigestRequests:
    """Adds requested digests, and reads digests with their insights."""

    def __init__(
        self, store: DigestStore, idempotency: IdempotencyStore, events: EventPublisher, clock: Clock, ids: Ids
    ) -> None:
        self._store = store
        self._idempotency = idempotency
        self._events = events
        self._clock = clock
        self._ids = ids

    async def request(
        self, group_id: str, *, by: Principal, request: IdempotencyKey | None = None
    ) -> tuple[UUID, DigestStatus]:
        """Request a digest of a group. If the group has an open one, that one is returned."""
        require_right(by, Right.REVIEW, Right.ADMIN)
        require_group_covered(by, limits.require_group(group_id))

        async def act() -> Json:
            found = await self._request(group_id, by)
            return {"id": str(found.id), "status": found.status.value}

        answer = await run_once(self._idempotency, request, act)
        if not isinstance(answer, dict):
            raise TypeError(f"a stored answer is an object, not {type(answer).__name__}")
        return UUID(str(answer["id"])), DigestStatus(str(answer["status"]))

    async def get(self, digest_id: UUID, *, by: Principal, group_id: str | None = None) -> Digest:
        """Return a digest with its insights. Raises NotFound if it does not exist.

        Without a group, the digest is found by its id, if the caller's key covers its group.
        """
        require_right(by, Right.REVIEW, Right.ADMIN)
        if group_id is None:
            group_id = await self._find_group(digest_id, by)
        else:
            limits.require_id(group_id, "group_id")
            require_group_covered(by, group_id)
        digest = await self._store.get(group_id, digest_id)
        if digest is None:
            raise NotFound("digest_not_found", id=digest_id)
        return digest

    async def page(
        self, group_id: str, *, by: Principal, before: UUID | None = None, limit: int = 50
    ) -> Sequence[Digest]:
        """Return a page of the digests of a group, newest first, without their insights."""
        require_right(by, Right.REVIEW, Right.ADMIN)
        require_group_covered(by, limits.require_group(group_id))
        return await self._store.page(group_id, before=before, limit=limit)

    async def _request(self, group_id: str, by: Principal) -> Digest:
        now = self._clock.now()
        wanted = Digest(
            id=self._ids.new(), group_id=group_id, status=DigestStatus.QUEUED, requested_by=by.name, created_at=now
        )
        event = AuditEvent(
            id=self._ids.new(),
            group_id=group_id,
            at=now,
            actor=by.name,
            action=AuditAction.REQUEST_DIGEST.value,
            subject=f"digest {wanted.id}",
        )
        digest = await self._store.request(wanted, event=event)
        if digest.id == wanted.id:
            self._events.publish(EventType.DIGEST_REQUESTED, group_id, digest_id=str(digest.id), by=by.name)
        return digest

    async def _find_group(self, digest_id: UUID, by: Principal) -> str:
        group_id = await self._store.find_group(digest_id)
        if group_id is None or not by.covers(group_id):
            # The same error for both, so that nothing is disclosed about other groups.
            raise NotFound("digest_not_found", id=digest_id)
        return group_id
