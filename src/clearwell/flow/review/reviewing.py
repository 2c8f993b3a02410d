"""The reviewer's facade. Every method takes ``by``; what decides goes through the gate, which records refusals."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

from clearwell.errors import ClearwellError, InvalidInput, NotFound
from clearwell.flow import limits
from clearwell.flow.access.permissions import DecisionGate, require_in_group
from clearwell.flow.idempotency import run_each_once
from clearwell.flow.ingress.policies import said_by
from clearwell.flow.promotion.texts import TextPromoter
from clearwell.flow.review.answers import promoted_of, result_of
from clearwell.flow.review.beside import Showing
from clearwell.flow.review.decide import Deciding
from clearwell.flow.review.desk import AtDesk
from clearwell.flow.review.retract import Retracting, RetractionPreview
from clearwell.flow.review.standing import awake
from clearwell.flow.review.undo import Undoing
from clearwell.flow.review.verbs import Verbs
from clearwell.ports import (
    Clock,
    DecisionTransaction,
    IdempotencyStore,
    QuarantineStore,
    ReviewStore,
    WorkingStore,
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
    NewMemory,
    Origin,
    Principal,
    PromotionResult,
    Provenance,
    ReviewStatistics,
    Right,
    SourceSelector,
)
from clearwell.text.hidden_text import escaped

LONGEST_ID = 100
"""How much of what is no id is said back."""


class ReviewService(Verbs):
    def __init__(
        self,
        *,
        gate: DecisionGate,
        showing: Showing,
        deciding: Deciding,
        undoing: Undoing,
        retracting: Retracting,
        promoting: TextPromoter,
        desk: AtDesk,
        reviewed: ReviewStore,
        quarantine: QuarantineStore,
        working: WorkingStore,
        idempotency: IdempotencyStore,
        clock: Clock,
    ) -> None:
        self._gate = gate
        self._showing = showing
        self._deciding = deciding
        self._undoing = undoing
        self._retracting = retracting
        self._promoting = promoting
        self._desk = desk
        self._reviewed = reviewed
        self._quarantine = quarantine
        self._working = working
        self._idempotency = idempotency
        self._clock = clock

    # what is there

    async def group_of(self, kind: str, one: UUID, *, by: Principal) -> str:
        """The group of something that is named by its id alone. What a caller does not cover is not there for it."""
        if by.groups is not None and len(by.groups) == 1:
            (only,) = by.groups
            return only
        group_id = await self._reviewed.group_of(kind, one)
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
        found = await self._reviewed.insights(group_id, now=now, state=state, before=before, limit=limit)
        return [awake(one, now) for one in found]

    async def insight(self, group_id: str, insight_id: UUID, *, by: Principal) -> Dossier:
        """Everything beside one insight."""
        require_in_group(by, group_id, Right.REVIEW, Right.ADMIN)
        return await self._showing.dossier(group_id, insight_id)

    async def decisions(
        self, group_id: str, *, by: Principal, before: UUID | None = None, limit: int = 50
    ) -> Sequence[Decision]:
        require_in_group(by, group_id, Right.REVIEW, Right.ADMIN)
        return await self._reviewed.decisions(group_id, before=before, limit=limit)

    # decisions

    async def decide(
        self, group_id: str, wanted: DecisionRequest, *, by: Principal, request: IdempotencyKey | None = None
    ) -> DecisionResult:
        """One decision. What a promotion made can be retrieved when this returns, unless it says ``promoting``."""
        await self._gate.require_person(by, group_id, f"{wanted.action} insight {wanted.id}")
        if wanted.action is Action.UNDO:
            reason = limits.require_reason(wanted.reason)

            async def step(transaction: DecisionTransaction) -> DecisionResult:
                return await self._undoing.last(
                    transaction, group_id, wanted.id, by=by, version=wanted.version, reason=reason
                )

            return await self._desk.take(group_id, Action.UNDO, step, request=request)
        prepare = partial(self._deciding.prepared, group_id, wanted, by=by)
        return await self._desk.prepare_and_take(group_id, wanted.action, prepare, request=request)

    async def decide_many(
        self, group_id: str, wanted: Sequence[DecisionRequest], *, by: Principal, request: IdempotencyKey | None = None
    ) -> list[DecisionResult | ClearwellError]:
        """Each by itself, in order: a result or a problem in its place."""
        await self._gate.require_person(by, group_id, f"decide on {len(wanted)} insights")
        acts = [partial(self.decide, group_id, one, by=by) for one in wanted]
        return await run_each_once(self._idempotency, request, acts, keep=DecisionResult.to_json, replay=result_of)

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
        """Take back any decision by its id; with ``only`` one of that kind, and no other."""
        await self._gate.require_person(by, group_id, f"undo decision {decision_id}")
        why = limits.require_reason(reason)

        async def step(transaction: DecisionTransaction) -> DecisionResult:
            return await self._undoing.one(transaction, group_id, decision_id, by=by, reason=why, only=only)

        return await self._desk.take(group_id, Action.UNDO, step, request=request)

    async def promote_row(
        self, group_id: str, log_id: UUID, text: NewMemory, *, by: Principal, request: IdempotencyKey | None = None
    ) -> PromotionResult:
        """Promote an output straight from quarantine. ``text`` carries what differs: words, scope, what it replaces."""
        await self._gate.require_person(by, group_id, f"promote quarantine {log_id}")
        return await self._promote_output(group_id, log_id, text, Origin.QUARANTINE, by, request)

    async def promote_entry(
        self, group_id: str, entry_id: UUID, text: NewMemory, *, by: Principal, request: IdempotencyKey | None = None
    ) -> PromotionResult:
        """Promote a live entry of working memory."""
        await self._gate.require_person(by, group_id, f"promote working entry {entry_id}")
        if all(entry.id != entry_id for entry in await self._working.entries(group_id)):
            raise NotFound("entry_not_found", id=entry_id, group=group_id)
        return await self._promote_output(group_id, entry_id, text, Origin.WORKING, by, request)

    async def promote_outputs(
        self,
        group_id: str,
        ids: Sequence[str],
        *,
        origin: Origin = Origin.QUARANTINE,
        by: Principal,
        request: IdempotencyKey | None = None,
    ) -> list[PromotionResult | ClearwellError]:
        """Many outputs as they are. Each by itself, in order: a result or a problem in its place."""
        await self._gate.require_person(by, group_id, f"promote {len(ids)} outputs")
        if origin not in (Origin.QUARANTINE, Origin.WORKING):
            raise InvalidInput("action_unknown", field="origin", limit="quarantine, working")
        promote = self.promote_row if origin is Origin.QUARANTINE else self.promote_entry

        async def one(given: str) -> PromotionResult:
            return await promote(group_id, row_id(given, group_id), NewMemory(content=""), by=by)

        acts = [partial(one, given) for given in ids]
        return await run_each_once(self._idempotency, request, acts, keep=PromotionResult.to_json, replay=promoted_of)

    async def _promote_output(
        self,
        group_id: str,
        log_id: UUID,
        text: NewMemory,
        origin: Origin,
        by: Principal,
        request: IdempotencyKey | None,
    ) -> PromotionResult:
        row = await self._quarantine.get(group_id, log_id)
        if row is None:
            raise NotFound("row_not_found", id=log_id, group=group_id)
        capture = row.capture
        whole = replace(
            text,
            content=text.content or capture.content,
            session_id=capture.session_id,
            author=capture.agent_id,
            occurred_at=capture.occurred_at,
            metadata={**said_by([capture.node_type]), **text.metadata},
            origin=origin,
            origin_id=log_id,
        )
        (result,) = await self._promoting.promote(group_id, [whole], by=by, request=request)
        if isinstance(result, ClearwellError):
            raise result
        return result

    # provenance

    async def origin(self, group_id: str, memory_id: UUID, *, by: Principal) -> Provenance:
        """A memory down to the raw outputs that it rests on."""
        require_in_group(by, group_id, Right.REVIEW, Right.ADMIN)
        found = await self._reviewed.origin(group_id, memory_id)
        if found is None:
            raise NotFound("memory_not_found", id=memory_id, group=group_id)
        return found

    async def influence(self, group_id: str, log_id: UUID, *, by: Principal) -> Provenance:
        """An output up to the memories that rest on it."""
        require_in_group(by, group_id, Right.REVIEW, Right.ADMIN)
        found = await self._reviewed.influence(group_id, log_id)
        if found is None:
            raise NotFound("row_not_found", id=log_id, group=group_id)
        return found

    async def preview_retraction(self, group_id: str, what: SourceSelector, *, by: Principal) -> RetractionPreview:
        """What ``retract`` would withdraw, with the token to do it."""
        await self._gate.require_reviewer(by, group_id, "list what to retract")
        return await self._retracting.listed(group_id, what)

    async def retract(
        self,
        group_id: str,
        what: SourceSelector,
        *,
        token: str,
        by: Principal,
        reason: str | None = None,
        request: IdempotencyKey | None = None,
    ) -> DecisionResult:
        """Withdraw what was listed, in one step."""
        await self._gate.require_person(by, group_id, "retract by origin")
        why = limits.require_reason(reason)

        async def step(transaction: DecisionTransaction) -> DecisionResult:
            listed = await self._retracting.listed(group_id, what)
            return await self._retracting.retract(transaction, group_id, listed, token=token, reason=why, by=by)

        return await self._desk.take(group_id, Action.RETRACT, step, request=request)

    # numbers

    async def calibration(self, group_id: str, *, by: Principal) -> Sequence[CalibrationRow]:
        """What agents stated, against what became of it. It informs; it changes no threshold."""
        require_in_group(by, group_id, Right.REVIEW, Right.ADMIN)
        return await self._reviewed.calibration(group_id)

    async def statistics(self, group_id: str, *, by: Principal) -> ReviewStatistics:
        require_in_group(by, group_id, Right.REVIEW, Right.ADMIN)
        return await self._reviewed.statistics(group_id)


def row_id(given: str, group_id: str) -> UUID:
    """What is no id is the id of nothing."""
    try:
        return UUID(given)
    except ValueError:
        raise NotFound("row_not_found", id=escaped(given[:LONGEST_ID]), group=group_id) from None
