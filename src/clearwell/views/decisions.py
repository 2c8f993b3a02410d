"""Decisions on record, and what a decision led to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Self
from uuid import UUID

from pydantic import Field, PlainSerializer, WithJsonSchema

from clearwell.errors import ClearwellError
from clearwell.messages import Language
from clearwell.views.problems import ProblemView
from clearwell.views.view import View, is_absent
from clearwell.vocabulary import Action, InsightState

if TYPE_CHECKING:
    from clearwell.records import Decision, DecisionResult

OffsetTime = Annotated[
    datetime,
    PlainSerializer(datetime.isoformat, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A time whose offset is written as +00:00, as it is kept for repeated requests."""


class DecisionView(View):
    """A decision on record. The texts are set if a person wrote another one."""

    id: UUID
    group_id: str
    action: Action
    by: str
    by_name: str = Field(description="the name of the key that was used")
    at: datetime
    insight_id: UUID | None
    promotion_id: UUID | None
    memory_id: UUID | None
    tombstone_id: UUID | None
    supersedes: UUID | None
    origin_id: UUID | None = Field(None, description="the output that was promoted")
    side_sources: tuple[UUID, ...] | None = Field(
        None, description="the outputs of the side that was promoted; null if all sources count"
    )
    others: tuple[UUID, ...]
    undoes: UUID | None
    already: bool
    until: datetime | None
    reason: str | None
    text_before: str | None
    text_after: str | None

    @classmethod
    def from_record(cls, decision: Decision, key_names: Mapping[str, str]) -> Self:
        return cls.read(decision, by_name=key_names.get(decision.by, decision.by))

    def to_record(self) -> Decision:
        """The decision without what an undo needs to know of the insight before it."""
        from clearwell.records import Decision

        return self.make(Decision)


class DecisionPageView(View):
    """Decisions, newest first. next, if not null, is the value of before for the next page."""

    decisions: tuple[DecisionView, ...]
    next: UUID | None

    @classmethod
    def from_records(cls, decisions: Sequence[Decision], limit: int, key_names: Mapping[str, str]) -> Self:
        """A page of ``limit`` decisions, made from one more if there is one."""
        views = tuple(DecisionView.from_record(decision, key_names) for decision in decisions[:limit])
        return cls(decisions=views, next=views[-1].id if len(decisions) > limit else None)


class InsightStatusView(View):
    """The state and version of an insight."""

    id: UUID
    version: int
    state: InsightState
    changed_at: OffsetTime
    snoozed_until: OffsetTime | None
    merged_into: UUID | None


class DecisionResultView(View):
    """The result of a decision. id is the memory of a promotion, or else the insight."""

    status: str = Field(examples=["promoted", "promoting", "rejected", "merged", "snoozed", "undone", "retracted"])
    id: UUID
    already: bool = Field(description="it had been decided before, and nothing was changed")
    decision_id: UUID | None = Field(None, exclude_if=is_absent)
    withdrawal_id: UUID | None = Field(
        None, exclude_if=is_absent, description="the decision that withdrew the copies of a rejected text"
    )
    promotion_id: UUID | None = Field(None, exclude_if=is_absent)
    tombstone_id: UUID | None = Field(None, exclude_if=is_absent)
    superseded: UUID | None = Field(None, exclude_if=is_absent)
    withdrawn: UUID | None = Field(
        None,
        exclude_if=is_absent,
        description="the memory that the undo withdrew; absent if another decision keeps it valid",
    )
    chunks: int | None = Field(None, exclude_if=is_absent)
    undone: Action | None = Field(None, exclude_if=is_absent)
    memories: tuple[UUID, ...] | None = Field(
        None, exclude_if=is_absent, description="the memories that were retracted, or that an undo restored"
    )
    conflicts_with: tuple[UUID, ...] | None = Field(
        None, exclude_if=is_absent, description="the verified memories that the promoted text contradicts"
    )
    still_said: tuple[UUID, ...] | None = Field(
        None, exclude_if=is_absent, description="the verified memories that still say what was rejected"
    )
    still_working: tuple[UUID, ...] | None = Field(
        None, exclude_if=is_absent, description="the entries of working memory that still say what was rejected"
    )
    removed: tuple[UUID, ...] | None = Field(
        None, exclude_if=is_absent, description="the entries that were removed from working memory"
    )
    degraded: tuple[str, ...] | None = Field(
        None,
        exclude_if=is_absent,
        description="working_memory if it did not respond: repeat the request to remove what says the superseded text",
    )
    insight: InsightStatusView | None = Field(None, exclude_if=is_absent)

    @classmethod
    def from_record(cls, result: DecisionResult) -> Self:
        insight = None if result.insight is None else InsightStatusView.read(result.insight)
        return cls.read(
            result,
            memories=result.memories or None,
            conflicts_with=result.conflicts_with or None,
            still_said=result.still_said or None,
            still_working=result.still_working or None,
            removed=result.removed or None,
            degraded=result.degraded or None,
            insight=insight,
        )

    def to_record(self) -> DecisionResult:
        from clearwell.records import DecisionResult, InsightStatus

        return self.make(
            DecisionResult,
            memories=self.memories or (),
            conflicts_with=self.conflicts_with or (),
            still_said=self.still_said or (),
            still_working=self.still_working or (),
            removed=self.removed or (),
            degraded=self.degraded or (),
            insight=None if self.insight is None else self.insight.make(InsightStatus),
        )


class DecisionBatchView(View):
    """One result for each decision, in order."""

    results: tuple[DecisionResultView | ProblemView, ...]

    @classmethod
    def from_records(cls, results: Sequence[DecisionResult | ClearwellError], language: Language) -> Self:
        return cls(
            results=tuple(
                ProblemView.from_error(result, language)
                if isinstance(result, ClearwellError)
                else DecisionResultView.from_record(result)
                for result in results
            )
        )
