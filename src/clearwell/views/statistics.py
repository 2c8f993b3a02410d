"""What happened in a group day by day, how reliable agents are, and review statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Self

from pydantic import Field

from clearwell.views.view import View

if TYPE_CHECKING:
    from clearwell.records import (
        AcceptRate,
        ActivityDay,
        CalibrationRow,
        ReviewCounts,
        ReviewStatistics,
    )


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
    refused_by: dict[str, int] = Field(description="how many outputs each check refused in these days, the most first")

    @classmethod
    def from_records(cls, days: Sequence[ActivityDay]) -> Self:
        refusals = sum((Counter(day.refused_by) for day in days), Counter[str]())
        return cls(days=tuple(ActivityDayView.read(day) for day in days), refused_by=dict(refusals.most_common()))


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
