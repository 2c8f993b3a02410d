"""The forms of digests, and of insights as a digest shows them."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from clearwell.adapters.http.schemas.quarantine import VerdictAnswer
from clearwell.records import Admission, DigestStatus, InsightState, Layer, Writer


class DigestRequestAnswer(BaseModel):
    """The digest that is being made."""

    id: UUID
    group_id: str
    status: DigestStatus


class DigestSummaryAnswer(DigestRequestAnswer):
    """Where a digest stands."""

    progress: float = Field(description="0 to 1")
    note: str | None = Field(description="the stage it is in, why it waits or failed, or what came of it")
    note_code: str | None
    requested_by: str
    due_at: datetime | None = Field(description="the time of the schedule; null where a person asked for it")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    attempts: int
    report: dict[str, Any] = Field(description="figures about how it came to be")


class DigestsAnswer(BaseModel):
    """Digests, newest first. next, where it is not null, is the parameter before of the next page."""

    digests: list[DigestSummaryAnswer]
    next: UUID | None


class SentenceAnswer(BaseModel):
    """A sentence of a summary, and the rows that it rests on."""

    text: str
    sources: list[UUID]


class InsightSourceAnswer(BaseModel):
    """A row of quarantine that an insight rests on."""

    log_id: UUID
    agent_id: str | None
    session_id: str | None
    node_id: str | None
    node_type: str
    occurred_at: datetime
    confidence: float | None = Field(description="as the agent stated it")
    admission: Admission = Field(description="what the ingress filter made of it; refused ones are digested too")
    content: str
    content_shown: str = Field(description="the content with every hidden character written out")
    cut: bool = Field(description="the content is longer than what is shown here")
    flags: list[str]
    statement: str | None = Field(description="what it says about the matter, in a language model's words")
    verdicts: list[VerdictAnswer]


class ContradictionAnswer(BaseModel):
    """Two statements that cannot both hold."""

    of: UUID = Field(description="a source of the insight")
    with_: UUID = Field(alias="with", description="another row, or a verified memory")
    layer: Layer
    why: str


class SupportAnswer(BaseModel):
    """How many independent voices stand behind an insight."""

    agents: int
    sessions: int
    days: int
    rows: int


class NoteAnswer(BaseModel):
    """Something to be said of how an insight came to be."""

    code: str
    text: str


class DigestInsightAnswer(BaseModel):
    """A candidate for knowledge, with all that it rests on."""

    id: UUID
    group_id: str
    digest_id: UUID
    version: int
    state: InsightState
    summary: str
    summary_shown: str = Field(description="the summary with every hidden character written out")
    written_by: Writer = Field(description="extractive: quoted from the sources, word for word")
    sentences: list[SentenceAnswer]
    sources: list[InsightSourceAnswer]
    contradictions: list[ContradictionAnswer]
    flags: list[str] = Field(examples=[["single_author", "contradiction"]])
    support: SupportAnswer
    score: float
    notes: list[NoteAnswer]
    created_at: datetime
    changed_at: datetime
    snoozed_until: datetime | None
    merged_into: UUID | None


class DigestAnswer(DigestSummaryAnswer):
    """A digest; insights are there once its status is done."""

    insights: list[DigestInsightAnswer] | None = None
