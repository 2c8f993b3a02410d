"""Tombstones: a person says that a value must not come back, and may take that back where it was only rejected."""

from collections.abc import Sequence
from uuid import UUID

from clearwell.errors import InvalidInput, NotFound
from clearwell.flow import limits
from clearwell.flow.gate import Gate
from clearwell.flow.known import Knowledge
from clearwell.flow.normal import normalised
from clearwell.ports import Clock, Embedder, Ids, TombstoneStore
from clearwell.records import AuditEvent, Principal, Tombstone, TombstoneKind
from clearwell.settings import Settings

REASON_BYTES = 2000


class Tombstoning:
    def __init__(
        self,
        gate: Gate,
        tombstones: TombstoneStore,
        knowledge: Knowledge,
        embedder: Embedder,
        clock: Clock,
        ids: Ids,
        settings: Settings,
    ) -> None:
        self._gate = gate
        self._tombstones = tombstones
        self._knowledge = knowledge
        self._embedder = embedder
        self._clock = clock
        self._ids = ids
        self._settings = settings

    async def require(self, by: Principal, group_id: str, what: str) -> None:
        """Let who may review or administer pass. Who is turned away is recorded."""
        await self._gate.reviewer(by, group_id, what)

    async def add(self, group_id: str, value: str, *, reason: str, by: Principal) -> UUID:
        """Reject a value: it is refused at ingress, and text like it is flagged. The id of its tombstone."""
        limits.require_text(value, "value", max_bytes=self._settings.max_content_bytes)
        limits.require_text(reason, "reason", max_bytes=REASON_BYTES)
        if not normalised(value):
            raise InvalidInput("text_blank", field="value")
        tombstone = Tombstone(
            id=self._ids.new(),
            group_id=group_id,
            kind=TombstoneKind.REJECTED,
            reason=reason,
            made_by=by.name,
            made_at=self._clock.now(),
        )
        (vector,) = await self._embedder.embed([value])
        digest = await self._knowledge.digest(group_id, normalised(value))
        event = self._event("add tombstone", tombstone.id, group_id, by)
        model = self._embedder.model
        if not await self._tombstones.add(tombstone, digest, embedding=vector, model=model, event=event):
            standing, _ = await self._tombstones.look(group_id, [digest])
            return tombstone.id if standing is None else standing.id
        return tombstone.id

    async def lift(self, group_id: str, tombstone_id: UUID, *, by: Principal) -> None:
        event = self._event("lift tombstone", tombstone_id, group_id, by)
        if not await self._tombstones.lift(group_id, tombstone_id, event=event):
            raise NotFound("tombstone_not_found", id=tombstone_id, group=group_id)

    async def all(self, group_id: str) -> Sequence[Tombstone]:
        return await self._tombstones.all(group_id)

    def _event(self, action: str, tombstone_id: UUID, group_id: str, by: Principal) -> AuditEvent:
        return AuditEvent(
            id=self._ids.new(),
            group_id=group_id,
            at=self._clock.now(),
            actor=by.name,
            action=action,
            subject=f"tombstone {tombstone_id}",
        )
