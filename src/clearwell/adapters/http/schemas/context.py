"""The forms of what agents are told."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from clearwell.records import Fate, NodeEventType, Section


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
