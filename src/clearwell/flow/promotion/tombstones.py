"""Tombstones: a person says that a value must not come back, and may take that back where it was only rejected."""

from collections.abc import Sequence
from uuid import UUID

import structlog

from clearwell.errors import EmbedderUnavailable, InvalidInput, NotFound
from clearwell.flow import limits
from clearwell.flow.access.permissions import DecisionGate, require_reviewer
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.idempotency import run_once
from clearwell.flow.ingress.knowledge import Knowledge
from clearwell.flow.promotion.lifting import TombstoneLifter
from clearwell.flow.working.removal import EntryRemover
from clearwell.offload import offload
from clearwell.ports import Clock, DecisionStore, Embedder, IdempotencyStore, Ids, TombstoneStore
from clearwell.records import IdempotencyKey, Json, Principal, Tombstone, TombstoneKind, Vector
from clearwell.settings import Settings
from clearwell.text.normalisation import normalised

log = structlog.get_logger(__name__)


class TombstoneRegistry:
    """Who may review or administer keeps values out. Who is turned away is recorded."""

    def __init__(
        self,
        gate: DecisionGate,
        tombstones: TombstoneStore,
        decisions: DecisionStore,
        knowledge: Knowledge,
        remover: EntryRemover,
        idempotency: IdempotencyStore,
        embedder: Embedder,
        clock: Clock,
        ids: Ids,
        settings: Settings,
    ) -> None:
        self._gate = gate
        self._tombstones = tombstones
        self._decisions = decisions
        self._lifting = TombstoneLifter(embedder, settings)
        self._knowledge = knowledge
        self._remover = remover
        self._idempotency = idempotency
        self._embedder = embedder
        self._clock = clock
        self._ids = ids
        self._audit_events = AuditEvents(clock, ids)
        self._settings = settings

    async def add(
        self, group_id: str, value: str, *, reason: str, by: Principal, request: IdempotencyKey | None = None
    ) -> UUID:
        """Reject a value: it is refused at ingress, text like it is flagged, and what says it leaves working memory.

        Where working memory does not answer this fails, and the rejection, which stands, can be made again.
        """
        await self._gate.require_reviewer(by, group_id, "add tombstone")

        async def act() -> Json:
            made = await self._added(group_id, value, reason, by)
            await self._remover.saying(group_id, value, by=by)
            return str(made)

        return UUID(str(await run_once(self._idempotency, request, act)))

    async def lift(
        self, group_id: str, tombstone_id: UUID, *, by: Principal, request: IdempotencyKey | None = None
    ) -> None:
        """Take a rejection back. What was forgotten stays forgotten."""
        await self._gate.require_reviewer(by, group_id, f"lift tombstone {tombstone_id}")

        async def act() -> Json:
            event = self._audit_events.make("lift tombstone", f"tombstone {tombstone_id}", group_id, by=by.name)
            async with self._decisions.transaction(group_id) as transaction:
                if not await self._lifting.lift(transaction, tombstone_id, by=by.name, at=event.at):
                    raise NotFound("tombstone_not_found", id=tombstone_id, group=group_id)
                await transaction.record_decision(None, event)
            return True

        await run_once(self._idempotency, request, act)

    async def all(self, group_id: str, *, by: Principal) -> Sequence[Tombstone]:
        """All tombstones of a group, the newest first."""
        require_reviewer(by, group_id)
        return await self._tombstones.all(group_id)

    async def _vector_of(self, value: str) -> Vector | None:
        """None where the model does not answer: the value is refused all the same, only what is like it not flagged."""
        try:
            (vector,) = await self._embedder.embed([value])
        except EmbedderUnavailable as error:
            log.warning("rejected without a vector", reason=error.code)
            return None
        return vector

    async def _added(self, group_id: str, value: str, reason: str, by: Principal) -> UUID:
        """The id of the value's tombstone, which may have stood before."""
        limits.require_text(value, "value", max_bytes=self._settings.max_content_bytes)
        limits.require_a_reason(reason)
        plain = await offload(len(value), normalised, value)
        if not plain:
            raise InvalidInput("text_blank", field="value")
        tombstone = Tombstone(
            id=self._ids.new(),
            group_id=group_id,
            kind=TombstoneKind.REJECTED,
            reason=reason,
            made_by=by.name,
            made_at=self._clock.now(),
        )
        vector = await self._vector_of(value)
        digest = await self._knowledge.digest(group_id, plain)
        event = self._audit_events.make("add tombstone", f"tombstone {tombstone.id}", group_id, by=by.name)
        model = None if vector is None else self._embedder.model
        if not await self._tombstones.add(tombstone, digest, embedding=vector, model=model, event=event):
            standing, _ = await self._tombstones.look(group_id, [digest])
            return tombstone.id if standing is None else standing.id
        return tombstone.id
