"""The forms of review's answers, for the OpenAPI document."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from clearwell.adapters.http.schemas import FlagAnswer, Problem, PromotedAnswer, RowAnswer, VerdictAnswer
from clearwell.records import Action, Admission, InsightState, Layer, Origin, Scope, Writer


class StandingAnswer(BaseModel):
    """Where an insight stands."""

    id: UUID
    version: int
    state: InsightState
    changed_at: datetime
    snoozed_until: datetime | None
    merged_into: UUID | None


class DecidedAnswer(BaseModel):
    """What a decision led to. id is the memory of a promotion, else the insight."""

    status: str = Field(examples=["promoted", "promoting", "rejected", "merged", "snoozed", "undone", "retracted"])
    id: UUID
    already: bool = Field(description="it was so before, and nothing was done")
    decision_id: UUID | None = None
    promotion_id: UUID | None = None
    tombstone_id: UUID | None = None
    superseded: UUID | None = None
    chunks: int | None = None
    undone: Action | None = None
    memories: list[UUID] | None = Field(None, description="what was retracted, or brought back")
    insight: StandingAnswer | None = None


class DecidedManyAnswer(BaseModel):
    """One result for each decision, in order."""

    results: list[DecidedAnswer | Problem]


class PromotedManyAnswer(BaseModel):
    """One result for each output, in order."""

    results: list[PromotedAnswer | Problem]


class SourceAnswer(BaseModel):
    """An output that an insight rests on."""

    log_id: UUID
    agent_id: str | None
    session_id: str | None
    node_id: str | None
    node_type: str
    occurred_at: datetime
    confidence: float | None
    admission: Admission
    flags: list[str]
    content: str
    content_shown: str
    statement: str | None
    verdicts: list[VerdictAnswer] | None = None


class ContradictionAnswer(BaseModel):
    of: UUID
    with_: UUID = Field(alias="with")
    layer: Layer
    why: str


class SupportAnswer(BaseModel):
    agents: int
    sessions: int
    days: int
    rows: int


class InsightAnswer(BaseModel):
    """A candidate for knowledge."""

    id: UUID
    group_id: str
    digest_id: UUID
    version: int
    state: InsightState
    summary: str
    summary_shown: str = Field(description="the summary with every hidden character written out")
    written_by: Writer
    sources: list[SourceAnswer]
    contradictions: list[ContradictionAnswer]
    flags: list[str]
    flags_said: list[FlagAnswer]
    support: SupportAnswer
    score: float
    created_at: datetime
    changed_at: datetime
    snoozed_until: datetime | None
    merged_into: UUID | None


class InsightsAnswer(BaseModel):
    """The newest digest first, the best of each first. next, where not null, is the parameter before of the next."""

    insights: list[InsightAnswer]
    next: UUID | None


class PieceAnswer(BaseModel):
    op: str = Field(examples=["equal", "insert", "delete"])
    text: str


class BesideAnswer(BaseModel):
    """A verified memory near an insight. The diff leads from the memory to the insight."""

    id: UUID
    content: str
    content_shown: str
    chunk_no: int
    scope: Scope
    author: str | None
    occurred_at: datetime | None
    promoted_at: datetime | None
    similarity: float
    relation: str = Field(examples=["duplicates", "contradicts", "supersedes", "near"])
    why: str
    diff: list[PieceAnswer]


class RelatedAnswer(BaseModel):
    id: UUID
    why: str
    similarity: float


class RejectedAnswer(BaseModel):
    """A rejected value that the insight is like."""

    at: datetime
    by: str
    reason: str
    similarity: float
    text: str


class DecisionAnswer(BaseModel):
    """A decision on record. The texts are given where a person wrote another one."""

    id: UUID
    group_id: str
    action: Action
    by: str
    at: datetime
    insight_id: UUID | None
    promotion_id: UUID | None
    memory_id: UUID | None
    tombstone_id: UUID | None
    supersedes: UUID | None
    others: list[UUID]
    undoes: UUID | None
    already: bool
    until: datetime | None
    reason: str | None
    text_before: str | None
    text_after: str | None


class FollowedAnswer(BaseModel):
    """What the promotion of an insight has led to so far."""

    id: UUID
    memory_id: UUID
    state: str = Field(examples=["verified", "promoting", "withdrawn"])
    problem: str | None = Field(description="why it is not verified yet")
    chunks: int


class DossierAnswer(InsightAnswer):
    """An insight with everything beside it."""

    beside: list[BesideAnswer]
    duplicates: list[RelatedAnswer]
    contradicts: list[RelatedAnswer]
    supersedes: list[RelatedAnswer] = Field(description="what it contradicts and was said before it")
    rejected: RejectedAnswer | None
    decisions: list[DecisionAnswer]
    promotion: FollowedAnswer | None
    degraded: list[str]


class DecisionsAnswer(BaseModel):
    """Newest first."""

    decisions: list[DecisionAnswer]
    next: UUID | None


class PromotionAnswer(BaseModel):
    """How a memory came to be, and whether it holds."""

    id: UUID
    memory_id: UUID
    state: str = Field(examples=["verified", "promoting", "withdrawn"])
    problem: str | None
    content: str
    content_shown: str
    agent_id: str | None
    session_id: str | None
    author: str | None
    occurred_at: datetime | None
    origin: Origin
    origin_id: UUID | None
    supersedes: UUID | None
    decided_by: str
    decided_at: datetime
    valid_to: datetime | None
    chunks: int


class SightingOfAnswer(BaseModel):
    id: UUID
    layer: Layer


class ProvenanceAnswer(BaseModel):
    """Promotions, decisions, insights and raw outputs that hang together."""

    promotions: list[PromotionAnswer]
    decisions: list[DecisionAnswer]
    insights: list[InsightAnswer]
    rows: list[RowAnswer]
    sightings_of: list[SightingOfAnswer]


class ListedAnswer(BaseModel):
    """What would be withdrawn, and the token to do it."""

    status: str = Field(examples=["listed"])
    memories: list[PromotionAnswer]
    token: str


class CalibrationRowAnswer(BaseModel):
    agent_id: str | None
    confidence: list[float] | None = Field(description="from, to; null: not stated, or not as a number")
    mean_stated: float | None
    entries: int
    promoted: int
    rejected: int
    conflict: int
    open: int


class CalibrationAnswer(BaseModel):
    """What agents stated, against what became of it."""

    rows: list[CalibrationRowAnswer]


class NumbersAnswer(BaseModel):
    """How review goes in a group."""

    insights: dict[str, int]
    review_lag_seconds: dict[str, float | None]
    oldest_pending_at: datetime | None
    accept_rate: dict[str, list[dict[str, Any]]]
    memories: dict[str, Any]
    digests: dict[str, Any]
