"""Reject an insight: its value does not come back."""

from dataclasses import dataclass, replace
from uuid import UUID

from clearwell.errors import WorkingMemoryUnavailable
from clearwell.flow import limits
from clearwell.flow.promotion.copies import CopyFinder
from clearwell.flow.promotion.withdrawal import Withdrawal
from clearwell.flow.review.insights import InsightChanged, build_next_version, load_insight, read_insight, require_open
from clearwell.flow.review.recorder import DecisionRecorder
from clearwell.flow.tombstones.rejection import PreparedTombstone, RejectedValue, ValueRejection
from clearwell.offload import offload
from clearwell.ports import Clock, DecisionTransaction, Ids, ReviewStore
from clearwell.records import (
    Action,
    Decision,
    DecisionRequest,
    DecisionResult,
    Insight,
    InsightState,
    InsightStatus,
    Principal,
)
from clearwell.text.normalisation import find_values, frame_summary, normalise


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRejection:
    """An insight that is ready to be rejected, with the tombstone of its value, and what else says it."""

    request: DecisionRequest
    reason: str
    insight: Insight
    tombstone: PreparedTombstone
    still_said: tuple[UUID, ...] = ()
    still_working: tuple[UUID, ...] = ()
    removed: tuple[UUID, ...] = ()


class InsightRejection:
    """Rejects an insight: its value does not come back, and similar text is flagged."""

    def __init__(
        self,
        review: ReviewStore,
        rejection: ValueRejection,
        recorder: DecisionRecorder,
        copies: CopyFinder,
        withdrawal: Withdrawal,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._copies = copies
        self._withdrawal = withdrawal
        self._review = review
        self._rejection = rejection
        self._recorder = recorder
        self._clock = clock
        self._ids = ids

    async def prepare(self, group_id: str, request: DecisionRequest) -> PreparedRejection:
        """Read the insight, and hash and embed its value."""
        reason = limits.require_nonblank_reason(request.reason)
        insight = await read_insight(self._review, group_id, request.id, now=self._clock.now())
        size = len(insight.summary) + sum(len(one.content) for one in insight.sources)
        value = await offload(size, _find_rejected_value, insight)
        rejected = RejectedValue(
            value=value, text=insight.summary, vector=insight.embedding, vector_model=insight.embedding_model
        )
        (tombstone,) = await self._rejection.prepare(group_id, [rejected])
        return PreparedRejection(
            request=request,
            reason=reason,
            insight=insight,
            tombstone=tombstone,
            still_said=await self._copies.find_memories(group_id, [insight.summary]),
            still_working=await self._find_entries(insight),
        )

    async def _find_entries(self, insight: Insight) -> tuple[UUID, ...]:
        """The entries that say the value; none if working memory does not answer."""
        try:
            return await self._copies.find_entries(insight.group_id, [insight.summary])
        except WorkingMemoryUnavailable:
            return ()

    async def remove_entries(self, prepared: PreparedRejection, by: Principal) -> PreparedRejection:
        """Remove the entries that say the value from working memory. Raises WorkingMemoryUnavailable."""
        entries = await self._copies.find_entries(prepared.insight.group_id, [prepared.insight.summary])
        removed = await self._copies.remove_entries(prepared.insight.group_id, entries, by=by)
        return replace(prepared, still_working=(), removed=removed)

    async def apply(
        self, transaction: DecisionTransaction, prepared: PreparedRejection, by: Principal
    ) -> DecisionResult:
        """Add the tombstone, mark the insight as rejected and its sources as decided, and record the decision."""
        request, now = prepared.request, self._clock.now()
        group_id = prepared.insight.group_id
        insight = await load_insight(transaction, group_id, request.id, version=request.version, now=now)
        if insight.state is InsightState.REJECTED:
            return await self._withdraw(transaction, prepared, await _find_earlier_rejection(transaction, insight), by)
        await require_open(transaction, insight)
        if insight.summary != prepared.insight.summary:
            raise InsightChanged
        tombstone = await self._rejection.apply(
            transaction, group_id, prepared.tombstone, reason=prepared.reason, by=by, at=now
        )
        rejected = build_next_version(insight, now, InsightState.REJECTED)
        await transaction.update_insight(rejected)
        await transaction.mark_decided({one.log_id: insight.id for one in insight.sources})
        decision = Decision(
            id=self._ids.new(),
            group_id=group_id,
            action=Action.REJECT,
            by=by.name,
            at=now,
            insight_id=insight.id,
            tombstone_id=tombstone.id,
            reason=prepared.reason,
            already=not tombstone.is_new,
        )
        await self._recorder.record(transaction, decision)
        result = DecisionResult(
            status="rejected",
            id=insight.id,
            decision_id=decision.id,
            tombstone_id=tombstone.id,
            insight=InsightStatus.of(rejected),
        )
        return await self._withdraw(transaction, prepared, result, by)

    async def _withdraw(
        self, transaction: DecisionTransaction, prepared: PreparedRejection, result: DecisionResult, by: Principal
    ) -> DecisionResult:
        """Name in the result what else says the value, and withdraw those memories if the request asks for it."""
        withdrawn = prepared.still_said if prepared.request.withdraw else ()
        if withdrawn:
            decision = await self._withdrawal.apply(
                transaction, prepared.insight.group_id, withdrawn, reason=prepared.reason, by=by
            )
            result = replace(result, withdrawal_id=decision.id)
        return replace(
            result,
            memories=withdrawn,
            still_said=() if withdrawn else prepared.still_said,
            still_working=prepared.still_working,
            removed=prepared.removed,
        )


async def _find_earlier_rejection(transaction: DecisionTransaction, insight: Insight) -> DecisionResult:
    last = await transaction.find_last_decision(insight.id)
    return DecisionResult(
        status="rejected",
        id=insight.id,
        decision_id=None if last is None else last.id,
        tombstone_id=None if last is None else last.tombstone_id,
        already=True,
        insight=InsightStatus.of(insight),
    )


def _find_rejected_value(insight: Insight) -> str:
    """The value that a tombstone is for: the summary.

    A summary that only quotes a source is refused as a summary alone: it is not promoted, but the source is not
    rejected and may be said again. Similar text is flagged either way.
    """
    value = normalise(insight.summary)
    source_values = {one for source in insight.sources for one in find_values(source.content)}
    return frame_summary(value) if value in source_values else value
