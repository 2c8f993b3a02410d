"""Carries decisions out: once for each idempotency key, and in the transaction of their group.

A decision has two steps. ``prepare`` checks the request and does what takes time, such as embedding, while no
transaction is open. ``apply`` changes the stores in a transaction in which nobody else decides in the group, and the
answer is stored in the same transaction. If the text of the insight has changed in between, ``apply`` raises
InsightChanged and the decision is prepared again.
"""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from clearwell.errors import ClearwellError, Conflict, InvalidInput
from clearwell.flow import limits
from clearwell.flow.counters import Counters
from clearwell.flow.events.decisions import DecisionAnnouncer
from clearwell.flow.idempotency import StoredAnswer, claim_key
from clearwell.flow.promotion.copies import WORKING_MEMORY, CopyFinder
from clearwell.flow.review.insights import InsightChanged
from clearwell.flow.review.merge import InsightMerge
from clearwell.flow.review.promotion import InsightPromotion
from clearwell.flow.review.rejection import InsightRejection
from clearwell.flow.review.retraction import Retraction
from clearwell.flow.review.snooze import InsightSnooze
from clearwell.flow.review.undo import DecisionUndo
from clearwell.ports import Claim, DecisionStore, DecisionTransaction, IdempotencyStore
from clearwell.records import Action, DecisionRequest, DecisionResult, IdempotencyKey, Json, Principal, SourceSelector

ATTEMPTS = 3
"""How often a decision is prepared if the text of its insight changes in between."""


class DecisionExecutor:
    """Executes decisions of a caller who may decide: ``ReviewService`` has checked that."""

    def __init__(
        self,
        *,
        promotion: InsightPromotion,
        rejection: InsightRejection,
        merge: InsightMerge,
        snooze: InsightSnooze,
        undo: DecisionUndo,
        retraction: Retraction,
        copies: CopyFinder,
        decisions: DecisionStore,
        idempotency: IdempotencyStore,
        counters: Counters,
        announcer: DecisionAnnouncer,
    ) -> None:
        self._promotion = promotion
        self._rejection = rejection
        self._merge = merge
        self._snooze = snooze
        self._undo = undo
        self._retraction = retraction
        self._copies = copies
        self._decisions = decisions
        self._idempotency = idempotency
        self._counters = counters
        self._announcer = announcer

    async def decide(
        self, group_id: str, decision: DecisionRequest, *, by: Principal, request: IdempotencyKey | None = None
    ) -> DecisionResult:
        """Decide on one insight, or return the answer to an earlier request with the same key."""
        async with claim_key(self._idempotency, request) as claim:
            if isinstance(claim, StoredAnswer):
                return await self._remove_superseded(group_id, _replay(claim), by)
            for _ in range(ATTEMPTS):
                try:
                    result = await self._attempt(group_id, decision, by, claim)
                    break
                except InsightChanged:
                    continue
            else:
                raise Conflict("insight_moving", id=decision.id)
        self._count(group_id, decision.action, result)
        self._announcer.announce_decision(group_id, decision.action, result, by=by, request=decision)
        if result.withdrawal_id is not None:
            self._announcer.announce_withdrawal(group_id, result.withdrawal_id, result.memories, by=by)
        return result

    async def _attempt(
        self, group_id: str, decision: DecisionRequest, by: Principal, claim: Claim | None
    ) -> DecisionResult:
        """Prepare a decision without a transaction, then apply it and store the answer in one."""
        match decision.action:
            case Action.PROMOTE:
                promotion = await self._promotion.prepare(group_id, decision)
                async with self._decisions.transaction(group_id) as transaction:
                    result = _mark_unfinished(await self._promotion.apply(transaction, promotion, by))
                    await _store(transaction, claim, result)
                return await self._remove_superseded(group_id, result, by, claim)
            case Action.REJECT:
                rejection = await self._rejection.prepare(group_id, decision)
                if decision.withdraw:
                    rejection = await self._rejection.remove_entries(rejection, by)
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

    async def _remove_superseded(
        self, group_id: str, result: DecisionResult, by: Principal, claim: Claim | None = None
    ) -> DecisionResult:
        """Remove what says the superseded text from working memory, and name it in the result."""
        if result.superseded is None or not result.degraded:
            return result
        removed = await self._copies.try_remove_superseded(group_id, result.superseded, by_memory=result.id, by=by)
        result = replace(result, removed=removed.ids, degraded=removed.degraded)
        if claim is not None:
            await self._idempotency.complete(claim, result.to_json())
        return result

    async def decide_many(
        self,
        group_id: str,
        decisions: Sequence[DecisionRequest],
        *,
        by: Principal,
        request: IdempotencyKey | None = None,
    ) -> list[DecisionResult | ClearwellError]:
        """Decide on many insights, independently and in order. Returns a result or an error for each."""
        async with claim_key(self._idempotency, request) as claim:
            if isinstance(claim, StoredAnswer):
                stored = claim.value if isinstance(claim.value, list) else []
                replayed = [_replay_one_of_many(one) for one in stored]
                return [
                    one if isinstance(one, Conflict) else await self._remove_superseded(group_id, one, by)
                    for one in replayed
                ]
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
        reason: str | None,
        only: Action | None = None,
        request: IdempotencyKey | None = None,
    ) -> DecisionResult:
        """Undo any decision by its id. With ``only``, a decision of another kind is refused."""
        reason = limits.require_reason(reason)
        async with claim_key(self._idempotency, request) as claim:
            if isinstance(claim, StoredAnswer):
                return _replay(claim)
            async with self._decisions.transaction(group_id) as transaction:
                result = await self._undo.apply(transaction, group_id, decision_id, by=by, reason=reason, only=only)
                await _store(transaction, claim, result)
        self._count(group_id, Action.UNDO, result)
        self._announcer.announce_decision(group_id, Action.UNDO, result, by=by)
        return result

    async def retract(
        self,
        group_id: str,
        selector: SourceSelector,
        *,
        token: str | None,
        by: Principal,
        reason: str | None,
        tombstones: bool = False,
        request: IdempotencyKey | None = None,
    ) -> DecisionResult:
        """Withdraw what was previewed, or nothing if that has changed since. Without a token, what is selected now.

        Entries of working memory are removed first: if it does not answer, nothing has changed. With ``tombstones``
        what the memories say does not come back, and a reason is needed.
        """
        reason = limits.require_nonblank_reason(reason) if tombstones else limits.require_reason(reason)
        async with claim_key(self._idempotency, request) as claim:
            if isinstance(claim, StoredAnswer):
                return _replay(claim)
            preview = await self._retraction.preview(group_id, selector)
            if token not in (None, preview.token):
                raise self._retraction.report_change(preview)
            if not preview.memories and not preview.entries:
                raise Conflict("retract_nothing")
            rejected = await self._retraction.prepare_tombstones(group_id, preview) if tombstones else ()
            removed = await self._retraction.remove_entries(group_id, preview, by=by)
            async with self._decisions.transaction(group_id) as transaction:
                result = await self._retraction.apply(
                    transaction, group_id, preview, reason=reason, by=by, tombstones=rejected
                )
                result = replace(result, removed=removed)
                await _store(transaction, claim, result)
        self._count(group_id, Action.RETRACT, result)
        self._announcer.announce_decision(group_id, Action.RETRACT, result, by=by)
        return result

    def _count(self, group_id: str, action: Action, result: DecisionResult) -> None:
        if not result.already:
            self._counters.count_decision(group_id, action)


async def _store(transaction: DecisionTransaction, claim: Claim | None, result: DecisionResult) -> DecisionResult:
    """Store the answer for a repeated request, in the transaction of the decision."""
    if claim is not None:
        await transaction.store_answer(claim, result.to_json())
    return result


def _mark_unfinished(result: DecisionResult) -> DecisionResult:
    """The result of a promotion as it is until the superseded text is removed from working memory.

    It is stored with the decision, so that a repetition does what was interrupted.
    """
    if result.superseded is None or result.status != "promoted":
        return result
    return replace(result, degraded=(WORKING_MEMORY,))


def _replay(answer: StoredAnswer) -> DecisionResult:
    return replace(DecisionResult.from_json(answer.value), replayed=True)


def _store_one_of_many(result: DecisionResult | ClearwellError) -> Json:
    """Store only the code of an error, because its text may quote what has changed since."""
    return {"problem": result.code} if isinstance(result, ClearwellError) else result.to_json()


def _replay_one_of_many(stored: Json) -> DecisionResult | Conflict:
    if isinstance(stored, dict) and "problem" in stored:
        return Conflict("decided_in_vain", problem=stored["problem"])
    return DecisionResult.from_json(stored)
