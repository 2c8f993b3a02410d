"""Texts become verified memories at an open desk, for every way to promote."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from clearwell.errors import ClearwellError, Conflict, NotFound
from clearwell.flow.audit import Audited
from clearwell.flow.chunks import Chunked, Chunking
from clearwell.flow.known import Knowledge
from clearwell.flow.normal import normalised, values_of
from clearwell.ports import Clock, Desk, Ids
from clearwell.records import (
    Action,
    AuditEvent,
    Decision,
    Json,
    Memory,
    NewMemory,
    Origin,
    Principal,
    Promoted,
    Promotion,
    PromotionState,
)

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

    def __init__(self, knowledge: Knowledge, chunking: Chunking, clock: Clock, ids: Ids) -> None:
        self._knowledge = knowledge
        self._chunking = chunking
        self._clock = clock
        self._ids = ids
        self._audited = Audited(clock, ids)

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
        return [await self._knowledge.digest(group_id, value) for value in values_of(content)]

    async def _fingerprint(self, group_id: str, text: NewMemory) -> bytes:
        """What makes a text the same.

        An output or an insight by what it says. Of a typed text also who said it, when and where: two turns of a
        session may have the same words, and what is said of them tells them apart.
        """
        place = (text.agent_id or "", *(_said(text) if text.origin is Origin.TYPED else NOWHERE))
        return await self._knowledge.digest(group_id, "\x1f".join((normalised(text.content), *place)))

    async def write(
        self, desk: Desk, group_id: str, plans: Sequence[Plan], *, by: Principal, wording: Wording | None = None
    ) -> list[Promoted | ClearwellError]:
        """One result a plan. The chunks are stored together, in the order given."""
        results: list[Promoted | ClearwellError] = []
        made: list[tuple[Promotion, Sequence[Memory] | None]] = []
        mine: dict[bytes, Promoted] = {}
        for plan in plans:
            if plan.fingerprint in mine:
                results.append(replace(mine[plan.fingerprint], already=True))
                continue
            try:
                known = await self._known(desk, group_id, plan)
            except ClearwellError as problem:
                results.append(problem)
                continue
            if known is None:
                promotion, chunks = self._made(group_id, plan, by)
                made.append((promotion, chunks))
                result = _promoted(promotion, waiting=chunks is None)
            else:
                result = _known_as(known)
            mine[plan.fingerprint] = result
            results.append(result)
        await self._withdraw_superseded(desk, plans, results)
        await desk.promote(made)
        for promotion, _ in made:
            if promotion.text.origin in (Origin.QUARANTINE, Origin.WORKING) and promotion.text.origin_id is not None:
                await desk.judge([promotion.text.origin_id], by=promotion.id)
        return [
            await self._recorded(desk, group_id, plan, result, by, wording) if isinstance(result, Promoted) else result
            for plan, result in zip(plans, results, strict=True)
        ]

    async def _known(self, desk: Desk, group_id: str, plan: Plan) -> PromotionState | None:
        """The same thing, where it is knowledge. Raises where this must not become knowledge."""
        tombstone = await desk.tombstone(plan.digests)
        if tombstone is not None:
            raise Conflict(
                f"promotion_{tombstone.kind}",
                current={"tombstone_id": str(tombstone.id), "made_at": tombstone.made_at.isoformat()},
                reason=tombstone.reason,
                at=f"{tombstone.made_at:%Y-%m-%d}",
            )
        superseded = plan.text.supersedes
        if superseded is not None:
            state = (await desk.promotions([superseded])).get(superseded)
            if state is None:
                raise NotFound("memory_not_found", id=superseded, group=group_id)
            if state.state == "withdrawn":
                raise Conflict("supersedes_withdrawn", current={"state": state.state}, id=superseded)
        return await desk.same(plan.text, plan.fingerprint)

    async def _withdraw_superseded(
        self, desk: Desk, plans: Sequence[Plan], results: Sequence[Promoted | ClearwellError]
    ) -> None:
        old = [
            plan.text.supersedes
            for plan, result in zip(plans, results, strict=True)
            if isinstance(result, Promoted) and plan.text.supersedes is not None and plan.text.supersedes != result.id
        ]
        if old:
            await desk.withdraw(list(dict.fromkeys(old)), at=self._clock.now())

    def _made(self, group_id: str, plan: Plan, by: Principal) -> tuple[Promotion, Sequence[Memory] | None]:
        promotion = Promotion(
            id=self._ids.new(),
            memory_id=self._ids.new(),
            group_id=group_id,
            decided_by=by.name,
            decided_at=self._clock.now(),
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
        self, desk: Desk, group_id: str, plan: Plan, result: Promoted, by: Principal, wording: Wording | None
    ) -> Promoted:
        """A decision and its event. A text that was knowledge already, and stays as it is, is no decision."""
        superseded = None if plan.text.supersedes == result.id else plan.text.supersedes
        wording = wording or Wording()
        if result.already and superseded is None and wording.insight_id is None:
            return result
        decision = Decision(
            id=self._ids.new(),
            group_id=group_id,
            action=Action.PROMOTE,
            by=by.name,
            at=self._clock.now(),
            insight_id=wording.insight_id,
            promotion_id=result.promotion_id,
            memory_id=result.id,
            supersedes=superseded,
            already=result.already,
            text_before=wording.before,
            text_after=wording.after,
        )
        await desk.record(decision, self._event(decision, plan, result))
        return replace(result, decision_id=decision.id)

    def _event(self, decision: Decision, plan: Plan, result: Promoted) -> AuditEvent:
        detail: dict[str, Json] = {
            "promotion": str(result.promotion_id),
            "chunks": result.chunks,
            "origin": plan.text.origin.value,
            "waiting": result.waiting,
        }
        if decision.supersedes is not None:
            detail["supersedes"] = str(decision.supersedes)
        about = f"memory {result.id}"
        return self._audited.event("promote", about, decision.group_id, by=decision.by, at=decision.at, **detail)


def _said(text: NewMemory) -> tuple[str, str, str, str]:
    moment = "" if text.occurred_at is None else text.occurred_at.isoformat()
    turn = "" if text.session_id is None else json.dumps(dict(text.metadata), sort_keys=True)
    return (text.session_id or "", text.author or "", moment, turn)


def _promoted(promotion: Promotion, *, waiting: bool) -> Promoted:
    return Promoted(
        id=promotion.memory_id, promotion_id=promotion.id, chunks=0 if waiting else promotion.chunks, waiting=waiting
    )


def _known_as(state: PromotionState) -> Promoted:
    return Promoted(
        id=state.promotion.memory_id,
        promotion_id=state.promotion.id,
        chunks=state.chunks,
        already=True,
        waiting=state.waiting,
    )
