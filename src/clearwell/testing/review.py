"""The insights and decisions that reviewers read, over the twins of quarantine, the ledger and long-term memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from uuid import UUID

from clearwell.flow.review.insights import wake
from clearwell.ports import MemoryFilter
from clearwell.records import (
    Action,
    ActivityDay,
    CalibrationRow,
    Decision,
    DependentMemory,
    Insight,
    InsightState,
    ListedMemory,
    PromotionState,
    Provenance,
    ReviewCounts,
    ReviewStatistics,
    SourceSelector,
)
from clearwell.testing.decisions import promotion_states
from clearwell.testing.digests import MemoryDigests
from clearwell.testing.ledger import MemoryLedger
from clearwell.testing.longterm import MemoryLongTerm, MemoryTombstones
from clearwell.testing.quarantine import MemoryQuarantine
from clearwell.vocabulary import IdKind


class MemoryReview:
    def __init__(
        self,
        ledger: MemoryLedger,
        quarantine: MemoryQuarantine,
        longterm: MemoryLongTerm,
        tombstones: MemoryTombstones,
        digests: MemoryDigests,
    ) -> None:
        self._ledger = ledger
        self._quarantine = quarantine
        self._longterm = longterm
        self._tombstones = tombstones
        self._digests = digests

    async def group_of(self, kind: str, one: UUID) -> str | None:
        match kind:
            case "insight":
                return self._ledger.group_of(one)
            case "decision":
                groups = self._ledger.groups()
                return next((group for group in groups if _has(self._ledger.decisions(group), one)), None)
            case "memory":
                return next((each.group_id for each in self._longterm.promotions if each.memory_id == one), None)
            case "row":
                return next((group for group, rows in self._quarantine.rows.items() if one in rows), None)
            case _:
                raise KeyError(kind)

    async def find_ids(self, group_id: str, kind: IdKind, ending: str, *, limit: int) -> Sequence[UUID]:
        ids = {one for one in await self._list_ids(group_id, kind) if str(one).endswith(ending)}
        return sorted(ids)[:limit]

    async def _list_ids(self, group_id: str, kind: IdKind) -> list[UUID]:
        match kind:
            case IdKind.ROW:
                return list(self._quarantine.rows.get(group_id, {}))
            case IdKind.INSIGHT:
                return [one.id for one in self._ledger.list_insights(group_id)]
            case IdKind.MEMORY:
                return [one.memory_id for one in self._longterm.promotions if one.group_id == group_id]
            case IdKind.DECISION:
                return [one.id for one in self._ledger.decisions(group_id)]
            case IdKind.TOMBSTONE:
                return [one.id for one in await self._tombstones.all(group_id)]
            case IdKind.DIGEST:
                return self._digests.list_ids(group_id)

    async def insights(
        self,
        group_id: str,
        *,
        now: datetime,
        state: InsightState | None = None,
        before: UUID | None = None,
        limit: int = 50,
    ) -> Sequence[Insight]:
        ordered = [self._as_read(one) for one in self._ledger.list_insights(group_id)]
        if before is not None:
            places = [number for number, one in enumerate(ordered) if one.id == before]
            ordered = ordered[places[0] + 1 :] if places else []
        return [one for one in ordered if state in (None, wake(one, now).state)][:limit]

    async def insight(self, group_id: str, insight_id: UUID) -> Insight | None:
        found = self._ledger.get(group_id, insight_id)
        return None if found is None else self._as_read(found)

    def _as_read(self, insight: Insight) -> Insight:
        """The insight as the database answers it: whether its promotion waits, and the text that was promoted."""
        if insight.state is not InsightState.PROMOTED:
            return insight
        made = [
            one
            for one in self._ledger.list_in_force(insight.group_id)
            if one.insight_id == insight.id and one.action is Action.PROMOTE
        ]
        texts = {one.memory_id: one.text.content for one in self._longterm.promotions}
        waits = {one.promotion_id for one in made} & self._ledger.delays.keys()
        return replace(
            insight,
            state=InsightState.PROMOTING if waits else insight.state,
            promoted_text=next((texts[one.memory_id] for one in reversed(made) if one.memory_id in texts), None),
        )

    async def decisions(
        self, group_id: str, *, insight_id: UUID | None = None, before: UUID | None = None, limit: int = 50
    ) -> Sequence[Decision]:
        newest = reversed(self._ledger.decisions(group_id))
        if insight_id is not None:
            return [one for one in newest if one.insight_id == insight_id or insight_id in one.others]
        return [one for one in newest if before is None or one.id < before][:limit]

    async def valid_texts(self, group_id: str, *, after: UUID | None, limit: int) -> Sequence[tuple[UUID, str]]:
        valid = {one.id for one in self._longterm.chunks if one.group_id == group_id and one.valid_to is None}
        texts = {one.memory_id: one.text.content for one in self._longterm.promotions if one.memory_id in valid}
        return [(one, texts[one]) for one in sorted(texts) if after is None or one > after][:limit]

    async def promotions(self, group_id: str, memory_ids: Sequence[UUID]) -> Sequence[PromotionState]:
        states = promotion_states(group_id, self._longterm, self._ledger)
        return [one for one in states if one.promotion.memory_id in memory_ids]


class PostgresOnly:
    """Lists of memories, provenance and statistics are SQL. Tests of them run on PostgreSQL; twins have none."""

    async def origin(self, group_id: str, memory_id: UUID) -> Provenance | None:
        raise NotImplementedError

    async def influence(self, group_id: str, log_id: UUID) -> Provenance | None:
        raise NotImplementedError

    async def list_memories(
        self, group_id: str, *, where: MemoryFilter, before: UUID | None = None, limit: int = 50
    ) -> Sequence[ListedMemory]:
        raise NotImplementedError

    async def find_dependents(self, group_id: str, selector: SourceSelector) -> Sequence[DependentMemory]:
        raise NotImplementedError

    async def calibration(self, group_id: str) -> Sequence[CalibrationRow]:
        raise NotImplementedError

    async def counts(self, group_id: str, *, now: datetime) -> ReviewCounts:
        raise NotImplementedError

    async def activity(self, group_id: str, *, first: date, last: date) -> Sequence[ActivityDay]:
        raise NotImplementedError

    async def statistics(self, group_id: str) -> ReviewStatistics:
        raise NotImplementedError

    async def groups(self, *, limit: int) -> Sequence[str]:
        raise NotImplementedError

    async def note_uses(self, group_id: str, uses: Mapping[UUID, datetime]) -> None:
        raise NotImplementedError


def _has(decisions: Sequence[Decision], decision_id: UUID) -> bool:
    return any(one.id == decision_id for one in decisions)
