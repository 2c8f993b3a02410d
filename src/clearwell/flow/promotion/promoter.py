"""Texts become verified memories at an open transaction, for every way to promote."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from clearwell.errors import ClearwellError, Conflict
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.ingress.knowledge import Knowledge
from clearwell.flow.promotion.chunks import Chunked, Chunker
from clearwell.flow.promotion.eligibility import known_as, require_not_refused, require_replaceable
from clearwell.offload import offload
from clearwell.ports import Clock, DecisionTransaction, Ids
from clearwell.records import (
    Action,
    AuditEvent,
    Decision,
    Json,
    Memory,
    NewMemory,
    Origin,
    Principal,
    Promotion,
    PromotionResult,
    PromotionState,
)
from clearwell.text.normalisation import normalised

NOWHERE = ("", "", "", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A text that is ready to be promoted: its chunks, the digests of what it says, and what makes it the same."""

    chunked: Chunked
    digests: tuple[bytes, ...]
    fingerprint: bytes

    @property
    def text(self) -> NewMemory:
        return self.chunked.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """The insight that is promoted, and both texts where a person wrote another one."""

    insight_id: UUID | None = None
    before: str | None = None
    after: str | None = None


class Promoter:
    """Writes plans at a desk: refused values stay out, the same thing becomes one memory."""

    def __init__(self, knowledge: Knowledge, chunking: Chunker, clock: Clock, ids: Ids) -> None:
        self._knowledge = knowledge
        self._chunking = chunking
        self._clock = clock
        self._ids = ids
        self._audit_events = AuditEvents(clock, ids)

    async def planned(self, group_id: str, texts: Sequence[NewMemory]) -> list[Plan]:
        """All that takes time, before anybody else has to wait."""
        return [
            Plan(
                chunked=chunked,
                digests=tuple(await self.digests(group_id, chunked.text.content)),
                fingerprint=await self._fingerprint(group_id, chunked.text),
            )
            for chunked in await self._chunking.chunked(texts)
        ]

    async def digests(self, group_id: str, content: str) -> list[bytes]:
        return await self._knowledge.promotable_digests(group_id, content)

    async def _fingerprint(self, group_id: str, text: NewMemory) -> bytes:
        """What makes a text the same.

        An output or an insight by what it says. Of a typed text also who said it, when and where: two turns of a
        session may have the same words, and what is said of them tells them apart.
        """
        place = (text.agent_id or "", *(_said(text) if text.origin is Origin.TYPED else NOWHERE))
        value = await offload(len(text.content), normalised, text.content)
        return await self._knowledge.digest(group_id, "\x1f".join((value, *place)))

    async def write(
        self,
        transaction: DecisionTransaction,
        group_id: str,
        plans: Sequence[Plan],
        *,
        by: Principal,
        wording: Wording | None = None,
    ) -> list[PromotionResult | ClearwellError]:
        """One result a plan. The chunks are stored together, in the order given."""
        now = self._clock.now()
        results: list[PromotionResult | ClearwellError] = []
        made: dict[bytes, tuple[Promotion, Sequence[Memory] | None]] = {}
        replaced: dict[UUID, UUID] = {}
        for plan in plans:
            try:
                result = await self._result(transaction, group_id, plan, by, now, made, replaced)
            except ClearwellError as problem:
                results.append(problem)
                continue
            results.append(result)
            if plan.text.supersedes is not None:
                replaced[plan.text.supersedes] = result.id
        await _withdraw_superseded(transaction, plans, results, now)
        await transaction.insert_promotions(list(made.values()))
        return [
            await self._recorded(transaction, group_id, plan, result, by, wording or Wording(), now)
            if isinstance(result, PromotionResult)
            else result
            for plan, result in zip(plans, results, strict=True)
        ]

    async def _result(
        self,
        transaction: DecisionTransaction,
        group_id: str,
        plan: Plan,
        by: Principal,
        now: datetime,
        made: dict[bytes, tuple[Promotion, Sequence[Memory] | None]],
        replaced: Mapping[UUID, UUID],
    ) -> PromotionResult:
        """The memory that a text becomes: one that an earlier plan made, one that is known, or one that is made now."""
        await require_not_refused(transaction, plan.digests)
        known: PromotionResult | None = None
        if plan.fingerprint in made:
            known = replace(_promoted(*made[plan.fingerprint]), already=True)
        elif (state := await known_as(transaction, plan.text, plan.fingerprint)) is not None:
            known = _known_as(state)
        superseded, memory_id = plan.text.supersedes, None if known is None else known.id
        if superseded is not None:
            if replaced.get(superseded, memory_id) != memory_id:
                current = {"memory_id": str(replaced[superseded])}
                raise Conflict("supersedes_withdrawn", current=current, id=superseded)
            await require_replaceable(transaction, group_id, superseded, by=memory_id)
        if known is not None:
            return known
        made[plan.fingerprint] = self._made(group_id, plan, by, now)
        return _promoted(*made[plan.fingerprint])

    def _made(
        self, group_id: str, plan: Plan, by: Principal, now: datetime
    ) -> tuple[Promotion, Sequence[Memory] | None]:
        promotion = Promotion(
            id=self._ids.new(),
            memory_id=self._ids.new(),
            group_id=group_id,
            decided_by=by.name,
            decided_at=now,
            text=plan.text,
            chunks=len(plan.chunked.chunks),
            supersedes=plan.text.supersedes,
            fingerprint=plan.fingerprint,
        )
        chunked = plan.chunked
        if chunked.embedded is None:
            return promotion, None
        return promotion, self._chunking.memories(promotion, chunked.chunks, chunked.embedded)

    async def _recorded(
        self,
        transaction: DecisionTransaction,
        group_id: str,
        plan: Plan,
        result: PromotionResult,
        by: Principal,
        wording: Wording,
        now: datetime,
    ) -> PromotionResult:
        """A decision and its event. Who says the same of the same thing again has decided it before."""
        decision = Decision(
            id=self._ids.new(),
            group_id=group_id,
            action=Action.PROMOTE,
            by=by.name,
            at=now,
            insight_id=wording.insight_id,
            promotion_id=result.promotion_id,
            memory_id=result.id,
            supersedes=None if plan.text.supersedes == result.id else plan.text.supersedes,
            origin_id=_output(plan.text),
            already=result.already,
            text_before=wording.before,
            text_after=wording.after,
        )
        before = await _decided_before(transaction, decision) if result.already else None
        if before is not None:
            return replace(result, decision_id=before.id)
        await transaction.record_decision(decision, self._event(decision, plan, result))
        if decision.origin_id is not None:
            await transaction.mark_judged([decision.origin_id], by=decision.id)
        return replace(result, decision_id=decision.id, recorded=True)

    def _event(self, decision: Decision, plan: Plan, result: PromotionResult) -> AuditEvent:
        detail: dict[str, Json] = {
            "promotion": str(result.promotion_id),
            "chunks": result.chunks,
            "origin": plan.text.origin.value,
            "waiting": result.waiting,
        }
        if decision.supersedes is not None:
            detail["supersedes"] = str(decision.supersedes)
        about = f"memory {result.id}"
        return self._audit_events.make("promote", about, decision.group_id, by=decision.by, at=decision.at, **detail)


async def _decided_before(transaction: DecisionTransaction, decision: Decision) -> Decision | None:
    """The same person's decision on the same thing from the same origin, where it stands and replaced the same."""
    assert decision.memory_id is not None  # noqa: S101 - a promotion has one
    for known, undone in await transaction.find_promoting_decisions(decision.memory_id):
        same = (known.by, known.insight_id, known.origin_id) == (decision.by, decision.insight_id, decision.origin_id)
        if same and not undone and decision.supersedes in (None, known.supersedes):
            return known
    return None


async def _withdraw_superseded(
    transaction: DecisionTransaction,
    plans: Sequence[Plan],
    results: Sequence[PromotionResult | ClearwellError],
    now: datetime,
) -> None:
    """What is replaced by something that still waits for the model holds until that is there."""
    old = [
        plan.text.supersedes
        for plan, result in zip(plans, results, strict=True)
        if isinstance(result, PromotionResult)
        and not result.waiting
        and plan.text.supersedes is not None
        and plan.text.supersedes != result.id
    ]
    if old:
        await transaction.withdraw_memories(list(dict.fromkeys(old)), at=now)


def _output(text: NewMemory) -> UUID | None:
    """The output that a text was promoted from."""
    return text.origin_id if text.origin in (Origin.QUARANTINE, Origin.WORKING) else None


def _said(text: NewMemory) -> tuple[str, str, str, str]:
    moment = "" if text.occurred_at is None else text.occurred_at.isoformat()
    turn = "" if text.session_id is None else json.dumps(dict(text.metadata), sort_keys=True)
    return (text.session_id or "", text.author or "", moment, turn)


def _promoted(promotion: Promotion, chunks: Sequence[Memory] | None) -> PromotionResult:
    stored = 0 if chunks is None else promotion.chunks
    return PromotionResult(id=promotion.memory_id, promotion_id=promotion.id, chunks=stored, waiting=chunks is None)


def _known_as(state: PromotionState) -> PromotionResult:
    return PromotionResult(
        id=state.promotion.memory_id,
        promotion_id=state.promotion.id,
        chunks=state.chunks,
        already=True,
        waiting=state.waiting,
    )
