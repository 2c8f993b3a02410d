"""The forms of answers about memory: promoted texts, retrieved items, live entries."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from clearwell.adapters.http.schemas.problems import Problem
from clearwell.records import Label, Layer, Scope, Source


class PromotedAnswer(BaseModel):
    """The memory that a text became. promoting: decided, and its chunks follow when the model is back."""

    status: str = Field(examples=["promoted", "promoting"])
    id: UUID
    promotion_id: UUID
    decision_id: UUID | None
    chunks: int
    already: bool = Field(description="it was knowledge before, and is still one memory")


class IngestAnswer(PromotedAnswer):
    status: str = Field(examples=["ingested", "promoting"])


class IngestBatchAnswer(BaseModel):
    """One result for each text, in order."""

    status: str = Field(examples=["ingested", "promoting", "refused"])
    results: list[IngestAnswer | Problem]


class PartsAnswer(BaseModel):
    """What a verified item was ordered by: each part as it counted. Their sum is the rank."""

    dense: float
    lexical: float
    author: float
    beside: float
    answer: float
    session: float


class ExplanationAnswer(BaseModel):
    """Where an item's scores come from."""

    cosine: float | None = Field(description="raw, of the model; null where the embedder did not answer")
    words: float = Field(description="the share of the query's words that it has, the rare ones counting more")
    parts: PartsAnswer | None = Field(description="of verified items")
    rank: float | None = Field(description="of verified items")
    age_seconds: float | None = Field(description="of unverified items")


class ItemAnswer(BaseModel):
    """One item of context with its label."""

    content: str
    source: Source
    score: float = Field(description="1.0 of working memory; of long-term memory the similarity")
    id: UUID
    group_id: str
    layer: Layer
    label: Label
    label_text: str = Field(examples=["⚡️ 临时上下文", "✅ Verified"])
    verified: bool
    relevance: float | None = Field(description="0 to 1, on the scale that thresholds are set on")
    scope: Scope
    session_id: str | None
    agent_id: str | None
    author: str | None
    occurred_at: datetime | None
    created_at: datetime
    expires_at: datetime | None = Field(description="of working memory")
    promoted_at: datetime | None = Field(description="of long-term memory")
    chunk_no: int | None
    metadata: dict[str, Any]
    flags: list[str]
    cut: bool = Field(description="the text goes on: it was longer than max_chars, or than working memory holds")
    explanation: ExplanationAnswer | None = Field(description="with explain=true")


class QueryAnswer(BaseModel):
    """Items in the order in which to use them, the parts that did not answer, and the tiers that were asked."""

    results: list[ItemAnswer]
    degraded: list[str] = Field(examples=[[], ["working_memory"], ["embedder"]])
    sources: list[Source] = Field(examples=[["hot", "cold"]])


class EntryAnswer(BaseModel):
    """A live entry of working memory."""

    id: UUID
    group_id: str
    content: str
    layer: Layer
    label: Label
    label_text: str = Field(examples=["⚡️ 临时上下文"])
    verified: bool
    session_id: str | None
    agent_id: str | None
    node_type: str
    occurred_at: datetime | None
    created_at: datetime
    expires_at: datetime
    age_seconds: float
    expires_in_seconds: float
    metadata: dict[str, Any]
    flags: list[str]
    cut: bool
    content_shown: str = Field(description="the content with every hidden character written out")


class WorkingAnswer(BaseModel):
    """Live entries, newest first."""

    entries: list[EntryAnswer]
