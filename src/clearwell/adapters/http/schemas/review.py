"""The forms of insights under review, and of decisions."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from clearwell.adapters.http.schemas.digests import ContradictionAnswer, NoteAnswer, SentenceAnswer, SupportAnswer
from clearwell.adapters.http.schemas.memory import PromotedAnswer
from clearwell.adapters.http.schemas.problems import Problem
from clearwell.adapters.http.schemas.quarantine import FlagAnswer, VerdictAnswer
from clearwell.records import Action, Admission, InsightState, Scope, Writer


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
    memories: list[UUID] | None = Field(None, description="what was retracted, or what an undo brought back")
    withdrawn: UUID | None = Field(
        None, description="the memory that an undo took away; without it another decision still holds it"
    )
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
    sentences: list[SentenceAnswer] = Field(description="what of the summary cites which sources")
    notes: list[NoteAnswer] = Field(description="what is to be said of how it came to be")
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
    by_name: str
    reason: str
    similarity: float
    text: str


class DecisionAnswer(BaseModel):
    """A decision on record. The texts are given where a person wrote another one."""

    id: UUID
    group_id: str
    action: Action
    by: str
    by_name: str = Field(description="what the key is called by which it was decided")
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
    problem_code: str | None
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
