"""Review over HTTP, with the methods, parameters and records of the library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clearwell.client.fields import read_fields, read_results, split_limit
from clearwell.records import DecisionRequest, Origin
from clearwell.signatures import explain_wrong_calls
from clearwell.vocabulary import Action, IdKind

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from clearwell.client.review_routes import ReviewApiClient
    from clearwell.errors import ClearwellError
    from clearwell.ports import MemoryFilter
    from clearwell.records import (
        ActivityDay,
        CalibrationRow,
        Decision,
        DecisionResult,
        Dossier,
        Insight,
        InsightState,
        ListedMemory,
        NewMemory,
        PromotionResult,
        Provenance,
        RetractionPreview,
        ReviewCounts,
        ReviewStatistics,
        SourceSelector,
    )


@explain_wrong_calls
class AsyncReviewClient:
    """The review service of a server. Decisions are made by people: create the client with ``agent=False``."""

    def __init__(self, routes: ReviewApiClient) -> None:
        self._routes = routes

    # reading

    async def insights(
        self, *, group: str, state: InsightState | None = None, before: UUID | None = None, limit: int = 50
    ) -> Sequence[Insight]:
        """Return insights, newest digest first and the best of each digest first."""
        insights: list[Insight] = []
        for size in split_limit(limit):
            page = await self._routes.insights(group, state=state, before=before, limit=size)
            insights += [insight.to_record() for insight in page.insights]
            before = page.next
            if before is None:
                break
        return insights

    async def insight(self, insight_id: UUID, *, group: str) -> Dossier:
        """One insight with everything that a reviewer needs to decide on it."""
        return (await self._routes.insight(group, insight_id)).to_dossier()

    async def decisions(self, *, group: str, before: UUID | None = None, limit: int = 50) -> Sequence[Decision]:
        """Return decisions, newest first."""
        decisions: list[Decision] = []
        for size in split_limit(limit):
            page = await self._routes.decisions(group, before=before, limit=size)
            decisions += [decision.to_record() for decision in page.decisions]
            before = page.next
            if before is None:
                break
        return decisions

    # decisions on one insight

    async def promote(
        self,
        insight_id: UUID,
        *,
        group: str,
        text: str | None = None,
        agent_id: str | None = None,
        supersedes: UUID | None = None,
        side: int | None = None,
        despite: Sequence[str] = (),
        acknowledge: Sequence[str] = (),
        keep_invisible: bool = False,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> DecisionResult:
        """Promote an insight: as it is or in other words, for the group or for one agent.

        An insight with sides is promoted by naming one of them (``side``, its place in ``sides``), by a ``text``, or
        with ``despite=["contradiction"]``: all sides are then one memory with the flag ``contradiction``. Without any
        of these it is refused.
        A text that hides characters or speaks to its reader is promoted only with ``acknowledge=["hidden_text"]`` or
        ``["instruction_like"]``. Invisible characters are removed, unless ``keep_invisible`` is set.
        With ``version`` a decision on an insight that has changed since is refused, here and in the other decisions.
        """
        decision = DecisionRequest(
            action=Action.PROMOTE,
            id=insight_id,
            version=version,
            text=text,
            agent_id=agent_id,
            supersedes=supersedes,
            side=side,
            despite=tuple(despite),
            acknowledge=tuple(acknowledge),
            keep_invisible=keep_invisible,
        )
        return await self.decide(decision, group=group, idempotency_key=idempotency_key)

    async def reject(
        self,
        insight_id: UUID,
        *,
        group: str,
        reason: str,
        version: int | None = None,
        withdraw: bool = False,
        idempotency_key: str | None = None,
    ) -> DecisionResult:
        """Reject an insight. Its text cannot be promoted until that is undone.

        ``still_said`` and ``still_working`` of the result are the verified memories and the entries that say the same;
        with ``withdraw`` they are withdrawn and removed.
        """
        decision = DecisionRequest(
            action=Action.REJECT, id=insight_id, version=version, reason=reason, withdraw=withdraw
        )
        return await self.decide(decision, group=group, idempotency_key=idempotency_key)

    async def merge(
        self,
        insight_id: UUID,
        others: Sequence[UUID],
        *,
        group: str,
        text: str | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> DecisionResult:
        """Merge other insights into this one."""
        decision = DecisionRequest(action=Action.MERGE, id=insight_id, version=version, others=tuple(others), text=text)
        return await self.decide(decision, group=group, idempotency_key=idempotency_key)

    async def snooze(
        self,
        insight_id: UUID,
        *,
        group: str,
        until: datetime | None = None,
        days: float | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> DecisionResult:
        """Snooze an insight, for a week by default."""
        decision = DecisionRequest(action=Action.SNOOZE, id=insight_id, version=version, until=until, days=days)
        return await self.decide(decision, group=group, idempotency_key=idempotency_key)

    async def undo_last(
        self,
        insight_id: UUID,
        *,
        group: str,
        reason: str | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> DecisionResult:
        """Undo the last decision on an insight. ``undo`` undoes any decision by its own id."""
        decision = DecisionRequest(action=Action.UNDO, id=insight_id, version=version, reason=reason)
        return await self.decide(decision, group=group, idempotency_key=idempotency_key)

    async def decide(
        self, decision: DecisionRequest, *, group: str, idempotency_key: str | None = None
    ) -> DecisionResult:
        """Decide on one insight. A promoted memory can be retrieved when this returns, unless it is ``promoting``."""
        named: dict[str, Any] = _read_decision(decision)
        action, insight_id = named.pop("action"), named.pop("id")
        return (await self._routes.decide(group, action, insight_id, key=idempotency_key, **named)).to_record()

    async def decide_many(
        self, decisions: Sequence[DecisionRequest], *, group: str, idempotency_key: str | None = None
    ) -> list[DecisionResult | ClearwellError]:
        """Decide on many insights, independently and in order. Returns a result or an error for each."""
        batch = await self._routes.decide_many(group, [_read_decision(one) for one in decisions], key=idempotency_key)
        return read_results(batch.results)

    async def undo(
        self,
        decision_id: UUID,
        *,
        group: str,
        reason: str | None = None,
        only: Action | None = None,
        idempotency_key: str | None = None,
    ) -> DecisionResult:
        """Undo any decision by its id. With ``only`` a decision of another kind is refused."""
        view = await self._routes.undo(group, decision_id, reason=reason, only=only, key=idempotency_key)
        return view.to_record()

    # outputs of agents, without an insight between

    async def promote_row(
        self, log_id: UUID, text: NewMemory, *, group: str, idempotency_key: str | None = None
    ) -> PromotionResult:
        """Promote an output from quarantine. ``text`` has the changes: content, agent, or the memory to supersede."""
        return await self._promote_output(Origin.QUARANTINE, log_id, text, group, idempotency_key)

    async def promote_entry(
        self, entry_id: UUID, text: NewMemory, *, group: str, idempotency_key: str | None = None
    ) -> PromotionResult:
        """Promote an entry of working memory that has not expired."""
        return await self._promote_output(Origin.WORKING, entry_id, text, group, idempotency_key)

    async def promote_outputs(
        self,
        ids: Sequence[str],
        *,
        group: str,
        origin: Origin = Origin.QUARANTINE,
        acknowledge: Sequence[str] = (),
        keep_invisible: bool = False,
        idempotency_key: str | None = None,
    ) -> list[PromotionResult | ClearwellError]:
        """Promote many outputs as they are. Returns a result or an error for each, in order."""
        batch = await self._routes.promote_outputs(
            group, ids, origin, acknowledge=list(acknowledge), keep_invisible=keep_invisible, key=idempotency_key
        )
        return read_results(batch.results)

    async def _promote_output(
        self, origin: Origin, row_id: UUID, text: NewMemory, group: str, key: str | None
    ) -> PromotionResult:
        view = await self._routes.promote_output(
            group,
            row_id,
            origin,
            key=key,
            text=text.content or None,
            agent_id=text.agent_id,
            supersedes=text.supersedes,
            acknowledge=list(text.acknowledge),
            keep_invisible=text.keep_invisible,
        )
        return view.to_record()

    # memories: list, provenance and retraction

    async def memories(
        self, *, group: str, where: MemoryFilter | None = None, before: UUID | None = None, limit: int = 50
    ) -> Sequence[ListedMemory]:
        """Return promoted memories, newest first. ``before`` is the last promotion of the page before."""
        filters: dict[str, Any] = {} if where is None else read_fields(where)
        memories: list[ListedMemory] = []
        for size in split_limit(limit):
            page = await self._routes.memories(group, before=before, limit=size, **filters)
            memories += [memory.to_listed() for memory in page.memories]
            before = page.next
            if before is None:
                break
        return memories

    async def find_ids(self, ending: str, *, group: str, kind: IdKind) -> Sequence[UUID]:
        """The ids of this kind in the group that end with these characters, such as a short id that was printed.

        More than one can have the same ending; at most ten are returned.
        """
        return (await self._routes.find_ids(group, kind, ending)).ids

    async def origin(self, memory_id: UUID, *, group: str) -> Provenance:
        """Return the provenance of a memory, down to the outputs that it is based on."""
        return (await self._routes.origin(group, memory_id)).to_record()

    async def influence(self, log_id: UUID, *, group: str) -> Provenance:
        """Return the provenance of an output, up to the memories that are based on it."""
        return (await self._routes.influence(group, log_id)).to_record()

    async def preview_retraction(self, selector: SourceSelector, *, group: str) -> RetractionPreview:
        """Return what ``retract`` would withdraw, with the token to do so."""
        view = await self._routes.preview_retraction(
            group,
            source=selector.source,
            session_id=selector.session_id,
            agent_id=selector.agent_id,
            memory_id=selector.memory_id,
        )
        return view.to_record()

    async def retract(
        self,
        selector: SourceSelector,
        *,
        group: str,
        token: str,
        reason: str | None = None,
        tombstones: bool = False,
        idempotency_key: str | None = None,
    ) -> DecisionResult:
        """Withdraw what was previewed, or nothing if that has changed since.

        Entries of working memory from the same source, or that say the same, are removed. With ``tombstones`` what the
        memories say does not come back.
        """
        view = await self._routes.retract(
            group,
            token,
            source=selector.source,
            session_id=selector.session_id,
            agent_id=selector.agent_id,
            memory_id=selector.memory_id,
            reason=reason,
            tombstones=tombstones,
            key=idempotency_key,
        )
        return view.to_record()

    async def withdraw(
        self, memory_id: UUID, *, group: str, reason: str, idempotency_key: str | None = None
    ) -> DecisionResult:
        """Withdraw one memory. History is kept, and ``undo`` of the decision restores it."""
        return (await self._routes.withdraw(group, memory_id, reason=reason, key=idempotency_key)).to_record()

    # statistics

    async def calibration(self, *, group: str) -> Sequence[CalibrationRow]:
        """Compare the stated confidence of agents with the decisions on their outputs. Changes no threshold."""
        return [row.to_record() for row in (await self._routes.calibration(group)).rows]

    async def activity(self, *, group: str, days: int = 30) -> Sequence[ActivityDay]:
        """What happened on each of the last days, today included: admissions, refusals, decisions and review lag."""
        return [day.to_record() for day in (await self._routes.activity(group, days=days)).days]

    async def counts(self, *, group: str) -> ReviewCounts:
        """What a group has now: insights that wait for a decision, valid memories, and unfinished promotions."""
        return (await self._routes.counts(group)).to_record()

    async def statistics(self, *, group: str) -> ReviewStatistics:
        """Return the review statistics of a group."""
        return (await self._routes.statistics(group)).to_record()


def _read_decision(decision: DecisionRequest) -> dict[str, object]:
    """The fields of a decision that are set. An empty sequence and False say nothing."""
    return {name: value for name, value in read_fields(decision).items() if value not in ((), False)}
