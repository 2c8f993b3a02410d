"""Withdraw everything that rests on one source, session or agent: listed first, then in one step what was listed."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID

from clearwell.errors import Conflict, InvalidInput
from clearwell.flow import limits
from clearwell.flow.audit.events import AuditEvents
from clearwell.ports import Clock, DecisionTransaction, Ids, ReviewStore
from clearwell.records import Action, Decision, DecisionResult, DependentMemory, Principal, SourceSelector


@dataclass(frozen=True, slots=True, kw_only=True)
class RetractionPreview:
    """What would be withdrawn. The token stands for exactly these memories."""

    memories: tuple[DependentMemory, ...]
    token: str


class Retracting:
    def __init__(self, reviewed: ReviewStore, clock: Clock, ids: Ids) -> None:
        self._reviewed = reviewed
        self._clock = clock
        self._ids = ids
        self._audit_events = AuditEvents(clock, ids)

    async def listed(self, group_id: str, what: SourceSelector) -> RetractionPreview:
        given = [one for one in (what.source, what.session_id, what.agent_id) if one is not None]
        if len(given) != 1:
            raise InvalidInput("retract_what", field="source", limit="source, session_id, agent_id")
        limits.require_id(what.session_id, "session_id")
        limits.require_id(what.agent_id, "agent_id")
        found = tuple(await self._reviewed.find_dependents(group_id, what))
        return RetractionPreview(memories=found, token=token_of([one.memory_id for one in found]))

    async def retract(
        self,
        transaction: DecisionTransaction,
        group_id: str,
        listed: RetractionPreview,
        *,
        token: str,
        reason: str | None,
        by: Principal,
    ) -> DecisionResult:
        """Withdraw what was listed. Where the list is another one by now nothing is done."""
        ids = tuple(sorted(one.memory_id for one in listed.memories))
        states = await transaction.find_promotions(ids)
        if token != listed.token or any(states[one].state == "withdrawn" for one in ids):
            raise Conflict("retract_changed", current={"token": listed.token, "memories": len(ids)})
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
        about = f"decision {decision.id}"
        event = self._audit_events.make(
            "retract", about, group_id, by=by.name, at=decision.at, memories=[str(one) for one in ids]
        )
        await transaction.record_decision(decision, event)
        return DecisionResult(status="retracted", id=decision.id, decision_id=decision.id, memories=ids)


def token_of(ids: Sequence[UUID]) -> str:
    return sha256("\n".join(sorted(map(str, ids))).encode()).hexdigest()[:32]
