"""An insight is rejected: its value does not come back, and text like it is flagged."""

from clearwell.errors import EmbedderUnavailable
from clearwell.flow import limits
from clearwell.flow.ingress.knowledge import Knowledge
from clearwell.flow.review.recording import Recording
from clearwell.flow.review.standing import changed, load_insight, read, require_open
from clearwell.flow.review.wanted import Moved, Step
from clearwell.offload import offload
from clearwell.ports import Clock, DecisionTransaction, Embedder, Ids, ReviewStore
from clearwell.records import (
    Action,
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
from clearwell.text.normalisation import as_summary, normalised, values_of


class Rejecting:
    def __init__(
        self,
        reviewed: ReviewStore,
        knowledge: Knowledge,
        embedder: Embedder,
        recording: Recording,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._reviewed = reviewed
        self._knowledge = knowledge
        self._embedder = embedder
        self._recording = recording
        self._clock = clock
        self._ids = ids

    async def prepared(self, group_id: str, wanted: DecisionRequest, by: Principal) -> Step:
        reason = limits.require_a_reason(wanted.reason)
        insight = await read(self._reviewed, group_id, wanted.id, now=self._clock.now())
        size = len(insight.summary) + sum(len(one.content) for one in insight.sources)
        digest = await self._knowledge.digest(group_id, await offload(size, _rejected_value, insight))
        vector = await self._vector_of(insight)

        async def step(transaction: DecisionTransaction) -> DecisionResult:
            now = self._clock.now()
            found = await load_insight(transaction, group_id, wanted.id, version=wanted.version, now=now)
            if found.state is InsightState.REJECTED:
                return await _rejected_before(transaction, found)
            await require_open(transaction, found)
            if found.summary != insight.summary:
                raise Moved(found.id)
            tombstone = Tombstone(
                id=self._ids.new(),
                group_id=group_id,
                kind=TombstoneKind.REJECTED,
                reason=reason,
                made_by=by.name,
                made_at=now,
            )
            made = await transaction.insert_tombstone(tombstone, digest, embedding=vector, model=self._embedder.model)
            standing = None if made is not None else await transaction.find_tombstone([digest])
            tombstone_id = made if standing is None else standing.id
            after = changed(found, now, InsightState.REJECTED)
            await transaction.update_insight(after)
            await transaction.mark_judged([one.log_id for one in found.sources], by=found.id)
            decision = await self._recording.on_insight(
                transaction,
                Action.REJECT,
                found,
                by,
                now,
                reason=reason,
                tombstone_id=tombstone_id,
                already=made is None,
            )
            return DecisionResult(
                status="rejected",
                id=found.id,
                decision_id=decision.id,
                tombstone_id=tombstone_id,
                insight=InsightStatus.of(after),
            )

        return step

    async def _vector_of(self, insight: Insight) -> Vector | None:
        """The vector of its words; None where the model does not answer."""
        if insight.embedding is not None and insight.embedding_model == self._embedder.model:
            return insight.embedding
        try:
            (vector,) = await self._embedder.embed([insight.summary])
        except EmbedderUnavailable:
            return None
        return vector


async def _rejected_before(transaction: DecisionTransaction, insight: Insight) -> DecisionResult:
    last = await transaction.find_last_decision(insight.id)
    return DecisionResult(
        status="rejected",
        id=insight.id,
        decision_id=None if last is None else last.id,
        tombstone_id=None if last is None else last.tombstone_id,
        already=True,
        insight=InsightStatus.of(insight),
    )


def _rejected_value(insight: Insight) -> str:
    """What a tombstone stands for: the summary. Where it only quotes a source it is refused as a summary alone: nobody
    promotes it, but the source is not rejected and may be said again. Text like it is flagged either way."""
    value = normalised(insight.summary)
    said = {one for source in insight.sources for one in values_of(source.content)}
    return as_summary(value) if value in said else value
