"""Withdrawal of memories by a decision that can be undone."""

from collections.abc import Sequence
from uuid import UUID

from clearwell.flow.audit.events import AuditEvents
from clearwell.ports import Clock, DecisionTransaction, Ids
from clearwell.records import Action, Decision, Json, Principal
from clearwell.vocabulary import AuditAction


class Withdrawal:
    """Ends the validity of memories, and records the decision."""

    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids
        self._audit_events = AuditEvents(clock, ids)

    async def apply(
        self,
        transaction: DecisionTransaction,
        group_id: str,
        memory_ids: Sequence[UUID],
        *,
        reason: str | None,
        by: Principal,
    ) -> Decision:
        """Withdraw these memories, which are valid."""
        ids = tuple(sorted(memory_ids))
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
        event = self._audit_events.make(
            AuditAction.RETRACT, subject, group_id, by=by.name, at=decision.at, memories=memories
        )
        await transaction.record_decisions([(decision, event)])
        return decision
