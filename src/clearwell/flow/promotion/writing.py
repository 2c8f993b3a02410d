"""Write planned promotions in an open transaction: check what may be promoted, store it, record the decisions.

A batch costs the same few statements as a single text: what the group knows of all plans is read first, each plan is
then checked against that and against the plans before it, and everything is stored together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from clearwell.errors import ClearwellError, Conflict, NotFound
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.promotion.planning import PromotionPlan, build_chunks
from clearwell.offload import offload
from clearwell.ports import Clock, DecisionTransaction, Ids, PromotionKey, RecordedDecision
from clearwell.records import (
    Action,
    AuditEvent,
    Decision,
    Json,
    Memory,
    MemoryState,
    NewMemory,
    Origin,
    Principal,
    Promotion,
    PromotionResult,
    PromotionState,
    Tombstone,
    TombstoneKind,
)
from clearwell.text.normalisation import normalise
from clearwell.vocabulary import AuditAction


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotedInsight:
    """The insight that is promoted, the outputs of its side if one was named, and both texts if they differ."""

    insight_id: UUID
    side_sources: tuple[UUID, ...] | None = None
    text_before: str | None = None
    text_after: str | None = None


class PromotionWriter:
    """Writes plans in a transaction. Rejected values are refused, and the same content is one memory."""

    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids
        self._audit_events = AuditEvents(clock, ids)

    async def write(
        self,
        transaction: DecisionTransaction,
        group_id: str,
        plans: Sequence[PromotionPlan],
        *,
        by: Principal,
        insight: PromotedInsight | None = None,
    ) -> list[PromotionResult | ClearwellError]:
        """Promote these texts. Returns the memory or an error for each plan, in order."""
        now = self._clock.now()
        known = await read_known_promotions(transaction, group_id, plans)
        batch = _Batch(group_id, by, now, self._ids, known)
        results = [batch.add_or_refuse(plan) for plan in plans]
        pairs = list(zip(plans, results, strict=True))
        superseded = _list_superseded(pairs)
        if superseded:
            await transaction.withdraw_memories(superseded, at=now)
        if batch.created:
            await transaction.insert_promotions(list(batch.created.values()))
        pairs = [(plan, _name_conflicts(plan, result)) for plan, result in pairs]
        conflicts = [
            (one.id, other) for _, one in pairs if isinstance(one, PromotionResult) for other in one.conflicts_with
        ]
        if conflicts:
            await transaction.insert_conflicts(conflicts, at=now)
        return await self._record(transaction, pairs, known, by=by, at=now, insight=insight)

    async def _record(
        self,
        transaction: DecisionTransaction,
        pairs: Sequence[tuple[PromotionPlan, PromotionResult | ClearwellError]],
        known: "KnownPromotions",
        *,
        by: Principal,
        at: datetime,
        insight: PromotedInsight | None,
    ) -> list[PromotionResult | ClearwellError]:
        """Record a decision for each result. A repeated promotion by the same person is not recorded again."""
        decisions: list[tuple[Decision, AuditEvent]] = []
        marks: dict[UUID, UUID] = {}
        results: list[PromotionResult | ClearwellError] = []
        for plan, result in pairs:
            if isinstance(result, ClearwellError):
                results.append(result)
                continue
            decision = self._build_decision(known.group_id, plan, result, by=by, at=at, insight=insight)
            earlier = known.find_same_decision(decision) if result.already else None
            if earlier is not None:
                results.append(replace(result, decision_id=earlier.id))
                continue
            decisions.append((decision, self._build_event(decision, plan, result)))
            known.add_decision(result.id, decision)
            if decision.origin_id is not None:
                marks.setdefault(decision.origin_id, decision.id)
            results.append(replace(result, decision_id=decision.id, recorded=True))
        if decisions:
            await transaction.record_decisions(decisions)
        if marks:
            await transaction.mark_decided(marks)
        return results

    def _build_decision(
        self,
        group_id: str,
        plan: PromotionPlan,
        result: PromotionResult,
        *,
        by: Principal,
        at: datetime,
        insight: PromotedInsight | None,
    ) -> Decision:
        supersedes, text = plan.text.supersedes, plan.text
        return Decision(
            id=self._ids.new(),
            group_id=group_id,
            action=Action.PROMOTE,
            by=by.name,
            at=at,
            insight_id=None if insight is None else insight.insight_id,
            promotion_id=result.promotion_id,
            memory_id=result.id,
            supersedes=None if supersedes == result.id else supersedes,
            origin_id=text.origin_id if text.origin in (Origin.QUARANTINE, Origin.WORKING) else None,
            side_sources=None if insight is None else insight.side_sources,
            already=result.already,
            text_before=None if insight is None else insight.text_before,
            text_after=None if insight is None else insight.text_after,
        )

    def _build_event(self, decision: Decision, plan: PromotionPlan, result: PromotionResult) -> AuditEvent:
        detail: dict[str, Json] = {
            "promotion": str(result.promotion_id),
            "chunks": result.chunks,
            "origin": plan.text.origin.value,
            "waiting": result.waiting,
        }
        if decision.supersedes is not None:
            detail["supersedes"] = str(decision.supersedes)
        subject = f"memory {result.id}"
        return self._audit_events.make(
            AuditAction.PROMOTE, subject, decision.group_id, by=decision.by, at=decision.at, **detail
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPromotions:
    """What a group knows about the plans of a batch, as it was before the batch.

    ``same_content`` has the keys whose duplicate also has the same words for the same readers.
    """

    group_id: str
    tombstones: Mapping[bytes, Tombstone]
    duplicates: Mapping[PromotionKey, PromotionState]
    same_content: frozenset[PromotionKey]
    decisions: dict[UUID, list[RecordedDecision]]
    superseded: Mapping[UUID, PromotionState]
    superseding: Mapping[UUID, Decision]
    replacements: Mapping[UUID, PromotionState]

    def require_not_refused(self, plan: PromotionPlan) -> None:
        """Raise if a value of the text was rejected or forgotten, or one of its metadata forgotten.

        The error names the tombstone.
        """
        said = [self.tombstones[one] for one in plan.value_hashes if one in self.tombstones]
        beside = [self.tombstones[one] for one in plan.metadata_hashes if one in self.tombstones]
        standing = [*said, *(one for one in beside if one.kind is TombstoneKind.FORGOTTEN)]
        tombstone = next(iter(standing), None)
        if tombstone is not None:
            raise Conflict(
                "promotion_forgotten" if tombstone.kind is TombstoneKind.FORGOTTEN else "promotion_rejected",
                current={
                    "group_id": self.group_id,
                    "tombstone_id": str(tombstone.id),
                    "made_at": tombstone.made_at.isoformat(),
                    "reason": tombstone.reason,
                },
                reason=tombstone.reason,
                at=f"{tombstone.made_at:%Y-%m-%d}",
                tombstone=tombstone.id,
            )

    def find_duplicate(self, plan: PromotionPlan) -> PromotionState | None:
        """Find the memory with the same content.

        Raises if the output was promoted with another text, and that memory is not the one to supersede.
        """
        state = self.duplicates.get(plan.key)
        if state is None or plan.key in self.same_content:
            return state
        memory_id = state.promotion.memory_id
        if plan.text.supersedes != memory_id:
            in_force = [one.decision for one in self.decisions.get(memory_id, ()) if not one.undone]
            decision_id = str(in_force[-1].id) if in_force else None
            current = {**describe_memory(state), "decision_id": decision_id}
            raise Conflict("promoted_otherwise", current=current, id=memory_id)
        return self.duplicates.get(PromotionKey(plan.fingerprint, None))

    def require_replaceable(self, memory_id: UUID, *, by: UUID | None) -> None:
        """Raise unless this memory is valid and no other promotion waits to supersede it.

        Naming it again for the memory that has already superseded it (``by``) is allowed.
        """
        state = self.superseded.get(memory_id)
        if state is None:
            raise NotFound("memory_not_found", id=memory_id, group=self.group_id)
        later = self.superseding.get(memory_id)
        if later is not None and by is not None and later.memory_id == by:
            return
        if state.state is MemoryState.FORGOTTEN:
            raise Conflict("memory_forgotten", current={"state": state.state}, id=memory_id)
        if state.state is MemoryState.WITHDRAWN:
            raise Conflict("supersedes_withdrawn", current={"state": state.state}, id=memory_id)
        if later is None or later.memory_id is None:
            return
        replacement = self.replacements.get(later.memory_id)
        if replacement is not None and replacement.waiting:
            raise Conflict(
                "supersedes_waiting",
                current={"state": state.state, "decision_id": str(later.id), "memory_id": str(later.memory_id)},
                id=memory_id,
                by=later.memory_id,
                later=later.id,
            )

    def find_same_decision(self, decision: Decision) -> Decision | None:
        """Find a decision in force of the same person, on the same content and origin, that supersedes the same."""
        assert decision.memory_id is not None  # noqa: S101 - a promotion has one
        subject = (decision.by, decision.insight_id, decision.origin_id)
        for one in self.decisions.get(decision.memory_id, ()):
            earlier = one.decision
            if one.undone or (earlier.by, earlier.insight_id, earlier.origin_id) != subject:
                continue
            if decision.supersedes in (None, earlier.supersedes):
                return earlier
        return None

    def add_decision(self, memory_id: UUID, decision: Decision) -> None:
        """Make a decision known to the later plans of the batch."""
        self.decisions.setdefault(memory_id, []).append(RecordedDecision(decision, undone=False))


async def read_known_promotions(
    transaction: DecisionTransaction, group_id: str, plans: Sequence[PromotionPlan]
) -> KnownPromotions:
    """Read what the group knows about these plans, in a fixed number of statements."""
    replacing = [plan for plan in plans if plan.text.supersedes is not None]
    keys = [plan.key for plan in plans] + [PromotionKey(plan.fingerprint, None) for plan in replacing]
    duplicates = await transaction.find_duplicates(list(dict.fromkeys(keys)))
    same_content = [plan.key for plan in plans if await _is_known(plan, duplicates)]
    memory_ids = list(dict.fromkeys(state.promotion.memory_id for state in duplicates.values()))
    found = await transaction.find_promoting_decisions(memory_ids) if memory_ids else {}
    superseded_ids = list(dict.fromkeys(plan.text.supersedes for plan in replacing if plan.text.supersedes))
    superseding = await transaction.find_superseding_decisions(superseded_ids) if superseded_ids else {}
    replacement_ids = [one.memory_id for one in superseding.values() if one.memory_id is not None]
    return KnownPromotions(
        group_id=group_id,
        tombstones=await transaction.find_tombstones(
            [one for plan in plans for one in (*plan.value_hashes, *plan.metadata_hashes)]
        ),
        duplicates=duplicates,
        same_content=frozenset(same_content),
        decisions={memory_id: list(decisions) for memory_id, decisions in found.items()},
        superseded=await transaction.find_promotions(superseded_ids) if superseded_ids else {},
        superseding=superseding,
        replacements=await transaction.find_promotions(replacement_ids) if replacement_ids else {},
    )


async def _is_known(plan: PromotionPlan, duplicates: Mapping[PromotionKey, PromotionState]) -> bool:
    state = duplicates.get(plan.key)
    return state is not None and await has_same_content(state, plan.text)


async def has_same_content(state: PromotionState, text: NewMemory) -> bool:
    """Whether a memory has this content, for the same agent or group."""
    promoted = state.promotion.text
    if promoted.agent_id != text.agent_id:
        return False
    if promoted.content == text.content:
        return True
    size = len(promoted.content) + len(text.content)
    return await offload(size, _normalise_equal, promoted.content, text.content)


def _normalise_equal(one: str, other: str) -> bool:
    return normalise(one) == normalise(other)


def describe_memory(state: PromotionState) -> dict[str, object]:
    """Describe the existing memory in the error of a conflicting request."""
    text = state.promotion.text
    return {
        "memory_id": str(state.promotion.memory_id),
        "memory_state": state.state,
        "content": text.content,
        "agent_id": text.agent_id,
    }


class _Batch:
    """The promotions that one call creates: each plan is checked against what is known and against those before it."""

    def __init__(self, group_id: str, by: Principal, now: datetime, ids: Ids, known: KnownPromotions) -> None:
        self._group_id = group_id
        self._by = by
        self._now = now
        self._ids = ids
        self._known = known
        self._replacements: dict[UUID, UUID] = {}
        self.created: dict[bytes, tuple[Promotion, Sequence[Memory] | None]] = {}

    def add_or_refuse(self, plan: PromotionPlan) -> PromotionResult | ClearwellError:
        try:
            return self._add(plan)
        except ClearwellError as problem:
            return problem

    def _add(self, plan: PromotionPlan) -> PromotionResult:
        """Return the memory of a text: one of this batch, an existing one, or a new one."""
        self._known.require_not_refused(plan)
        existing = self._find_existing(plan)
        memory_id = None if existing is None else existing.id
        superseded = plan.text.supersedes
        if superseded is not None:
            self._require_replaceable(superseded, by=memory_id)
        result = existing or self._create(plan)
        if superseded is not None:
            self._replacements[superseded] = result.id
        return result

    def _find_existing(self, plan: PromotionPlan) -> PromotionResult | None:
        if plan.fingerprint in self.created:
            return replace(_describe_created(*self.created[plan.fingerprint]), already=True)
        state = self._known.find_duplicate(plan)
        return None if state is None else _describe_known(state)

    def _require_replaceable(self, superseded: UUID, *, by: UUID | None) -> None:
        replacement = self._replacements.get(superseded, by)
        if replacement != by:
            raise Conflict("supersedes_withdrawn", current={"memory_id": str(replacement)}, id=superseded)
        self._known.require_replaceable(superseded, by=by)

    def _create(self, plan: PromotionPlan) -> PromotionResult:
        promotion = Promotion(
            id=self._ids.new(),
            memory_id=self._ids.new(),
            group_id=self._group_id,
            decided_by=self._by.name,
            decided_at=self._now,
            text=plan.text,
            chunks=len(plan.chunks),
            supersedes=plan.text.supersedes,
            fingerprint=plan.fingerprint,
        )
        chunks = None if plan.embeddings is None else build_chunks(promotion, plan.chunks, plan.embeddings)
        self.created[plan.fingerprint] = promotion, chunks
        return _describe_created(promotion, chunks)


def _name_conflicts(plan: PromotionPlan, result: PromotionResult | ClearwellError) -> PromotionResult | ClearwellError:
    """The result with the memories that it contradicts, without the one that it replaces."""
    if isinstance(result, ClearwellError):
        return result
    conflicting = [one for one in plan.conflicts_with if one not in (result.id, plan.text.supersedes)]
    return replace(result, conflicts_with=tuple(conflicting))


def _list_superseded(pairs: Sequence[tuple[PromotionPlan, PromotionResult | ClearwellError]]) -> list[UUID]:
    """Return the memories to withdraw. Those that a waiting promotion supersedes stay valid until it is completed."""
    superseded = [
        plan.text.supersedes
        for plan, result in pairs
        if isinstance(result, PromotionResult)
        and not result.waiting
        and plan.text.supersedes is not None
        and plan.text.supersedes != result.id
    ]
    return list(dict.fromkeys(superseded))


def _describe_created(promotion: Promotion, chunks: Sequence[Memory] | None) -> PromotionResult:
    stored = 0 if chunks is None else promotion.chunks
    return PromotionResult(id=promotion.memory_id, promotion_id=promotion.id, chunks=stored, waiting=chunks is None)


def _describe_known(state: PromotionState) -> PromotionResult:
    return PromotionResult(
        id=state.promotion.memory_id,
        promotion_id=state.promotion.id,
        chunks=state.chunks,
        already=True,
        waiting=state.waiting,
    )
