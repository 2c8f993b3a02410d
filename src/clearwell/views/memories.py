"""Memories: promoted texts, retrieved memories with their labels, and entries of working memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Self
from uuid import UUID

from pydantic import Field

from clearwell.errors import ClearwellError
from clearwell.messages import Language, say
from clearwell.text.hidden_text import escape_hidden
from clearwell.views.captures import SpanView
from clearwell.views.problems import ProblemView
from clearwell.views.view import View, is_absent
from clearwell.vocabulary import Label, Layer, Scope, Source

if TYPE_CHECKING:
    from clearwell.records import ContextItem, Explanation, PromotionResult, Retrieval, VerifiedMemory, WorkingEntry


class PromotionResultView(View):
    """The memory of a promoted text.

    promoting means that it can be retrieved when the embedding model responds again.
    """

    status: Literal["promoted", "promoting"]
    id: UUID
    promotion_id: UUID
    decision_id: UUID | None
    chunks: int
    already: bool = Field(description="the text had been promoted before; it is still one memory")
    conflicts_with: tuple[UUID, ...] = Field(
        (), description="the verified memories that it contradicts; name one in supersedes to replace it"
    )
    removed: tuple[UUID, ...] | None = Field(
        None,
        exclude_if=is_absent,
        description="the entries that were removed from working memory because they say what was superseded",
    )
    degraded: tuple[str, ...] | None = Field(
        None,
        exclude_if=is_absent,
        description="working_memory if it did not respond: repeat the request to remove what says the superseded text",
    )

    @classmethod
    def from_record(cls, result: PromotionResult) -> Self:
        return cls.read(
            result,
            status="promoting" if result.waiting else "promoted",
            removed=result.removed or None,
            degraded=result.degraded or None,
        )

    def to_record(self) -> PromotionResult:
        from clearwell.records import PromotionResult

        return self.make(
            PromotionResult,
            waiting=self.status == "promoting",
            removed=self.removed or (),
            degraded=self.degraded or (),
        )


class PromotionBatchView(View):
    """One result for each output, in order."""

    results: tuple[PromotionResultView | ProblemView, ...]

    @classmethod
    def from_records(cls, results: Sequence[PromotionResult | ClearwellError], language: Language) -> Self:
        return cls(
            results=tuple(
                ProblemView.from_error(result, language)
                if isinstance(result, ClearwellError)
                else PromotionResultView.from_record(result)
                for result in results
            )
        )


class IngestedView(View):
    """The memory of an ingested text.

    promoting means that it can be retrieved when the embedding model responds again.
    """

    status: Literal["ingested", "promoting"]
    id: UUID
    promotion_id: UUID
    decision_id: UUID | None
    chunks: int
    already: bool = Field(description="the text had been promoted before; it is still one memory")
    conflicts_with: tuple[UUID, ...] = Field(
        (), description="the verified memories that it contradicts; name one in supersedes to replace it"
    )
    removed: tuple[UUID, ...] | None = Field(
        None,
        exclude_if=is_absent,
        description="the entries that were removed from working memory because they say what was superseded",
    )
    degraded: tuple[str, ...] | None = Field(
        None,
        exclude_if=is_absent,
        description="working_memory if it did not respond: repeat the request to remove what says the superseded text",
    )

    @classmethod
    def from_record(cls, result: PromotionResult) -> Self:
        return cls.read(
            result,
            status="promoting" if result.waiting else "ingested",
            removed=result.removed or None,
            degraded=result.degraded or None,
        )

    def to_record(self) -> PromotionResult:
        from clearwell.records import PromotionResult

        return self.make(
            PromotionResult,
            waiting=self.status == "promoting",
            removed=self.removed or (),
            degraded=self.degraded or (),
        )


class IngestedBatchView(View):
    """A status for all texts, and one result for each, in order."""

    status: Literal["ingested", "promoting", "refused"]
    results: tuple[IngestedView | ProblemView, ...]

    @classmethod
    def from_records(cls, results: Sequence[PromotionResult | ClearwellError], language: Language) -> Self:
        return cls(
            status=cls._status(results),
            results=tuple(
                ProblemView.from_error(result, language)
                if isinstance(result, ClearwellError)
                else IngestedView.from_record(result)
                for result in results
            ),
        )

    @staticmethod
    def _status(results: Sequence[PromotionResult | ClearwellError]) -> Literal["ingested", "promoting", "refused"]:
        """Where every stored text still waits for the model, nothing can be found yet."""
        stored = [result for result in results if not isinstance(result, ClearwellError)]
        if not stored:
            return "refused"
        return "promoting" if all(result.waiting for result in stored) else "ingested"


class RankPartsView(View):
    """The parts of the rank of a memory. Their sum is the rank."""

    dense: float
    lexical: float
    author: float
    neighbour: float
    answer: float
    session: float


class ExplanationView(View):
    """The parts of the scores of a retrieved memory."""

    cosine: float | None = Field(description="the cosine of the embedding model; null if it did not respond")
    words: float = Field(description="the share of the words of the query that it contains; rare words count more")
    parts: RankPartsView | None = Field(description="the parts of the rank; null by vectors alone")
    rank: float | None = Field(description="the rank within its tier; null by vectors alone")
    age_seconds: float | None = Field(description="set for unverified memories")

    @classmethod
    def from_record(cls, explanation: Explanation) -> Self:
        parts = explanation.parts
        return cls.read(explanation, parts=None if parts is None else RankPartsView.read(parts))

    def to_record(self) -> Explanation:
        from clearwell.records import Explanation, Parts

        return self.make(Explanation, parts=None if self.parts is None else self.parts.make(Parts))


class RetrievedMemoryView(View):
    """One retrieved memory with its label."""

    content: str
    source: Source
    score: float = Field(description="1.0 for unverified items, the cosine similarity for verified ones")
    id: UUID
    group_id: str
    layer: Layer
    label: Label
    label_text: str = Field(examples=["⚡️ 临时上下文", "✅ Verified", "⛔ Withdrawn since 2026-11-18"])
    verified: bool
    withdrawn_at: datetime | None = Field(
        None, description="since when it is no longer valid; set only for what as_of found"
    )
    relevance: float | None = Field(description="0 to 1, on the scale of the thresholds")
    scope: Scope
    session_id: str | None
    agent_id: str | None
    agent_name: str | None = Field(None, description="the agent as labels name it; null if no operator has named it")
    author: str | None
    occurred_at: datetime | None
    created_at: datetime
    expires_at: datetime | None = Field(description="set for items of working memory")
    promoted_at: datetime | None = Field(description="set for items of long-term memory")
    chunk_no: int | None
    metadata: dict[str, Any]
    node_type: str | None = Field(None, description="the type of the node that said it")
    flags: tuple[str, ...]
    cut: bool = Field(description="the text goes on: it is longer than max_chars or than working memory stores")
    cut_before: bool = Field(False, description="the text begins before this: it was cut around the match")
    match: SpanView | None = Field(None, description="where in content the query is answered; set for long texts")
    conflicts_with: tuple[UUID, ...] = Field((), description="the verified memories that it contradicts")
    explanation: ExplanationView | None = Field(description="with explain=true")

    @classmethod
    def from_record(cls, item: ContextItem, language: Language) -> Self:
        explanation = None if item.explanation is None else ExplanationView.from_record(item.explanation)
        match = None if item.match is None else SpanView(start=item.match[0], end=item.match[1])
        label_text = say_label(item.label, language, item.withdrawn_at)
        return cls.read(item, label_text=label_text, explanation=explanation, match=match)

    def to_record(self) -> ContextItem:
        from clearwell.records import ContextItem

        return self.make(
            ContextItem,
            explanation=None if self.explanation is None else self.explanation.to_record(),
            match=None if self.match is None else self.match.to_record(),
        )


class VerifiedMemoryView(View):
    """One verified memory, whole."""

    id: UUID
    group_id: str
    content: str
    label: Label = Field(examples=["verified"])
    label_text: str = Field(examples=["✅ Verified"])
    scope: Scope
    agent_id: str | None
    session_id: str | None
    author: str | None
    occurred_at: datetime | None
    promoted_at: datetime | None
    metadata: dict[str, Any]
    flags: tuple[str, ...] = Field((), description="what its source had, such as hidden_text")

    @classmethod
    def from_record(cls, memory: VerifiedMemory, language: Language) -> Self:
        return cls.read(memory, label=Label.VERIFIED, label_text=say_label(Label.VERIFIED, language))

    def to_record(self) -> VerifiedMemory:
        from clearwell.records import VerifiedMemory

        return self.make(VerifiedMemory)


class RetrievalView(View):
    """The items in order, the components that did not respond, and the tiers that were searched.

    If there are no items, ``note`` says why.
    """

    results: tuple[RetrievedMemoryView, ...]
    degraded: tuple[str, ...] = Field(examples=[[], ["working_memory"], ["embedder"]])
    sources: tuple[Source, ...] = Field(examples=[["hot", "cold"]])
    left_out: int = Field(0, description="live entries of working memory with a relevance below hot_threshold")
    note: str | None = Field(None, description="why there are no results, or that none clearly answers the query")
    note_code: str | None = Field(None, examples=[None, "retrieval_left_out", "retrieval_unclear"])

    @classmethod
    def from_record(cls, retrieval: Retrieval, language: Language) -> Self:
        code = retrieval.note
        return cls(
            results=tuple(RetrievedMemoryView.from_record(item, language) for item in retrieval.items),
            degraded=retrieval.degraded,
            sources=retrieval.sources,
            left_out=retrieval.left_out,
            note=None if code is None else say(code, language, left_out=retrieval.left_out),
            note_code=code,
        )

    def to_record(self) -> Retrieval:
        from clearwell.records import Retrieval

        return self.make(Retrieval, items=tuple(item.to_record() for item in self.results))


class WorkingEntryView(View):
    """An entry of working memory."""

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
    expires_at: datetime | None
    age_seconds: float
    expires_in_seconds: float | None
    metadata: dict[str, Any]
    flags: tuple[str, ...]
    cut: bool
    content_shown: str = Field(description="the content with hidden characters escaped")

    @classmethod
    def from_record(cls, entry: WorkingEntry, now: datetime, language: Language) -> Self:
        return cls.read(
            entry,
            label=Label.EPHEMERAL,
            label_text=say_label(Label.EPHEMERAL, language),
            verified=False,
            age_seconds=max(0.0, (now - entry.created_at).total_seconds()),
            expires_in_seconds=None if entry.expires_at is None else (entry.expires_at - now).total_seconds(),
            content_shown=escape_hidden(entry.content),
        )

    def to_record(self) -> WorkingEntry:
        """The entry without its vectors, which do not leave the server."""
        from clearwell.records import WorkingEntry

        return self.make(WorkingEntry)


class WorkingMemoryView(View):
    """The entries of working memory, newest first."""

    entries: tuple[WorkingEntryView, ...]

    @classmethod
    def from_records(cls, entries: Sequence[WorkingEntry], now: datetime, language: Language) -> Self:
        return cls(entries=tuple(WorkingEntryView.from_record(entry, now, language) for entry in entries))


@lru_cache(maxsize=256)
def say_label(label: Label, language: Language, withdrawn_at: datetime | None = None) -> str:
    """The label as readers see it."""
    return say(f"label_{label}", language, day="" if withdrawn_at is None else f"{withdrawn_at:%Y-%m-%d}")
