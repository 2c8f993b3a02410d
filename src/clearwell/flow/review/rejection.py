"""Reject an insight: its value does not come back."""

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from clearwell.errors import EmbedderUnavailable, WorkingMemoryUnavailable
from clearwell.flow import limits
from clearwell.flow.ingress.knowledge import Knowledge
from clearwell.flow.promotion.copies import CopyFinder
from clearwell.flow.promotion.withdrawal import Withdrawal
from clearwell.flow.review.insights import InsightChanged, build_next_version, load_insight, read_insight, require_open
from clearwell.flow.review.recorder import DecisionRecorder
from clearwell.offload import offload
from clearwell.ports import Clock, DecisionTransaction, Embedder, Ids, ReviewStore
from clearwell.records import (
    Action,
    Decision,
    DecisionRequest,
    DecisionResult,
    Insight,
    InsightState,
    InsightStatus,
    Principal,
    Tombstone,
    TombstoneKind,
    Vector,
)
from clearwell.text.normalisation import find_values, frame_summary, normalise


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRejection:
    """An insight that is ready to be rejected, with the hash and the vector of its value, and what else says it."""

    request: DecisionRequest
    reason: str
    insight: Insight
    value_hash: bytes
    vector: Vector | None
    still_said: tuple[UUID, ...] = ()
    still_working: tuple[UUID, ...] = ()
    removed: tuple[UUID, ...] = ()


class InsightRejection:
    """Rejects an insight: its value does not come back, and similar text is flagged."""

    def __init__(
        self,
        review: ReviewStore,
        knowledge: Knowledge,
        embedder: Embedder,
        recorder: DecisionRecorder,
        copies: CopyFinder,
        withdrawal: Withdrawal,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._copies = copies
        self._withdrawal = withdrawal
        self._review = review
        self._knowledge = knowledge
        self._embedder = embedder
        self._recorder = recorder
        self._clock = clock
        self._ids = ids

    async def prepare(self, group_id: str, request: DecisionRequest) -> PreparedRejection:
        """Read the insight, and hash and embed its value."""
        reason = limits.require_nonblank_reason(request.reason)
        insight = await read_insight(self._review, group_id, request.id, now=self._clock.now())
        size = len(insight.summary) + sum(len(one.content) for one in insight.sources)
        value = await offload(size, _find_rejected_value, insight)
        value_hash = await self._knowledge.hash_value(group_id, value)
        vector = await self._embed(insight)
        return PreparedRejection(
            request=request,
            reason=reason,
            insight=insight,
            value_hash=value_hash,
            vector=vector,
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
        tombstone_id, added = await self._insert_tombstone(transaction, prepared, by, now)
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
            tombstone_id=tombstone_id,
            reason=prepared.reason,
            already=not added,
        )
        await self._recorder.record(transaction, decision)
        result = DecisionResult(
            status="rejected",
            id=insight.id,
            decision_id=decision.id,
            tombstone_id=tombstone_id,
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

    async def _insert_tombstone(
        self, transaction: DecisionTransaction, prepared: PreparedRejection, by: Principal, now: datetime
    ) -> tuple[UUID | None, bool]:
        """Add the tombstone; return its id and whether it is new, since the value may have been rejected before."""
        tombstone = Tombstone(
            id=self._ids.new(),
            group_id=prepared.insight.group_id,
            kind=TombstoneKind.REJECTED,
            reason=prepared.reason,
            made_by=by.name,
            made_at=now,
        )
        value_hash, model = prepared.value_hash, self._embedder.model
        if await transaction.insert_tombstone(tombstone, value_hash, embedding=prepared.vector, model=model):
            return tombstone.id, True
        in_force = (await transaction.find_tombstones([value_hash])).get(value_hash)
        return None if in_force is None else in_force.id, False

    async def _embed(self, insight: Insight) -> Vector | None:
        """Return the vector of the summary, or None if the model does not respond."""
        if insight.embedding is not None and insight.embedding_model == self._embedder.model:
            return insight.embedding
        try:
            (vector,) = await self._embedder.embed([insight.summary])
        except EmbedderUnavailable:
            return None
        return vector


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
