"""The review service: every method takes ``by``, and each decision goes through the gate, which records refusals.

A decision is one straight call: ``decide`` claims the idempotency key, ``_attempt`` prepares the decision, opens the
transaction of the group, applies the decision and stores the answer in that transaction.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from clearwell.errors import ClearwellError, Conflict, InvalidInput, NotFound
from clearwell.flow import limits
from clearwell.flow.access.permissions import DecisionGate, require_in_group
from clearwell.flow.counters import Counters
from clearwell.flow.idempotency import StoredAnswer, claim_key
from clearwell.flow.promotion.outputs import OutputPromoter
from clearwell.flow.review.decisions import InsightMerge, InsightPromotion, InsightRejection, InsightSnooze
from clearwell.flow.review.dossier import DossierBuilder
from clearwell.flow.review.insights import InsightChanged, wake
from clearwell.flow.review.retraction import Retraction, RetractionPreview
from clearwell.flow.review.undo import DecisionUndo
from clearwell.ports import (
    Claim,
    Clock,
    DecisionStore,
    DecisionTransaction,
    IdempotencyStore,
    ProvenanceStore,
    ReviewStore,
    StatisticsStore,
)
from clearwell.records import (
    Action,
    CalibrationRow,
    Decision,
    DecisionRequest,
    DecisionResult,
    Dossier,
    IdempotencyKey,
    Insight,
    InsightState,
    Json,
    NewMemory,
    Origin,
    Principal,
    PromotionResult,
    Provenance,
    ReviewStatistics,
    Right,
    SourceSelector,
)

ATTEMPTS = 3
"""How often a decision is prepared where the text of its insight changes in between."""


class ReviewService:
    def __init__(
        self,
        *,
        gate: DecisionGate,
        dossiers: DossierBuilder,
        promotion: InsightPromotion,
        rejection: InsightRejection,
        merge: InsightMerge,
        snooze: InsightSnooze,
        undo: DecisionUndo,
        retraction: Retraction,
        outputs: OutputPromoter,
        decisions: DecisionStore,
        review: ReviewStore,
        provenance: ProvenanceStore,
        statistics: StatisticsStore,
        idempotency: IdempotencyStore,
        counters: Counters,
        clock: Clock,
    ) -> None:
        self._gate = gate
        self._dossiers = dossiers
        self._promotion = promotion
        self._rejection = rejection
        self._merge = merge
        self._snooze = snooze
        self._undo = undo
        self._retraction = retraction
        self._outputs = outputs
        self._decisions = decisions
        self._review = review
        self._provenance = provenance
        self._statistics = statistics
        self._idempotency = idempotency
        self._counters = counters
        self._clock = clock

    # reading

    async def group_of(self, kind: str, one: UUID, *, by: Principal) -> str:
        """The group of something that is named by its id alone. A group that the caller does not cover is not found."""
        if by.groups is not None and len(by.groups) == 1:
            (only,) = by.groups
            return only
        group_id = await self._review.group_of(kind, one)
        if group_id is None or not by.covers(group_id):
            raise NotFound(f"{kind}_not_found", id=one, group="–")
        return group_id

    async def insights(
        self,
        group_id: str,
        *,
        by: Principal,
        state: InsightState | None = None,
        before: UUID | None = None,
        limit: int = 50,
    ) -> Sequence[Insight]:
        """The newest digest first, the best of each first."""
        require_in_group(by, group_id, Right.REVIEW, Right.ADMIN)
        now = self._clock.now()
        found = await self._review.insights(group_id, now=now, state=state, before=before, limit=limit)
        return [wake(one, now) for one in found]

    async def insight(self, group_id: str, insight_id: UUID, *, by: Principal) -> Dossier:
        """One insight with everything that a reviewer needs to decide on it."""
        require_in_group(by, group_id, Right.REVIEW, Right.ADMIN)
        return await self._dossiers.build(group_id, insight_id)

    async def decisions(
        self, group_id: str, *, by: Principal, before: UUID | None = None, limit: int = 50
    ) -> Sequence[Decision]:
        """The newest first."""
        require_in_group(by, group_id, Right.REVIEW, Right.ADMIN)
        return await self._review.decisions(group_id, before=before, limit=limit)

    # decisions on one insight

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
        """Promote an insight: as it is or in other words, for the group or for one agent.

        With ``version`` a decision on an insight that has changed since is refused, here and in the other decisions.
        """
        decision = DecisionRequest(
            action=Action.PROMOTE,
            id=insight_id,
            version=version,
            text=text,
            agent_id=agent_id,
            supersedes=supersedes,
        )
        return await self.decide(group_id, decision, by=by, request=request)

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
        decision = DecisionRequest(action=Action.REJECT, id=insight_id, version=version, reason=reason)
        return await self.decide(group_id, decision, by=by, request=request)

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
        """Merge other insights into this one."""
        decision = DecisionRequest(action=Action.MERGE, id=insight_id, version=version, others=tuple(others), text=text)
        return await self.decide(group_id, decision, by=by, request=request)

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
        """Put an insight off; for a week unless a time is given."""
        decision = DecisionRequest(action=Action.SNOOZE, id=insight_id, version=version, until=until, days=days)
        return await self.decide(group_id, decision, by=by, request=request)

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
        """Undo the last decision on an insight. ``undo`` undoes any decision by its own id."""
        decision = DecisionRequest(action=Action.UNDO, id=insight_id, version=version, reason=reason)
        return await self.decide(group_id, decision, by=by, request=request)

    async def decide(
        self, group_id: str, decision: DecisionRequest, *, by: Principal, request: IdempotencyKey | None = None
    ) -> DecisionResult:
        """Decide on one insight. A promoted memory can be retrieved when this returns, unless it is ``promoting``."""
        await self._gate.require_person(by, group_id, f"{decision.action} insight {decision.id}")
        async with claim_key(self._idempotency, request) as claim:
            if isinstance(claim, StoredAnswer):
                return _replay(claim)
            for _ in range(ATTEMPTS):
                try:
                    result = await self._attempt(group_id, decision, by, claim)
                    break
                except InsightChanged:
                    continue
            else:
                raise Conflict("insight_moving", id=decision.id)
        self._count(group_id, decision.action, result)
        return result

    async def _attempt(
        self, group_id: str, decision: DecisionRequest, by: Principal, claim: Claim | None
    ) -> DecisionResult:
        """Prepare a decision without a transaction, then apply it and store the answer in one."""
        match decision.action:
            case Action.PROMOTE:
                promotion = await self._promotion.prepare(group_id, decision)
                async with self._decisions.transaction(group_id) as transaction:
                    result = await self._promotion.apply(transaction, promotion, by)
                    return await _store(transaction, claim, result)
            case Action.REJECT:
                rejection = await self._rejection.prepare(group_id, decision)
                async with self._decisions.transaction(group_id) as transaction:
                    result = await self._rejection.apply(transaction, rejection, by)
                    return await _store(transaction, claim, result)
            case Action.MERGE:
                merge = self._merge.prepare(group_id, decision)
                async with self._decisions.transaction(group_id) as transaction:
                    result = await self._merge.apply(transaction, merge, by)
                    return await _store(transaction, claim, result)
            case Action.SNOOZE:
                snooze = self._snooze.prepare(group_id, decision)
                async with self._decisions.transaction(group_id) as transaction:
                    result = await self._snooze.apply(transaction, snooze, by)
                    return await _store(transaction, claim, result)
            case Action.UNDO:
                reason = limits.require_reason(decision.reason)
                async with self._decisions.transaction(group_id) as transaction:
                    result = await self._undo.apply_to_insight(
                        transaction, group_id, decision.id, by=by, version=decision.version, reason=reason
                    )
                    return await _store(transaction, claim, result)
            case _:
                raise InvalidInput("action_unknown", field="action", limit="promote, reject, merge, snooze, undo")

    async def decide_many(
        self,
        group_id: str,
        decisions: Sequence[DecisionRequest],
        *,
        by: Principal,
        request: IdempotencyKey | None = None,
    ) -> list[DecisionResult | ClearwellError]:
        """Decide on many insights, each by itself and in order: a result or a problem for each."""
        await self._gate.require_person(by, group_id, f"decide on {len(decisions)} insights")
        async with claim_key(self._idempotency, request) as claim:
            if isinstance(claim, StoredAnswer):
                stored = claim.value if isinstance(claim.value, list) else []
                return [_replay_one_of_many(one) for one in stored]
            results = [await self._decide_or_refuse(group_id, one, by) for one in decisions]
            if claim is not None:
                await self._idempotency.complete(claim, [_store_one_of_many(one) for one in results])
            return results

    async def _decide_or_refuse(
        self, group_id: str, decision: DecisionRequest, by: Principal
    ) -> DecisionResult | ClearwellError:
        try:
            return await self.decide(group_id, decision, by=by)
        except ClearwellError as problem:
            return problem

    async def undo(
        self,
        group_id: str,
        decision_id: UUID,
        *,
        by: Principal,
        reason: str | None = None,
        only: Action | None = None,
        request: IdempotencyKey | None = None,
    ) -> DecisionResult:
        """Undo any decision by its id. With ``only`` a decision of another kind is refused."""
        await self._gate.require_person(by, group_id, f"undo decision {decision_id}")
        reason = limits.require_reason(reason)
        async with claim_key(self._idempotency, request) as claim:
            if isinstance(claim, StoredAnswer):
                return _replay(claim)
            async with self._decisions.transaction(group_id) as transaction:
                result = await self._undo.apply(transaction, group_id, decision_id, by=by, reason=reason, only=only)
                await _store(transaction, claim, result)
        self._count(group_id, Action.UNDO, result)
        return result

    # outputs of agents, without an insight between

    async def promote_row(
        self, group_id: str, log_id: UUID, text: NewMemory, *, by: Principal, request: IdempotencyKey | None = None
    ) -> PromotionResult:
        """Promote an output from quarantine. ``text`` has what differs: words, readers, the memory that it replaces."""
        return await self._outputs.promote_row(group_id, log_id, text, by=by, request=request)

    async def promote_entry(
        self, group_id: str, entry_id: UUID, text: NewMemory, *, by: Principal, request: IdempotencyKey | None = None
    ) -> PromotionResult:
        """Promote a live entry of working memory."""
        return await self._outputs.promote_entry(group_id, entry_id, text, by=by, request=request)

    async def promote_outputs(
        self,
        group_id: str,
        ids: Sequence[str],
        *,
        origin: Origin = Origin.QUARANTINE,
        by: Principal,
        request: IdempotencyKey | None = None,
    ) -> list[PromotionResult | ClearwellError]:
        """Promote many outputs as they are: a result or a problem for each, in order."""
        return await self._outputs.promote_many(group_id, ids, origin=origin, by=by, request=request)

    # provenance and retraction

    async def origin(self, group_id: str, memory_id: UUID, *, by: Principal) -> Provenance:
        """A memory down to the raw outputs that it rests on."""
        require_in_group(by, group_id, Right.REVIEW, Right.ADMIN)
        found = await self._provenance.origin(group_id, memory_id)
        if found is None:
            raise NotFound("memory_not_found", id=memory_id, group=group_id)
        return found

    async def influence(self, group_id: str, log_id: UUID, *, by: Principal) -> Provenance:
        """An output up to the memories that rest on it."""
        require_in_group(by, group_id, Right.REVIEW, Right.ADMIN)
        found = await self._provenance.influence(group_id, log_id)
        if found is None:
            raise NotFound("row_not_found", id=log_id, group=group_id)
        return found

    async def preview_retraction(self, group_id: str, selector: SourceSelector, *, by: Principal) -> RetractionPreview:
        """What ``retract`` would withdraw, with the token to do it."""
        await self._gate.require_reviewer(by, group_id, "list what to retract")
        return await self._retraction.preview(group_id, selector)

    async def retract(
        self,
        group_id: str,
        selector: SourceSelector,
        *,
        token: str,
        by: Principal,
        reason: str | None = None,
        request: IdempotencyKey | None = None,
    ) -> DecisionResult:
        """Withdraw what was previewed. Where that is not the same any more, nothing is withdrawn."""
        await self._gate.require_person(by, group_id, "retract by origin")
        reason = limits.require_reason(reason)
        async with claim_key(self._idempotency, request) as claim:
            if isinstance(claim, StoredAnswer):
                return _replay(claim)
            preview = await self._retraction.preview(group_id, selector)
            async with self._decisions.transaction(group_id) as transaction:
                result = await self._retraction.apply(transaction, group_id, preview, token=token, reason=reason, by=by)
                await _store(transaction, claim, result)
        self._count(group_id, Action.RETRACT, result)
        return result

    # statistics

    async def calibration(self, group_id: str, *, by: Principal) -> Sequence[CalibrationRow]:
        """The confidence that agents stated, against what became of their outputs. It changes no threshold."""
        require_in_group(by, group_id, Right.REVIEW, Right.ADMIN)
        return await self._statistics.calibration(group_id)

    async def statistics(self, group_id: str, *, by: Principal) -> ReviewStatistics:
        """Return the review statistics of a group."""
        require_in_group(by, group_id, Right.REVIEW, Right.ADMIN)
        return await self._statistics.statistics(group_id)

    def _count(self, group_id: str, action: Action, result: DecisionResult) -> None:
        if not result.already:
            self._counters.count_decision(group_id, action)


async def _store(transaction: DecisionTransaction, claim: Claim | None, result: DecisionResult) -> DecisionResult:
    """Keep the result for a repeated request, in the transaction of the decision."""
    if claim is not None:
        await transaction.store_answer(claim, result.to_json())
    return result


def _replay(answer: StoredAnswer) -> DecisionResult:
    return replace(DecisionResult.from_json(answer.value), replayed=True)


def _store_one_of_many(result: DecisionResult | ClearwellError) -> Json:
    """Of a problem only its name is kept: its words may quote what has changed since."""
    return {"problem": result.code} if isinstance(result, ClearwellError) else result.to_json()


def _replay_one_of_many(stored: Json) -> DecisionResult | Conflict:
    if isinstance(stored, dict) and "problem" in stored:
        return Conflict("decided_in_vain", problem=stored["problem"])
    return DecisionResult.from_json(stored)
