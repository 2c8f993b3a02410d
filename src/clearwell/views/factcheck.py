"""Fact checks: rated claims and the memories that they rest on."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from pydantic import Field

from clearwell.messages import Language, say
from clearwell.views.captures import SpanView
from clearwell.views.view import View
from clearwell.vocabulary import ClaimRating, FactCheckMethod, Label, Stance

if TYPE_CHECKING:
    from clearwell.records import Citation, ClaimCheck, FactCheck


class CitationView(View):
    """A memory that supports or contradicts a claim."""

    memory_id: UUID
    stance: Stance
    label: Label
    verified: bool
    sentence: str | None = Field(
        description="the sentence; null if the language model cited no words that stand in the memory"
    )
    span: SpanView | None = Field(description="the place of the sentence in the memory, or in the chunk chunk_no of it")
    chunk_no: int | None
    relevance: float | None
    agent_id: str | None
    session_id: str | None
    said_at: datetime
    reason: str | None = Field(description="why the comparison rules say so; null if a language model does")
    reason_text: str | None
    params: dict[str, str]
    conflicts_with: tuple[UUID, ...] = Field(description="verified memories that contradict the cited one")

    @classmethod
    def from_record(cls, citation: Citation, language: Language) -> Self:
        span = None if citation.span is None else SpanView(start=citation.span[0], end=citation.span[1])
        reason_text = None if citation.reason is None else say(citation.reason, language, **citation.params)
        return cls.read(citation, span=span, reason_text=reason_text)

    def to_record(self) -> Citation:
        from clearwell.records import Citation

        return self.make(Citation, span=None if self.span is None else self.span.to_record())


class ClaimCheckView(View):
    """A claim and its rating. Citations of verified memories come first."""

    claim: str
    rating: ClaimRating
    reason: str
    reason_text: str
    params: dict[str, Any]
    citations: tuple[CitationView, ...]
    explanation: str = Field(description="one sentence of the language model; empty if none was asked")

    @classmethod
    def from_record(cls, check: ClaimCheck, language: Language) -> Self:
        citations = tuple(CitationView.from_record(citation, language) for citation in check.citations)
        return cls.read(check, citations=citations, reason_text=check.say_reason(language))

    def to_record(self) -> ClaimCheck:
        from clearwell.records import ClaimCheck

        return self.make(ClaimCheck, citations=tuple(citation.to_record() for citation in self.citations))


class FactCheckView(View):
    """The claims of a text, rated by what memory says."""

    group_id: str
    rating: ClaimRating = Field(
        description="contradicted if one claim is, supported if all claims are, otherwise unknown"
    )
    method: FactCheckMethod = Field(description="llm: the language model of the judge; rules: the comparison rules")
    model: str | None
    claims: tuple[ClaimCheckView, ...]
    text: str = Field(description="the fact check as a text, with claims and memories fenced as data")
    degraded: tuple[str, ...] = Field(description="components that did not respond", examples=[[], ["working_memory"]])
    left_out: int = Field(description="claims beyond the most that are checked at once")

    @classmethod
    def from_record(cls, check: FactCheck, language: Language) -> Self:
        claims = tuple(ClaimCheckView.from_record(claim, language) for claim in check.claims)
        return cls.read(check, claims=claims)

    def to_record(self) -> FactCheck:
        from clearwell.records import FactCheck

        return self.make(FactCheck, claims=tuple(claim.to_record() for claim in self.claims))
