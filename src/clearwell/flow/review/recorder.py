"""The record of decisions on insights."""

from clearwell.flow.audit.events import AuditEvents
from clearwell.ports import Clock, DecisionTransaction, Ids
from clearwell.records import Decision
from clearwell.vocabulary import AuditAction


class DecisionRecorder:
    """Stores a decision on an insight with its audit event."""

    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._audit_events = AuditEvents(clock, ids)

    async def record(self, transaction: DecisionTransaction, decision: Decision) -> None:
        event = self._audit_events.make(
            AuditAction(f"{decision.action} insight"),
            f"insight {decision.insight_id}",
            decision.group_id,
            by=decision.by,
            at=decision.at,
            decision=str(decision.id),
            others=[str(one) for one in decision.others],
        )
        await transaction.record_decisions([(decision, event)])
