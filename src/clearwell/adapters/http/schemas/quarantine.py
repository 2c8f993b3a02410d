"""The forms of answers about outputs: captured, filtered, kept, refused for good."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from clearwell.adapters.http.schemas.problems import Problem
from clearwell.records import Admission, Outcome, TombstoneKind


class VerdictAnswer(BaseModel):
    """The outcome of one check of the ingress filter."""

    check: str = Field(examples=["confidence", "length", "non_duplicate", "self_consistency", "group"])
    outcome: Outcome
    value: Any = Field(description="what was measured")
    threshold: float | None
    reason: str = Field(examples=["给出的置信度 0.5 低于 0.8。"])
    params: dict[str, Any] = Field(description="what the reason speaks of, such as the entry that says otherwise")


class FlagAnswer(BaseModel):
    """Something that a reader must know of a text."""

    flag: str = Field(examples=["conflict", "hidden_text", "instruction_like", "self_consistency_not_checked"])
    text: str


class CaptureAnswer(BaseModel):
    """Where an output is kept, and where its admission to working memory stands."""

    id: UUID
    group_id: str
    admission: Admission
    verdicts: list[VerdictAnswer]


class CaptureBatchAnswer(BaseModel):
    """One result for each capture, in order."""

    results: list[CaptureAnswer | Problem]


class CheckAnswer(BaseModel):
    """What the filter would say."""

    admission: Admission
    flags: list[FlagAnswer]
    verdicts: list[VerdictAnswer]


class CountAnswer(BaseModel):
    agent_id: str | None
    check: str
    outcome: Outcome
    count: int


class CountsAnswer(BaseModel):
    """How often each check ended how."""

    counts: list[CountAnswer]


class SightingAnswer(BaseModel):
    """The same, said again. From another agent it is corroboration."""

    id: UUID
    agent_id: str | None
    session_id: str | None
    at: datetime
    corroborates: bool


class RowAnswer(BaseModel):
    """A row of quarantine and its whole fate."""

    id: UUID
    group_id: str
    session_id: str | None
    node_id: str | None
    node_type: str
    agent_id: str | None
    content: str
    metadata: dict[str, Any]
    partial: bool
    occurred_at: datetime
    created_at: datetime
    captured_by: str
    admission: Admission
    attempts: int
    next_try_at: datetime | None = Field(None, description="when it is tried again, while it is pending")
    settled_at: datetime | None
    flags: list[str]
    verdicts: list[VerdictAnswer]
    content_shown: str = Field(description="the content with every hidden character written out")
    removed_at: datetime | None = Field(None, description="when a person took it out of working memory")
    sighting_of: UUID | None = Field(None, description="the entry or memory that it only said again")
    sightings: list[SightingAnswer] | None = Field(None, description="who said the same; of one row only")


class PageAnswer(BaseModel):
    """Rows, newest first. next, where it is not null, is the parameter before of the next page."""

    rows: list[RowAnswer]
    next: UUID | None


class RequeueAnswer(BaseModel):
    """A row that is to go through the filter again, and what it was."""

    id: UUID
    was: Admission


class RequeuedAnswer(BaseModel):
    """How many rows are pending again, and whether there are more to put back."""

    requeued: int
    more: bool


class TombstoneAnswer(BaseModel):
    """A value that must not come back. The value itself is not kept."""

    id: UUID
    group_id: str
    kind: TombstoneKind
    reason: str
    made_by: str
    made_by_name: str
    made_at: datetime
    lifted_by: str | None
    lifted_by_name: str | None
    lifted_at: datetime | None


class TombstonesAnswer(BaseModel):
    tombstones: list[TombstoneAnswer]


class IdAnswer(BaseModel):
    id: UUID
