"""The review service: the facade of review.

It is bound to its caller, as the memory manager is. Reading needs the right to review; a decision also goes through
the gate, which allows it to people alone and records what it refuses.
"""

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from clearwell.errors import ClearwellError, InvalidInput, NotFound
from clearwell.flow import limits
from clearwell.flow.access.gate import AccessGate, record_refusals
from clearwell.flow.access.permissions import require_in_group
from clearwell.flow.idempotency import CallKey, identify_call
from clearwell.flow.promotion.outputs import OutputPromoter
from clearwell.flow.review.dossier import DossierBuilder
from clearwell.flow.review.executor import DecisionExecutor
from clearwell.flow.review.insights import wake
from clearwell.flow.review.retraction import Retraction
from clearwell.flow.review.undo import find_undoable
from clearwell.ports import Clock, MemoryFilter, ProvenanceStore, ReviewStore, StatisticsStore
from clearwell.records import (
    Action,
    ActivityDay,
    CalibrationRow,
    Decision,
    DecisionRequest,
    DecisionResult,
    Dossier,
    IdempotencyKey,
    Insight,
    InsightState,
    ListedMemory,
    NewMemory,
    Origin,
    Principal,
    PromotionResult,
    Provenance,
    RetractionPreview,
    ReviewCounts,
    ReviewStatistics,
    Right,
    SourceSelector,
)
from clearwell.signatures import explain_wrong_calls
from clearwell.text.short_ids import SHORT_ID_LENGTH
from clearwell.vocabulary import IdKind

WORDS_BYTES = 1000
"""The largest size of words to look for in a list of memories."""

MAX_DAYS = 366
"""The longest time for which days are counted."""

RECENT_DECISIONS = 30
"""Among how many decisions of a group the last one of a person is looked for."""

MAX_IDS = 10
"""How many ids with the same ending are returned."""

ID_ENDING = re.compile(rf"[0-9a-f-]{{{SHORT_ID_LENGTH},36}}")


@explain_wrong_calls
@record_refusals
class ReviewService:
    """Insights and their dossiers, decisions, provenance and statistics, for callers with the right to review."""

    def __init__(
        self,
        *,
        by: Principal,
        gate: AccessGate,
        dossiers: DossierBuilder,
        executor: DecisionExecutor,
        retraction: Retraction,
        outputs: OutputPromoter,
        review: ReviewStore,
        provenance: ProvenanceStore,
        statistics: StatisticsStore,
        clock: Clock,
    ) -> None:
        self._by = by
        self._gate = gate
        self._dossiers = dossiers
        self._executor = executor
        self._retraction = retraction
        self._outputs = outputs
        self._review = review
        self._provenance = provenance
        self._statistics = statistics
        self._clock = clock

    def acting_as(self, by: Principal) -> "ReviewService":
        """Return the review service of another caller."""
        bound = copy(self)
        bound._by = by
        return bound

    def _identify(self, method: str, key: CallKey, *arguments: object) -> IdempotencyKey | None:
        return identify_call(key, by=self._by, method=method, arguments=arguments)

    # reading

    async def group_of(self, kind: str, one: UUID) -> str:
        """The group of something that is named by its id alone. A group that the caller does not cover is not found."""
        if self._by.groups is not None and len(self._by.groups) == 1:
            (only,) = self._by.groups
            return only
        group_id = await self._review.group_of(kind, one)
        if group_id is None or not self._by.covers(group_id):
            raise NotFound(f"{kind}_not_found", id=one, group="–")
        return group_id

    async def find_ids(self, ending: str, *, group: str, kind: IdKind) -> Sequence[UUID]:
        """The ids of this kind in the group that end with these characters, such as a short id that was printed.

        More than one can have the same ending; at most ten are returned.
        """
        require_in_group(self._by, group, Right.REVIEW, Right.ADMIN)
        if not ID_ENDING.fullmatch(ending):
            raise InvalidInput("id_ending_invalid", field="ending", limit=SHORT_ID_LENGTH)
        return await self._review.find_ids(group, kind, ending, limit=MAX_IDS)

    async def insights(
        self, *, group: str, state: InsightState | None = None, before: UUID | None = None, limit: int = 50
    ) -> Sequence[Insight]:
        """Return insights, newest digest first and the best of each digest first."""
        require_in_group(self._by, group, Right.REVIEW, Right.ADMIN)
        now = self._clock.now()
        found = await self._review.insights(group, now=now, state=state, before=before, limit=limit)
        return [wake(one, now) for one in found]

    async def insight(self, insight_id: UUID, *, group: str) -> Dossier:
        """One insight with everything that a reviewer needs to decide on it."""
        require_in_group(self._by, group, Right.REVIEW, Right.ADMIN)
        return await self._dossiers.build(group, insight_id)

    async def decisions(self, *, group: str, before: UUID | None = None, limit: int = 50) -> Sequence[Decision]:
        """Return decisions, newest first."""
        require_in_group(self._by, group, Right.REVIEW, Right.ADMIN)
        return await self._review.decisions(group, before=before, limit=limit)

    async def find_undoable(self, *, group: str) -> Decision | None:
        """The last decision of the caller on an insight that can be undone, among the recent ones of the group."""
        return find_undoable(await self.decisions(group=group, limit=RECENT_DECISIONS), by=self._by.name)

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
        idempotency_key: CallKey = None,
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
        idempotency_key: CallKey = None,
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
        idempotency_key: CallKey = None,
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
        idempotency_key: CallKey = None,
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
        idempotency_key: CallKey = None,
    ) -> DecisionResult:
        """Undo the last decision on an insight. ``undo`` undoes any decision by its own id."""
        decision = DecisionRequest(action=Action.UNDO, id=insight_id, version=version, reason=reason)
        return await self.decide(decision, group=group, idempotency_key=idempotency_key)

    async def decide(self, decision: DecisionRequest, *, group: str, idempotency_key: CallKey = None) -> DecisionResult:
        """Decide on one insight. A promoted memory can be retrieved when this returns, unless it is ``promoting``."""
        await self._gate.require_person(self._by, group, f"{decision.action} insight {decision.id}")
        request = self._identify("review.decide", idempotency_key, group, decision)
        return await self._executor.decide(group, decision, by=self._by, request=request)

    async def decide_many(
        self, decisions: Sequence[DecisionRequest], *, group: str, idempotency_key: CallKey = None
    ) -> list[DecisionResult | ClearwellError]:
        """Decide on many insights, independently and in order. Returns a result or an error for each."""
        await self._gate.require_person(self._by, group, f"decide on {len(decisions)} insights")
        request = self._identify("review.decide_many", idempotency_key, group, decisions)
        return await self._executor.decide_many(group, decisions, by=self._by, request=request)

    async def undo(
        self,
        decision_id: UUID,
        *,
        group: str,
        reason: str | None = None,
        only: Action | None = None,
        idempotency_key: CallKey = None,
    ) -> DecisionResult:
        """Undo any decision by its id. With ``only`` a decision of another kind is refused."""
        await self._gate.require_person(self._by, group, f"undo decision {decision_id}")
        request = self._identify("review.undo", idempotency_key, group, decision_id, reason, only)
        return await self._executor.undo(group, decision_id, by=self._by, reason=reason, only=only, request=request)

    # outputs of agents, without an insight between

    async def promote_row(
        self, log_id: UUID, text: NewMemory, *, group: str, idempotency_key: CallKey = None
    ) -> PromotionResult:
        """Promote an output from quarantine. ``text`` has the changes: content, agent, or the memory to supersede."""
        request = self._identify("review.promote_row", idempotency_key, group, log_id, text)
        return await self._outputs.promote_row(group, log_id, text, by=self._by, request=request)

    async def promote_entry(
        self, entry_id: UUID, text: NewMemory, *, group: str, idempotency_key: CallKey = None
    ) -> PromotionResult:
        """Promote an entry of working memory that has not expired."""
        request = self._identify("review.promote_entry", idempotency_key, group, entry_id, text)
        return await self._outputs.promote_entry(group, entry_id, text, by=self._by, request=request)

    async def promote_outputs(
        self,
        ids: Sequence[str],
        *,
        group: str,
        origin: Origin = Origin.QUARANTINE,
        acknowledge: Sequence[str] = (),
        keep_invisible: bool = False,
        idempotency_key: CallKey = None,
    ) -> list[PromotionResult | ClearwellError]:
        """Promote many outputs as they are. Returns a result or an error for each, in order."""
        named = (ids, origin, tuple(acknowledge), keep_invisible)
        request = self._identify("review.promote_outputs", idempotency_key, group, *named)
        return await self._outputs.promote_many(
            group,
            ids,
            origin=origin,
            acknowledge=acknowledge,
            keep_invisible=keep_invisible,
            by=self._by,
            request=request,
        )

    # memories: list, provenance and retraction

    async def memories(
        self, *, group: str, where: MemoryFilter | None = None, before: UUID | None = None, limit: int = 50
    ) -> Sequence[ListedMemory]:
        """Return promoted memories, newest first. ``before`` is the last promotion of the page before."""
        require_in_group(self._by, group, Right.REVIEW, Right.ADMIN)
        where = _check_filter(where or MemoryFilter())
        return await self._provenance.list_memories(group, where=where, before=before, limit=limit)

    async def origin(self, memory_id: UUID, *, group: str) -> Provenance:
        """Return the provenance of a memory, down to the outputs that it is based on."""
        require_in_group(self._by, group, Right.REVIEW, Right.ADMIN)
        found = await self._provenance.origin(group, memory_id)
        if found is None:
            raise NotFound("memory_not_found", id=memory_id, group=group)
        return found

    async def influence(self, log_id: UUID, *, group: str) -> Provenance:
        """Return the provenance of an output, up to the memories that are based on it."""
        require_in_group(self._by, group, Right.REVIEW, Right.ADMIN)
        found = await self._provenance.influence(group, log_id)
        if found is None:
            raise NotFound("row_not_found", id=log_id, group=group)
        return found

    async def preview_retraction(self, selector: SourceSelector, *, group: str) -> RetractionPreview:
        """Return what ``retract`` would withdraw, with the token to do so."""
        await self._gate.require_reviewer(self._by, group, "list what to retract")
        return await self._retraction.preview(group, selector)

    async def retract(
        self,
        selector: SourceSelector,
        *,
        group: str,
        token: str,
        reason: str | None = None,
        tombstones: bool = False,
        idempotency_key: CallKey = None,
    ) -> DecisionResult:
        """Withdraw what was previewed, or nothing if that has changed since.

        Entries of working memory from the same source, or that say the same, are removed. With ``tombstones`` what the
        memories say does not come back.
        """
        await self._gate.require_person(self._by, group, "retract by origin")
        request = self._identify("review.retract", idempotency_key, group, selector, token, reason, tombstones)
        return await self._executor.retract(
            group, selector, token=token, by=self._by, reason=reason, tombstones=tombstones, request=request
        )

    async def withdraw(
        self, memory_id: UUID, *, group: str, reason: str, idempotency_key: CallKey = None
    ) -> DecisionResult:
        """Withdraw one memory. History is kept, and ``undo`` of the decision restores it."""
        await self._gate.require_person(self._by, group, f"withdraw memory {memory_id}")
        reason = limits.require_nonblank_reason(reason)
        request = self._identify("review.withdraw", idempotency_key, group, memory_id, reason)
        selector = SourceSelector(memory_id=memory_id)
        return await self._executor.retract(group, selector, token=None, by=self._by, reason=reason, request=request)

    # statistics

    async def calibration(self, *, group: str) -> Sequence[CalibrationRow]:
        """Compare the stated confidence of agents with the decisions on their outputs. Changes no threshold."""
        require_in_group(self._by, group, Right.REVIEW, Right.ADMIN)
        return await self._statistics.calibration(group)

    async def activity(self, *, group: str, days: int = 30) -> Sequence[ActivityDay]:
        """What happened on each of the last days, today included: admissions, refusals, decisions and review lag."""
        require_in_group(self._by, group, Right.REVIEW, Right.ADMIN)
        if not 1 <= days <= MAX_DAYS:
            raise InvalidInput("activity_days", field="days", limit=MAX_DAYS)
        today = self._clock.now().date()
        return await self._statistics.activity(group, first=today - timedelta(days=days - 1), last=today)

    async def counts(self, *, group: str) -> ReviewCounts:
        """What a group has now: insights that wait for a decision, valid memories, and unfinished promotions."""
        require_in_group(self._by, group, Right.REVIEW, Right.ADMIN)
        return await self._statistics.counts(group, now=self._clock.now())

    async def statistics(self, *, group: str) -> ReviewStatistics:
        """Return the review statistics of a group."""
        require_in_group(self._by, group, Right.REVIEW, Right.ADMIN)
        return await self._statistics.statistics(group)


def _check_filter(where: MemoryFilter) -> MemoryFilter:
    words = where.words if where.words is None else limits.require_text(where.words, "words", max_bytes=WORDS_BYTES)
    return replace(
        where,
        agent_id=limits.require_id(where.agent_id, "agent_id"),
        session_id=limits.require_id(where.session_id, "session_id"),
        since=limits.require_moment(where.since, "since"),
        until=limits.require_moment(where.until, "until"),
        words=words,
    )
