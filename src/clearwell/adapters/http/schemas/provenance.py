"""The forms of where memories come from, and of how review goes."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from clearwell.adapters.http.schemas.quarantine import RowAnswer
from clearwell.adapters.http.schemas.review import DecisionAnswer, InsightAnswer
from clearwell.records import Layer, Origin


class PromotionAnswer(BaseModel):
    """How a memory came to be, and whether it holds."""

    id: UUID
    memory_id: UUID
    state: str = Field(examples=["verified", "promoting", "withdrawn"])
    problem: str | None = Field(description="why it is not verified yet")
    problem_code: str | None
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
    decided_by_name: str
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


class RestsOnAnswer(BaseModel):
    meant: int = Field(description="how many of the outputs of that source, session or agent")
    others: int = Field(description="how many other outputs; the memory is withdrawn all the same")


class RestingAnswer(PromotionAnswer):
    """A memory that would be withdrawn, and on how many outputs it rests."""

    rests_on: RestsOnAnswer


class ListedAnswer(BaseModel):
    """What would be withdrawn, and the token to do it."""

    status: str = Field(examples=["listed"])
    memories: list[RestingAnswer]
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
