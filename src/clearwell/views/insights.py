"""Insights: as a digest shows them, and under review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Self
from uuid import UUID

from pydantic import Field

from clearwell.messages import Language, catalogue
from clearwell.text.hidden_text import escaped
from clearwell.views.captures import FlagView, SpanView, VerdictView
from clearwell.views.view import View, is_absent
from clearwell.vocabulary import Admission, InsightState, Layer, Writer

if TYPE_CHECKING:
    from clearwell.records import (
        Contradiction,
        Insight,
        InsightSide,
        InsightSource,
        Note,
        Verdict,
    )


class SentenceView(View):
    """A sentence of a summary, and the rows that it rests on."""

    text: str
    sources: tuple[UUID, ...]


class ContradictionView(View):
    """Two statements that cannot both hold."""

    of: UUID = Field(description="a source of the insight")
    against: UUID = Field(alias="with", description="another row, or a verified memory")
    layer: Layer
    why: str

    @classmethod
    def from_record(cls, contradiction: Contradiction, language: Language) -> Self:
        return cls.read(contradiction, why=contradiction.explanation(language))


class SupportView(View):
    """How many independent voices stand behind an insight."""

    agents: int
    sessions: int
    days: int
    rows: int


class SideView(View):
    """One of the sides of an insight whose sources contradict each other."""

    statement: str
    statement_shown: str = Field(description="the statement with every hidden character written out")
    sources: tuple[UUID, ...] = Field(description="the log_id of each source on this side")
    support: SupportView

    @classmethod
    def from_record(cls, side: InsightSide) -> Self:
        return cls(
            statement=side.statement,
            statement_shown=escaped(side.statement),
            sources=side.log_ids,
            support=SupportView.read(side.support),
        )


class NoteView(View):
    """Something to be said of how an insight came to be."""

    code: str
    text: str

    @classmethod
    def from_record(cls, note: Note, language: Language) -> Self:
        return cls(code=note.code, text=note.text(language))


class SourceView(View):
    """An output that an insight rests on."""

    log_id: UUID
    agent_id: str | None
    session_id: str | None
    node_id: str | None
    node_type: str
    occurred_at: datetime
    confidence: float | None = Field(description="as the agent stated it")
    admission: Admission = Field(description="what the ingress pipeline made of it; refused ones are digested too")
    flags: tuple[str, ...]
    content: str
    content_shown: str = Field(description="the content with every hidden character written out")
    statement: str | None = Field(description="what it says about the matter, word for word")
    span: SpanView | None = Field(None, description="where the statement stands in the whole content")
    side: int | None = Field(None, description="the place of its side in sides, from 0")


class DigestSourceView(SourceView):
    """An output that an insight of a digest rests on."""

    cut: bool = Field(description="the content is longer than what is shown here")
    verdicts: tuple[VerdictView, ...]

    @classmethod
    def from_record(cls, source: InsightSource, language: Language) -> Self:
        verdicts = VerdictView.from_records(source.verdicts, language)
        return cls.read(source, **_read_source(source), verdicts=verdicts)


class ReviewSourceView(SourceView):
    """An output that an insight under review rests on. Its verdicts are there where one insight is read."""

    verdicts: tuple[VerdictView, ...] | None = Field(None, exclude_if=is_absent)

    @classmethod
    def from_record(cls, source: InsightSource, language: Language, verdicts: Sequence[Verdict] | None) -> Self:
        views = None if verdicts is None else VerdictView.from_records(verdicts, language)
        return cls.read(source, **_read_source(source), verdicts=views)


class InsightHeadView(View):
    """What every view of an insight begins with."""

    id: UUID
    group_id: str
    digest_id: UUID
    version: int
    state: InsightState
    summary: str
    summary_shown: str = Field(description="the summary with every hidden character written out")
    written_by: Writer = Field(description="extractive: quoted from the sources, word for word")
    contradictions: tuple[ContradictionView, ...]
    sides: tuple[SideView, ...] = Field(
        (), description="the statements to choose between where sources contradict each other, else empty"
    )
    support: SupportView
    created_at: datetime
    changed_at: datetime
    snoozed_until: datetime | None
    merged_into: UUID | None


class DigestInsightView(InsightHeadView):
    """A candidate for knowledge as its digest shows it, with all that it rests on."""

    sentences: tuple[SentenceView, ...]
    sources: tuple[DigestSourceView, ...]
    flags: tuple[str, ...] = Field(examples=[["single_author", "contradiction"]])
    score: float
    notes: tuple[NoteView, ...]

    @classmethod
    def from_record(cls, insight: Insight, language: Language) -> Self:
        return cls.read(
            insight,
            **_read_head(insight, language),
            sentences=tuple(SentenceView.read(sentence) for sentence in insight.sentences),
            sources=tuple(DigestSourceView.from_record(source, language) for source in insight.sources),
            score=round(insight.score, 4),
        )


class InsightView(InsightHeadView):
    """A candidate for knowledge under review."""

    sentences: tuple[SentenceView, ...] = Field(description="what of the summary cites which sources")
    notes: tuple[NoteView, ...] = Field(description="what is to be said of how it came to be")
    sources: tuple[ReviewSourceView, ...]
    flags: tuple[str, ...]
    flags_said: tuple[FlagView, ...] = Field(description="the flags that this version has a sentence for")
    score: float

    @classmethod
    def from_record(cls, insight: Insight, language: Language) -> Self:
        return cls.read(insight, **read_review(insight, language, flags=insight.flags, verdicts=None))


class InsightPageView(View):
    """The newest digest first, the best of each first. next, where not null, is the parameter before of the next."""

    insights: tuple[InsightView, ...]
    next: UUID | None

    @classmethod
    def from_records(cls, insights: Sequence[Insight], limit: int, language: Language) -> Self:
        """A page of ``limit`` insights, made from one more where there is one."""
        views = tuple(InsightView.from_record(insight, language) for insight in insights[:limit])
        return cls(insights=views, next=views[-1].id if len(insights) > limit else None)


def _read_source(source: InsightSource) -> dict[str, object]:
    span = None if source.span is None else SpanView(start=source.span[0], end=source.span[1])
    return {"content_shown": escaped(source.content), "span": span}


def _read_head(insight: Insight, language: Language) -> dict[str, object]:
    """The parts of every view of an insight that are not its own attributes."""
    return {
        "summary_shown": escaped(insight.summary),
        "contradictions": tuple(
            ContradictionView.from_record(contradiction, language) for contradiction in insight.contradictions
        ),
        "sides": tuple(SideView.from_record(side) for side in insight.sides),
        "support": SupportView.read(insight.support),
        "notes": tuple(NoteView.from_record(note, language) for note in insight.notes),
    }


def read_review(
    insight: Insight,
    language: Language,
    *,
    flags: Sequence[str],
    verdicts: Mapping[UUID, Sequence[Verdict]] | None,
) -> dict[str, object]:
    """The parts of a view of an insight under review. Without ``verdicts`` its sources are shown without any."""
    known = [flag for flag in flags if f"flag_{flag}" in catalogue()]
    return {
        **_read_head(insight, language),
        "sentences": tuple(SentenceView.read(sentence) for sentence in insight.cited),
        "sources": tuple(
            ReviewSourceView.from_record(
                source, language, None if verdicts is None else verdicts.get(source.log_id, ())
            )
            for source in insight.sources
        ),
        "flags": tuple(flags),
        "flags_said": FlagView.from_records(known, language),
    }
