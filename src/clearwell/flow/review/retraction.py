"""Retraction: withdraw every memory that is based on a source, session or agent, as previewed."""

from collections.abc import Sequence
from hashlib import sha256
from uuid import UUID

from clearwell.errors import Conflict, InvalidInput
from clearwell.flow import limits
from clearwell.flow.audit.events import AuditEvents
from clearwell.ports import Clock, DecisionTransaction, Ids, ProvenanceStore
from clearwell.records import Action, Decision, DecisionResult, Json, Principal, RetractionPreview, SourceSelector


class Retraction:
    """Previews a retraction, and carries it out if the preview is still correct."""

    def __init__(self, provenance: ProvenanceStore, clock: Clock, ids: Ids) -> None:
        self._provenance = provenance
        self._clock = clock
        self._ids = ids
        self._audit_events = AuditEvents(clock, ids)

    async def preview(self, group_id: str, selector: SourceSelector) -> RetractionPreview:
        """Return the memories that are based on the source, session or agent."""
        given = [one for one in (selector.source, selector.session_id, selector.agent_id) if one is not None]
        if len(given) != 1:
            raise InvalidInput("retract_what", field="source", limit="source, session_id, agent_id")
        limits.require_id(selector.session_id, "session_id")
        limits.require_id(selector.agent_id, "agent_id")
        memories = tuple(await self._provenance.find_dependents(group_id, selector))
        return RetractionPreview(memories=memories, token=hash_memory_ids([one.memory_id for one in memories]))

    async def apply(
        self,
        transaction: DecisionTransaction,
        group_id: str,
        preview: RetractionPreview,
        *,
        token: str,
        reason: str | None,
        by: Principal,
    ) -> DecisionResult:
        """Withdraw the previewed memories. Raises Conflict if they are not those of the token."""
        ids = tuple(sorted(one.memory_id for one in preview.memories))
        states = await transaction.find_promotions(ids)
        if token != preview.token or any(states[one].state == "withdrawn" for one in ids):
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
