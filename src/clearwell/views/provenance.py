"""Where memories come from, what is based on an output, what a retraction withdraws, and review statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal, Self
from uuid import UUID

from pydantic import Field

from clearwell.messages import Language
from clearwell.text.hidden_text import escaped
from clearwell.views.captures import QuarantineRowView
from clearwell.views.decisions import DecisionView
from clearwell.views.insights import InsightView
from clearwell.views.view import View
from clearwell.vocabulary import Layer, MemoryState, Origin

if TYPE_CHECKING:
    from clearwell.records import (
        AcceptRate,
        ActivityDay,
        CalibrationRow,
        DependentMemory,
        ListedMemory,
        MemoryOrigin,
        PromotionState,
        Provenance,
        RetractionPreview,
        ReviewCounts,
        ReviewStatistics,
    )


class PromotionView(View):
    """The promotion of a memory, and whether it is valid."""

    id: UUID = Field(description="the id of the promotion, not of the memory")
    group_id: str
    memory_id: UUID = Field(description="the id of the memory, by which every other route and command names it")
    state: MemoryState
    problem: str | None = Field(description="why it is not verified yet")
    problem_code: str | None
    content: str
    content_shown: str
    agent_id: str | None
    session_id: str | None
    author: str | None
    occurred_at: datetime | None
    metadata: dict[str, Any]
    flags: tuple[str, ...] = Field((), description="what its source had, such as hidden_text")
    origin: Origin
    origin_id: UUID | None
    supersedes: UUID | None
    decided_by: str
    decided_by_name: str
    decided_at: datetime
    valid_to: datetime | None
    chunks: int
    import_id: UUID | None = Field(description="the export that it was imported with, if it was promoted elsewhere")

    @classmethod
    def from_record(cls, state: PromotionState, language: Language, key_names: Mapping[str, str]) -> Self:
        return cls.read(state.promotion.text, **_read_promotion(state, language, key_names))

    def to_record(self) -> PromotionState:
        """The state of the promotion, without the fingerprint of its text."""
        from clearwell.records import NewMemory, Promotion, PromotionState

        promotion = self.make(Promotion, text=self.make(NewMemory))
        return self.make(
            PromotionState, promotion=promotion, waiting=self.state is MemoryState.PROMOTING, problem=self.problem_code
        )


class ListedMemoryView(PromotionView):
    """A promoted memory with its use."""

    days_used: int = Field(description="on how many days it was given to an agent")
    last_used_at: datetime | None = Field(description="when it was last given to an agent")
    conflicts_with: tuple[UUID, ...] = Field(description="the valid memories that it contradicts")

    @classmethod
    def from_listed(cls, memory: ListedMemory, language: Language, key_names: Mapping[str, str]) -> Self:
        state = memory.promotion
        return cls.read(
            state.promotion.text,
            **_read_promotion(state, language, key_names),
            days_used=memory.days_used,
            last_used_at=memory.last_used_at,
            conflicts_with=memory.conflicts_with,
        )

    def to_listed(self) -> ListedMemory:
        from clearwell.records import ListedMemory

        return self.make(ListedMemory, promotion=self.to_record())


class MemoryPageView(View):
    """Promoted memories, newest first. next, if not null, is the value of before for the next page."""

    memories: tuple[ListedMemoryView, ...]
    next: UUID | None

    @classmethod
    def from_records(
        cls, memories: Sequence[ListedMemory], limit: int, language: Language, key_names: Mapping[str, str]
    ) -> Self:
        """A page of ``limit`` memories, made from one more if there is one."""
        views = tuple(ListedMemoryView.from_listed(memory, language, key_names) for memory in memories[:limit])
        return cls(memories=views, next=views[-1].id if len(memories) > limit else None)


class RestsOnView(View):
    """How many outputs a memory is based on."""

    meant: int = Field(description="outputs of that source, session or agent")
    others: int = Field(description="other outputs; the memory is withdrawn entirely in any case")


class DependentMemoryView(PromotionView):
    """A memory that would be withdrawn, and how many outputs it is based on."""

    rests_on: RestsOnView

    @classmethod
    def from_dependent(cls, dependent: DependentMemory, language: Language, key_names: Mapping[str, str]) -> Self:
        state = dependent.state
        return cls.read(
            state.promotion.text,
            **_read_promotion(state, language, key_names),
            rests_on=RestsOnView(meant=dependent.matching, others=dependent.others),
        )

    def to_dependent(self) -> DependentMemory:
        from clearwell.records import DependentMemory

        return DependentMemory(state=self.to_record(), matching=self.rests_on.meant, others=self.rests_on.others)


class RetractionPreviewView(View):
    """What would be withdrawn, and the token to do it."""

    status: Literal["listed"]
    memories: tuple[DependentMemoryView, ...]
    token: str
    entries: tuple[UUID, ...] = Field((), description="the entries of working memory that would be removed")

    @classmethod
    def from_record(cls, preview: RetractionPreview, language: Language, key_names: Mapping[str, str]) -> Self:
        memories = tuple(
            DependentMemoryView.from_dependent(dependent, language, key_names) for dependent in preview.memories
        )
        return cls(status="listed", memories=memories, token=preview.token, entries=preview.entries)

    def to_record(self) -> RetractionPreview:
        from clearwell.records import RetractionPreview

        memories = tuple(memory.to_dependent() for memory in self.memories)
        return RetractionPreview(memories=memories, token=self.token, entries=self.entries)


class SightingOfView(View):
    """The entry or memory that an output repeats."""

    id: UUID
    layer: Layer


class ProvenanceView(View):
    """The promotions, decisions, insights and outputs that belong to a memory or an output."""

    id: UUID = Field(description="the memory or the output in the request")
    promotions: tuple[PromotionView, ...]
    decisions: tuple[DecisionView, ...]
    insights: tuple[InsightView, ...]
    rows: tuple[QuarantineRowView, ...]
    sightings_of: tuple[SightingOfView, ...]
    conflicts_with: tuple[UUID, ...] = Field((), description="the valid memories that the memory contradicts")

    @classmethod
    def from_record(
        cls, asked_id: UUID, provenance: Provenance, language: Language, key_names: Mapping[str, str]
    ) -> Self:
        promotions = tuple(PromotionView.from_record(state, language, key_names) for state in provenance.promotions)
        return cls(
            id=asked_id,
            promotions=promotions,
            decisions=tuple(DecisionView.from_record(decision, key_names) for decision in provenance.decisions),
            insights=tuple(InsightView.from_record(insight, language) for insight in provenance.insights),
            rows=tuple(QuarantineRowView.from_record(row, language) for row in provenance.rows),
            sightings_of=tuple(SightingOfView(id=entry, layer=layer) for entry, layer in provenance.sightings_of),
            conflicts_with=provenance.conflicts_with,
        )

    def to_record(self) -> Provenance:
        from clearwell.records import Provenance

        return Provenance(
            promotions=tuple(promotion.to_record() for promotion in self.promotions),
            decisions=tuple(decision.to_record() for decision in self.decisions),
            insights=tuple(insight.to_record() for insight in self.insights),
            rows=tuple(row.to_record() for row in self.rows),
            sightings_of=tuple((sighting.id, sighting.layer) for sighting in self.sightings_of),
            conflicts_with=self.conflicts_with,
        )


class MemoryOriginView(View):
    """What agents may know of the origin of a memory. It has no text of an output."""

    memory_id: UUID
    group_id: str
    origin: Origin
    promoted_by: str
    promoted_by_name: str = Field(description="the name of the key that was used")
    promoted_at: datetime
    agents: tuple[str, ...] = Field(description="the agents whose outputs it is based on")
    outputs: int = Field(description="how many outputs it is based on; none if a person wrote it")
    supersedes: UUID | None
    conflicts_with: tuple[UUID, ...] = Field(description="the valid memories that it contradicts")
    import_id: UUID | None = Field(description="the export that it was imported with, if it was promoted elsewhere")

    def to_record(self) -> MemoryOrigin:
        from clearwell.records import MemoryOrigin

        return self.make(MemoryOrigin)


class CalibrationRowView(View):
    """What happened to the outputs for which an agent stated a confidence in this range."""

    agent_id: str | None
    confidence: tuple[float, float] | None = Field(
        description="from and to; null if the confidence is missing or not a number"
    )
    mean_stated: float | None
    entries: int
    promoted: int
    rejected: int
    conflict: int
    open: int

    @classmethod
    def from_record(cls, row: CalibrationRow) -> Self:
        return cls.read(
            row,
            confidence=None if row.low is None else (row.low, row.high),
            open=row.entries - row.promoted - row.rejected,
        )

    def to_record(self) -> CalibrationRow:
        from clearwell.records import CalibrationRow

        low, high = self.confidence or (None, None)
        return self.make(CalibrationRow, low=low, high=high)


class CalibrationView(View):
    """The stated confidence of agents, and what happened to their outputs."""

    rows: tuple[CalibrationRowView, ...]

    @classmethod
    def from_records(cls, rows: Sequence[CalibrationRow]) -> Self:
        return cls(rows=tuple(CalibrationRowView.from_record(row) for row in rows))


class ActivityDayView(View):
    """What happened on one day, in UTC."""

    day: date
    admitted: int
    refused: int
    promoted: int
    rejected: int
    lag_median: float | None = Field(
        description="seconds from an insight to its first decision, of the insights that were decided on that day"
    )
    refused_by: dict[str, int] = Field(description="how many outputs each check refused")

    def to_record(self) -> ActivityDay:
        from clearwell.records import ActivityDay

        return self.make(ActivityDay)


class ActivityView(View):
    """What happened in a group, day by day, the oldest first."""

    days: tuple[ActivityDayView, ...]

    @classmethod
    def from_records(cls, days: Sequence[ActivityDay]) -> Self:
        return cls(days=tuple(ActivityDayView.read(day) for day in days))


class ReviewCountsView(View):
    """What a group has now."""

    waiting: int = Field(description="insights that wait for a decision")
    memories: int = Field(description="valid memories")
    promoting: int = Field(description="promotions whose memories are still to be written")

    def to_record(self) -> ReviewCounts:
        from clearwell.records import ReviewCounts

        return self.make(ReviewCounts)


class ReviewLagView(View):
    """The time from the creation of an insight to its first decision, in seconds."""

    median: float | None
    p90: float | None
    sum: float
    count: int


class AgentAcceptRateView(View):
    """Decisions on the insights that are based on outputs of one agent."""

    agent_id: str | None
    promoted: int
    rejected: int
    rate: float | None

    @classmethod
    def from_record(cls, rate: AcceptRate) -> Self:
        return cls.read(rate, agent_id=rate.by)

    def to_record(self) -> AcceptRate:
        from clearwell.records import AcceptRate

        return self.make(AcceptRate, by=self.agent_id)


class CheckAcceptRateView(View):
    """Decisions on the insights that are based on outputs with one outcome of a check."""

    check: str
    outcome: str
    promoted: int
    rejected: int
    rate: float | None

    @classmethod
    def from_record(cls, rate: AcceptRate) -> Self:
        check, _, outcome = (rate.by or "").partition(":")
        return cls.read(rate, check=check, outcome=outcome)

    def to_record(self) -> AcceptRate:
        from clearwell.records import AcceptRate

        return self.make(AcceptRate, by=f"{self.check}:{self.outcome}")


class AcceptRateView(View):
    """Decisions on insights."""

    promoted: int
    rejected: int
    rate: float | None


class AcceptRatesView(View):
    """The accept rate of all decided insights, and the rates by agent and by check."""

    all: AcceptRateView
    by_agent: tuple[AgentAcceptRateView, ...]
    by_check: tuple[CheckAcceptRateView, ...]


class MemoryFiguresView(View):
    """How many memories there are, and how many of them were ever used."""

    verified: int
    ever_retrieved: int
    share_ever_retrieved: float | None
    promoting: int


class DigestFiguresView(View):
    """How many digests were created, and which share of their decided insights was promoted."""

    done: int
    promoted_share: float | None = Field(alias="yield")


class ReviewStatisticsView(View):
    """The statistics of review in a group."""

    insights: dict[str, int]
    review_lag_seconds: ReviewLagView
    oldest_pending_at: datetime | None
    accept_rate: AcceptRatesView
    memories: MemoryFiguresView
    digests: DigestFiguresView

    @classmethod
    def from_record(cls, statistics: ReviewStatistics) -> Self:
        return cls(
            insights=statistics.insights,
            review_lag_seconds=ReviewLagView(
                median=statistics.lag_median,
                p90=statistics.lag_p90,
                sum=statistics.lag_sum,
                count=statistics.lag_count,
            ),
            oldest_pending_at=statistics.oldest_pending_at,
            accept_rate=AcceptRatesView(
                all=AcceptRateView.read(statistics.accepted),
                by_agent=tuple(AgentAcceptRateView.from_record(rate) for rate in statistics.by_agent),
                by_check=tuple(CheckAcceptRateView.from_record(rate) for rate in statistics.by_check),
            ),
            memories=MemoryFiguresView(
                verified=statistics.memories,
                ever_retrieved=statistics.memories_used,
                share_ever_retrieved=statistics.memories_used / statistics.memories if statistics.memories else None,
                promoting=statistics.promoting,
            ),
            digests=DigestFiguresView(done=statistics.digests, promoted_share=statistics.digests_yield),
        )

    def to_record(self) -> ReviewStatistics:
        from clearwell.records import AcceptRate, ReviewStatistics

        return ReviewStatistics(
            insights=self.insights,
            lag_median=self.review_lag_seconds.median,
            lag_p90=self.review_lag_seconds.p90,
            lag_sum=self.review_lag_seconds.sum,
            lag_count=self.review_lag_seconds.count,
            oldest_pending_at=self.oldest_pending_at,
            accepted=self.accept_rate.all.make(AcceptRate, by=None),
            by_agent=tuple(rate.to_record() for rate in self.accept_rate.by_agent),
            by_check=tuple(rate.to_record() for rate in self.accept_rate.by_check),
            memories=self.memories.verified,
            memories_used=self.memories.ever_retrieved,
            promoting=self.memories.promoting,
            digests=self.digests.done,
            digests_yield=self.digests.promoted_share,
        )


def _read_promotion(state: PromotionState, language: Language, key_names: Mapping[str, str]) -> dict[str, object]:
    """The parts of a promotion that are not attributes of its text."""
    promotion = state.promotion
    return {
        "id": promotion.id,
        "group_id": promotion.group_id,
        "memory_id": promotion.memory_id,
        "state": state.state,
        "problem": state.explanation(language),
        "problem_code": state.problem,
        "content_shown": escaped(promotion.text.content),
        "supersedes": promotion.supersedes,
        "decided_by": promotion.decided_by,
        "decided_by_name": key_names.get(promotion.decided_by, promotion.decided_by),
        "decided_at": promotion.decided_at,
        "valid_to": state.valid_to,
        "chunks": state.chunks,
        "import_id": promotion.import_id,
    }
