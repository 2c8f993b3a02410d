"""Announces decisions of people: each one as an event of its group, after its transaction is committed."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from clearwell.flow.events.publisher import EventPublisher
from clearwell.records import (
    Action,
    DecisionRequest,
    DecisionResult,
    EventType,
    Json,
    NewMemory,
    Origin,
    Principal,
    PromotionResult,
)

TYPES: Final = {
    Action.PROMOTE: EventType.PROMOTED,
    Action.REJECT: EventType.REJECTED,
    Action.MERGE: EventType.MERGED,
    Action.SNOOZE: EventType.SNOOZED,
    Action.RETRACT: EventType.RETRACTED,
    Action.UNDO: EventType.UNDONE,
}


class DecisionAnnouncer:
    """Publishes the events of decisions. ``already`` marks one that repeats an earlier one or adds no memory."""

    def __init__(self, events: EventPublisher) -> None:
        self._events = events

    def announce_promotion(self, group_id: str, text: NewMemory, result: PromotionResult, *, by: Principal) -> None:
        """Announce a promoted text or output."""
        self._announce_memory(
            group_id,
            memory_id=result.id,
            supersedes=None if text.supersedes == result.id else text.supersedes,
            waiting=result.waiting,
            agent_id=text.agent_id,
            origin=text.origin,
            origin_id=_name(text.origin_id),
            decision_id=result.decision_id,
            already=result.already,
            by=by,
        )

    def announce_decision(
        self,
        group_id: str,
        action: Action,
        result: DecisionResult,
        *,
        by: Principal,
        request: DecisionRequest | None = None,
    ) -> None:
        """Announce a decision on an insight, a retraction or an undo."""
        insight = result.insight
        insight_id = None if insight is None else str(insight.id)
        if action is Action.PROMOTE:
            self._announce_memory(
                group_id,
                memory_id=result.id,
                supersedes=result.superseded,
                waiting=result.status == "promoting",
                agent_id=None if request is None else request.agent_id,
                origin=Origin.INSIGHT,
                origin_id=insight_id,
                decision_id=result.decision_id,
                already=result.already,
                by=by,
            )
            return
        until = None if insight is None or insight.snoozed_until is None else insight.snoozed_until.isoformat()
        self._events.publish(
            TYPES[action],
            group_id,
            tombstone_id=_name(result.tombstone_id),
            others=_name_all(() if request is None else request.others),
            until=until,
            undone=None if result.undone is None else result.undone.value,
            memory_ids=None if action is Action.REJECT else _name_all(result.memories),
            withdrawn=_name(result.withdrawn),
            decision_id=_name(result.decision_id),
            insight_id=insight_id,
            already=result.already or None,
            by=by.name,
        )

    def announce_withdrawal(
        self, group_id: str, decision_id: UUID, memory_ids: Sequence[UUID], *, by: Principal
    ) -> None:
        """Announce the withdrawal of memories that say a rejected value."""
        self._events.publish(
            EventType.RETRACTED,
            group_id,
            memory_ids=_name_all(memory_ids),
            decision_id=str(decision_id),
            by=by.name,
        )

    def _announce_memory(
        self,
        group_id: str,
        *,
        memory_id: UUID,
        supersedes: UUID | None,
        waiting: bool,
        agent_id: str | None,
        origin: Origin,
        origin_id: str | None,
        decision_id: UUID | None,
        already: bool,
        by: Principal,
    ) -> None:
        self._events.publish(
            EventType.PROMOTED,
            group_id,
            agent_id=agent_id,
            memory_id=str(memory_id),
            supersedes=_name(supersedes),
            waiting=waiting or None,
            origin=origin.value,
            origin_id=origin_id,
            decision_id=_name(decision_id),
            already=already or None,
            by=by.name,
        )
        if supersedes is not None and not waiting:
            self.announce_superseded(group_id, supersedes, by_memory=memory_id, agent_id=agent_id)

    def announce_superseded(self, group_id: str, memory_id: UUID, *, by_memory: UUID, agent_id: str | None) -> None:
        """Announce that a memory was replaced by another one."""
        self._events.publish(
            EventType.SUPERSEDED, group_id, agent_id=agent_id, memory_id=str(memory_id), superseded_by=str(by_memory)
        )

    def announce_completed(
        self, group_id: str, memory_id: UUID, *, chunks: int, supersedes: UUID | None, agent_id: str | None
    ) -> None:
        """Announce that the memory of a waiting promotion is written."""
        self._events.publish(
            EventType.PROMOTION_COMPLETED, group_id, agent_id=agent_id, memory_id=str(memory_id), chunks=chunks
        )
        if supersedes is not None:
            self.announce_superseded(group_id, supersedes, by_memory=memory_id, agent_id=agent_id)


def _name(value: UUID | None) -> str | None:
    return None if value is None else str(value)


def _name_all(values: Sequence[UUID]) -> list[Json] | None:
    return [str(value) for value in values] or None
