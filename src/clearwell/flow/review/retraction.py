"""Retraction: withdraw every memory that is based on a source, session or agent, as previewed, or one by its id."""

from collections.abc import Sequence
from hashlib import sha256
from uuid import UUID

from clearwell.errors import Conflict, InvalidInput, NotFound
from clearwell.flow import limits
from clearwell.flow.audit.events import AuditEvents
from clearwell.ports import Clock, DecisionTransaction, Ids, ProvenanceStore
from clearwell.records import (
    Action,
    Decision,
    DecisionResult,
    Json,
    MemoryState,
    Principal,
    RetractionPreview,
    SourceSelector,
)


class Retraction:
    """Previews a retraction, and carries it out if the preview is still correct."""

    def __init__(self, provenance: ProvenanceStore, clock: Clock, ids: Ids) -> None:
        self._provenance = provenance
        self._clock = clock
        self._ids = ids
        self._audit_events = AuditEvents(clock, ids)

    async def preview(self, group_id: str, selector: SourceSelector) -> RetractionPreview:
        """Return the memories that are based on the source, session or agent, or the one that is named.

        Raises NotFound or Conflict if a memory that is named does not exist or was withdrawn.
        """
        named = (selector.source, selector.session_id, selector.agent_id, selector.memory_id)
        if sum(one is not None for one in named) != 1:
            raise InvalidInput("retract_what", field="source", limit="source, session_id, agent_id, memory_id")
        limits.require_id(selector.session_id, "session_id")
        limits.require_id(selector.agent_id, "agent_id")
        memories = tuple(await self._provenance.find_dependents(group_id, selector))
        if selector.memory_id is not None and not memories:
            if await self._provenance.origin(group_id, selector.memory_id) is None:
                raise NotFound("memory_not_found", id=selector.memory_id, group=group_id)
            raise Conflict("memory_withdrawn", id=selector.memory_id)
        return RetractionPreview(memories=memories, token=hash_memory_ids([one.memory_id for one in memories]))

    async def apply(
        self,
        transaction: DecisionTransaction,
        group_id: str,
        preview: RetractionPreview,
        *,
        token: str | None,
        reason: str | None,
        by: Principal,
    ) -> DecisionResult:
        """Withdraw the previewed memories. Raises Conflict if they are not those of the token, where one is given."""
        ids = tuple(sorted(one.memory_id for one in preview.memories))
        states = await transaction.find_promotions(ids)
        if token not in (None, preview.token) or any(states[one].state is MemoryState.WITHDRAWN for one in ids):
            raise Conflict("retract_changed", current={"token": preview.token, "memories": len(ids)})
        if not ids:
            raise Conflict("retract_nothing")
        decision = Decision(
            id=self._ids.new(),
            group_id=group_id,
            action=Action.RETRACT,
            by=by.name,
            at=self._clock.now(),
            others=ids,
            reason=reason,
        )
        await transaction.withdraw_memories(ids, at=decision.at)
        subject, memories = f"decision {decision.id}", list[Json](map(str, ids))
        event = self._audit_events.make("retract", subject, group_id, by=by.name, at=decision.at, memories=memories)
        await transaction.record_decisions([(decision, event)])
        return DecisionResult(status="retracted", id=decision.id, decision_id=decision.id, memories=ids)


def hash_memory_ids(ids: Sequence[UUID]) -> str:
    return sha256("\n".join(sorted(map(str, ids))).encode()).hexdigest()[:32]
