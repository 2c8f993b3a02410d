"""The decisions by their names, for programs that decide on one insight at a time."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from clearwell.records import Action, DecisionRequest, DecisionResult, IdempotencyKey, Principal


class Verbs(ABC):
    """Each says what ``decide`` is to do. With ``version`` a decision on what has changed since is refused."""

    @abstractmethod
    async def decide(
        self, group_id: str, wanted: DecisionRequest, *, by: Principal, request: IdempotencyKey | None = None
    ) -> DecisionResult: ...

    async def promote(
        self,
        group_id: str,
        insight_id: UUID,
        *,
        by: Principal,
        text: str | None = None,
        agent_id: str | None = None,
        supersedes: UUID | None = None,
        version: int | None = None,
        request: IdempotencyKey | None = None,
    ) -> DecisionResult:
        """Make an insight knowledge: as it is or in other words, of the group or of one agent."""
        wanted = DecisionRequest(
            action=Action.PROMOTE,
            id=insight_id,
            version=version,
            text=text,
            agent_id=agent_id,
            supersedes=supersedes,
        )
        return await self.decide(group_id, wanted, by=by, request=request)

    async def reject(
        self,
        group_id: str,
        insight_id: UUID,
        *,
        reason: str,
        by: Principal,
        version: int | None = None,
        request: IdempotencyKey | None = None,
    ) -> DecisionResult:
        """Reject an insight: its words do not come back."""
        wanted = DecisionRequest(action=Action.REJECT, id=insight_id, version=version, reason=reason)
        return await self.decide(group_id, wanted, by=by, request=request)

    async def merge(
        self,
        group_id: str,
        insight_id: UUID,
        others: Sequence[UUID],
        *,
        by: Principal,
        text: str | None = None,
        version: int | None = None,
        request: IdempotencyKey | None = None,
    ) -> DecisionResult:
        """Take other insights into this one."""
        wanted = DecisionRequest(action=Action.MERGE, id=insight_id, version=version, others=tuple(others), text=text)
        return await self.decide(group_id, wanted, by=by, request=request)

    async def snooze(
        self,
        group_id: str,
        insight_id: UUID,
        *,
        by: Principal,
        until: datetime | None = None,
        days: float | None = None,
        version: int | None = None,
        request: IdempotencyKey | None = None,
    ) -> DecisionResult:
        """Put an insight off; for a week, where nothing else is said."""
        wanted = DecisionRequest(action=Action.SNOOZE, id=insight_id, version=version, until=until, days=days)
        return await self.decide(group_id, wanted, by=by, request=request)

    async def undo_last(
        self,
        group_id: str,
        insight_id: UUID,
        *,
        by: Principal,
        reason: str | None = None,
        version: int | None = None,
        request: IdempotencyKey | None = None,
    ) -> DecisionResult:
        """Take back the last decision on an insight. ``undo`` takes back any decision by its own id."""
        wanted = DecisionRequest(action=Action.UNDO, id=insight_id, version=version, reason=reason)
        return await self.decide(group_id, wanted, by=by, request=request)
