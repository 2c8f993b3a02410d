"""Every decision is recorded with its event."""

from datetime import datetime

from clearwell.flow.audit.events import AuditEvents
from clearwell.ports import Clock, DecisionTransaction, Ids
from clearwell.records import Action, Decision, Insight, Principal


class Recording:
    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._ids = ids
        self._audit_events = AuditEvents(clock, ids)

    async def on_insight(
        self,
        transaction: DecisionTransaction,
        action: Action,
        insight: Insight,
        by: Principal,
        at: datetime,
        **more: object,
    ) -> Decision:
        decision = Decision(
            id=self._ids.new(),
            group_id=insight.group_id,
            action=action,
            by=by.name,
            at=at,
            insight_id=insight.id,
            **more,  # type: ignore[arg-type]
        )
        event = self._audit_events.make(
            f"{action} insight",
            f"insight {insight.id}",
            insight.group_id,
            by=by.name,
            at=at,
            decision=str(decision.id),
            others=[str(one) for one in decision.others],
        )
        await transaction.record_decision(decision, event)
        return decision
