"""What reviewers read, over the twins of quarantine, digests, the ledger and long-term memory."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from clearwell.flow.review.insights import wake
from clearwell.records import (
    Action,
    CalibrationRow,
    Decision,
    DependentMemory,
    DigestStatus,
    Insight,
    InsightState,
    Promotion,
    PromotionState,
    Provenance,
    QuarantineRow,
    ReviewStatistics,
    SourceSelector,
    list_dependents,
)
from clearwell.testing import review_numbers as numbers
from clearwell.testing.decisions import promotion_states
from clearwell.testing.digests import MemoryDigests
from clearwell.testing.ledger import MemoryLedger
from clearwell.testing.longterm import MemoryLongTerm
from clearwell.testing.quarantine import MemoryQuarantine, quarantine_row_of


class MemoryReview:
    def __init__(
        self, ledger: MemoryLedger, quarantine: MemoryQuarantine, longterm: MemoryLongTerm, digests: MemoryDigests
    ) -> None:
        self._ledger = ledger
        self._quarantine = quarantine
        self._longterm = longterm
        self._digests = digests
        self._uses: set[tuple[str, UUID]] = set()

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
        promotions = {
            one.promotion_id for one in self._ledger.decisions(insight.group_id) if one.insight_id == insight.id
        }
        waiting = insight.state is InsightState.PROMOTED and promotions & self._ledger.delays.keys()
        return replace(insight, state=InsightState.PROMOTING) if waiting else insight

    async def decisions(
        self, group_id: str, *, insight_id: UUID | None = None, before: UUID | None = None, limit: int = 50
    ) -> Sequence[Decision]:
        newest = reversed(self._ledger.decisions(group_id))
        if insight_id is not None:
            return [one for one in newest if one.insight_id == insight_id or insight_id in one.others]
        return [one for one in newest if before is None or one.id < before][:limit]

    async def promotions(self, group_id: str, memory_ids: Sequence[UUID]) -> Sequence[PromotionState]:
        states = promotion_states(group_id, self._longterm, self._ledger)
        return [one for one in states if one.promotion.memory_id in memory_ids]

    # provenance

    async def origin(self, group_id: str, memory_id: UUID) -> Provenance | None:
        promotions = await self.promotions(group_id, [memory_id])
        if not promotions:
            return None
        decisions = self._decisions_of(group_id, [memory_id])
        promoted = {one.insight_id for one in decisions if one.memory_id == memory_id}
        insights = [one for one in self._ledger.list_insights(group_id) if self._ends_in(one) & (promoted - {None})]
        rows = {source.log_id for one in insights for source in one.sources}
        rows |= numbers.straight(one.promotion for one in promotions)
        rows |= {one.origin_id for one in decisions if one.memory_id == memory_id and one.origin_id is not None}
        return Provenance(
            promotions=tuple(promotions),
            decisions=tuple(decisions),
            insights=tuple(insights),
            rows=tuple(self._rows(group_id, rows)),
        )

    async def influence(self, group_id: str, log_id: UUID) -> Provenance | None:
        row = self._quarantine.rows.get(group_id, {}).get(log_id)
        if row is None:
            return None
        promotions = await self._on_rows(group_id, {log_id})
        return Provenance(
            promotions=tuple(promotions),
            decisions=tuple(self._decisions_of(group_id, [one.promotion.memory_id for one in promotions])),
            insights=tuple(one for one in self._ledger.list_insights(group_id) if _rests_on(one, {log_id})),
            rows=(quarantine_row_of(row),),
            sightings_of=() if row.sighting is None else ((row.sighting.entry_id, row.sighting.layer),),
        )

    async def find_dependents(self, group_id: str, selector: SourceSelector) -> Sequence[DependentMemory]:
        meant = {
            row.capture.id
            for row in self._quarantine.rows.get(group_id, {}).values()
            if row.capture.id == selector.source
            or _named(selector.session_id, row.capture.session_id)
            or _named(selector.agent_id, row.capture.agent_id)
        }
        found = promotion_states(group_id, self._longterm, self._ledger)
        by_name = {
            one.promotion.memory_id
            for one in found
            if _named(selector.session_id, one.promotion.text.session_id)
            or _named(selector.agent_id, one.promotion.text.author, one.promotion.text.agent_id)
        }
        return list_dependents(
            found, {one.promotion.memory_id: self._under(one.promotion) for one in found}, meant, by_name
        )

    def _under(self, promotion: Promotion) -> set[UUID]:
        """The outputs that a memory rests on."""
        rows = numbers.straight([promotion])
        for one in self._ledger.list_in_force(promotion.group_id):
            if one.action is Action.PROMOTE and one.memory_id == promotion.memory_id:
                insight = None if one.insight_id is None else self._ledger.get(promotion.group_id, one.insight_id)
                rows |= {source.log_id for source in (insight.sources if insight else ())}
                rows |= set() if one.origin_id is None else {one.origin_id}
        return rows

    async def _on_rows(self, group_id: str, log_ids: set[UUID]) -> Sequence[PromotionState]:
        """What was promoted from these rows, or from an insight that rests on one of them."""
        insights = {one.id for one in self._ledger.list_insights(group_id) if _rests_on(one, log_ids)}
        by_insight = {
            one.memory_id
            for one in self._ledger.decisions(group_id)
            if one.action is Action.PROMOTE and one.insight_id in insights
        } | {one.memory_id for one in self._ledger.list_in_force(group_id) if one.origin_id in log_ids}
        return [
            one
            for one in promotion_states(group_id, self._longterm, self._ledger)
            if one.promotion.memory_id in by_insight or one.promotion.text.origin_id in log_ids
        ]

    def _ends_in(self, insight: Insight) -> set[UUID | None]:
        """Its own id, and those of the insights that it went into, one after the other."""
        found: set[UUID | None] = {insight.id}
        into = insight.merged_into
        while into is not None and into not in found:
            found.add(into)
            after = self._ledger.get(insight.group_id, into)
            into = None if after is None else after.merged_into
        return found

    def _decisions_of(self, group_id: str, memory_ids: Sequence[UUID]) -> list[Decision]:
        ids = set(memory_ids)
        return [one for one in self._ledger.decisions(group_id) if ids & {one.memory_id, one.supersedes, *one.others}]

    def _rows(self, group_id: str, ids: set[UUID]) -> list[QuarantineRow]:
        rows = self._quarantine.rows.get(group_id, {})
        return [quarantine_row_of(rows[one]) for one in sorted(ids & rows.keys())]

    # numbers

    async def calibration(self, group_id: str) -> Sequence[CalibrationRow]:
        rows = self._quarantine.rows.get(group_id, {}).values()
        promotions = [one for one in self._longterm.promotions if one.group_id == group_id]
        return numbers.calibration(rows, self._ledger.list_insights(group_id), promotions)

    async def statistics(self, group_id: str) -> ReviewStatistics:
        insights, rows = self._ledger.list_insights(group_id), self._quarantine.rows.get(group_id, {})
        states = Counter(one.state for one in insights)
        lags = numbers.lags(insights, self._ledger.decisions(group_id))
        judged = numbers.judged(group_id, self._ledger, self._longterm.promotions)
        living = {one.id for one in self._longterm.chunks if one.group_id == group_id and one.valid_to is None}
        pending = [one.created_at for one in insights if one.state is InsightState.PENDING]
        promoted, rejected = states[InsightState.PROMOTED], states[InsightState.REJECTED]
        digests = await self._digests.page(group_id, limit=len(rows) + 1000)
        return ReviewStatistics(
            insights={state.value: count for state, count in states.items()},
            lag_median=numbers.percentile(lags, 0.5),
            lag_p90=numbers.percentile(lags, 0.9),
            lag_sum=sum(lags),
            lag_count=len(lags),
            oldest_pending_at=min(pending, default=None),
            accepted=numbers.accepted(judged),
            by_agent=numbers.by_agent(judged, rows),
            by_check=numbers.by_check(judged, rows),
            memories=len(living),
            memories_used=len({one for one in living if (group_id, one) in self._uses}),
            promoting=sum(delay.group_id == group_id for delay in self._ledger.delays.values()),
            digests=sum(one.status is DigestStatus.DONE for one in digests),
            digests_yield=promoted / (promoted + rejected) if promoted + rejected else None,
        )

    async def groups(self, *, limit: int) -> Sequence[str]:
        return self._ledger.groups()[:limit]

    async def note_uses(self, group_id: str, memory_ids: Sequence[UUID], *, at: datetime) -> None:
        del at  # nobody asks a twin when
        self._uses |= {(group_id, one.promotion.memory_id) for one in await self.promotions(group_id, memory_ids)}


def _has(decisions: Sequence[Decision], decision_id: UUID) -> bool:
    return any(one.id == decision_id for one in decisions)


def _rests_on(insight: Insight, log_ids: set[UUID]) -> bool:
    return any(source.log_id in log_ids for source in insight.sources)


def _named(wanted: str | None, *names: str | None) -> bool:
    return wanted is not None and wanted in names
