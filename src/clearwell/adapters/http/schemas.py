"""The forms of the answers, for the OpenAPI document. Answers themselves are not validated again."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from clearwell.records import (
    Admission,
    DigestStatus,
    Fate,
    InsightState,
    Label,
    Layer,
    NodeEventType,
    Outcome,
    Scope,
    Section,
    Source,
    TombstoneKind,
    Writer,
)


class FlawSchema(BaseModel):
    """One thing that is wrong with a request."""

    field: str
    code: str
    detail: str
    limit: Any = None


class Problem(BaseModel):
    """What went wrong (RFC 9457). The type is stable; title and detail follow Accept-Language."""

    type: str = Field(examples=["urn:clearwell:problem:text_blank"])
    title: str
    status: int
    detail: str = Field(examples=["content is empty or blank.", "content 为空或只有空白。"])
    field: str | None = Field(None, description="the field that is wrong")
    limit: Any = Field(None, description="the limit that it breaks")
    errors: list[FlawSchema] | None = Field(None, description="everything that is wrong with the structure")
    current: dict[str, Any] | None = Field(None, description="what is there now, where that is what stands against it")


class VerdictAnswer(BaseModel):
    """The outcome of one check of the ingress filter."""

    check: str = Field(examples=["confidence", "length", "non_duplicate", "self_consistency", "group"])
    outcome: Outcome
    value: Any = Field(description="what was measured")
    threshold: float | None
    reason: str = Field(examples=["给出的置信度 0.5 低于 0.8。"])
    params: dict[str, Any] = Field(description="what the reason speaks of, such as the entry that says otherwise")


class CaptureAnswer(BaseModel):
    """Where an output is kept, and where its admission to working memory stands."""

    id: UUID
    group_id: str
    admission: Admission
    verdicts: list[VerdictAnswer]


class FlagAnswer(BaseModel):
    """Something that a reader must know of a text."""

    flag: str = Field(examples=["conflict", "hidden_text", "instruction_like", "self_consistency_not_checked"])
    text: str


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


class TombstoneAnswer(BaseModel):
    """A value that must not come back. The value itself is not kept."""

    id: UUID
    group_id: str
    kind: TombstoneKind
    reason: str
    made_by: str
    made_at: datetime
    lifted_by: str | None
    lifted_at: datetime | None


class TombstonesAnswer(BaseModel):
    tombstones: list[TombstoneAnswer]


class IdAnswer(BaseModel):
    id: UUID


class RequeueAnswer(BaseModel):
    """A row that is to go through the filter again, and what it was."""

    id: UUID
    was: Admission


class RequeuedAnswer(BaseModel):
    """How many rows are pending again, and whether there are more to put back."""

    requeued: int
    more: bool


class CaptureBatchAnswer(BaseModel):
    """One result for each capture, in order."""

    results: list[CaptureAnswer | Problem]


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


class GroupAnswer(BaseModel):
    """What a group is told, and when its digest is due."""

    group_id: str
    system_prompt: str
    digest_cron: str | None
    digest_zone: str | None
    created_at: datetime | None = Field(description="null: nobody has described the group")
    updated_at: datetime | None


class GroupsAnswer(BaseModel):
    groups: list[GroupAnswer]


class AgentNameAnswer(BaseModel):
    group_id: str
    agent_id: str


class AgentAnswer(AgentNameAnswer):
    """Who an agent is to be."""

    persona: str
    created_at: datetime
    updated_at: datetime


class AgentsAnswer(BaseModel):
    agents: list[AgentAnswer]


class PromptMessageAnswer(BaseModel):
    role: str = Field(examples=["system", "user"])
    content: str


class ContextItemAnswer(BaseModel):
    """What became of one memory."""

    id: UUID
    fate: Fate
    tokens: int
    reason: str | None
    reason_text: str | None


class ContextSectionAnswer(BaseModel):
    section: Section
    fate: Fate
    tokens: int
    reason: str | None
    reason_text: str | None
    items: list[ContextItemAnswer]


class ContextReportAnswer(BaseModel):
    max_tokens: int
    tokens: int = Field(description="what the whole costs, by the counter; never more than max_tokens")
    sections: list[ContextSectionAnswer]


class ContextAnswer(BaseModel):
    """A context for a language model, and what it is made of."""

    text: str | None = Field(None, description="the whole as one text")
    messages: list[PromptMessageAnswer] | None = Field(None, description="the whole for a chat API")
    report: ContextReportAnswer
    degraded: list[str] = Field(description="parts that did not answer", examples=[[], ["prompts"]])


class NodeEventAnswer(BaseModel):
    type: NodeEventType
    at: datetime
    data: dict[str, Any]


class NodeAnswer(BaseModel):
    """The state with history_context added, and what happened on the way."""

    output: dict[str, Any]
    events: list[NodeEventAnswer]


class AliveAnswer(BaseModel):
    status: str = Field(examples=["alive"])


class ReadyAnswer(BaseModel):
    status: str = Field(examples=["ready"])
    degraded: list[str] = Field(description="parts that do not answer", examples=[[], ["working_memory"]])


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


class InsightAnswer(BaseModel):
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

    insights: list[InsightAnswer] | None = None
