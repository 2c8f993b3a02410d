"""Insights: as a digest shows them, and under review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from pydantic import Field

from clearwell.messages import Language, catalogue
from clearwell.text.hidden_text import escape_hidden
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
    """A sentence of a summary, and the sources that it cites."""

    text: str
    sources: tuple[UUID, ...]


class ContradictionView(View):
    """Two statements that cannot both be right."""

    of: UUID = Field(description="a source of the insight")
    against: UUID = Field(alias="with", description="another output, or a verified memory")
    layer: Layer
    why: str
    why_code: str = ""
    params: dict[str, Any] = Field(default_factory=dict, description="what the reason refers to")

    @classmethod
    def from_record(cls, contradiction: Contradiction, language: Language) -> Self:
        why = contradiction.explanation(language)
        return cls.read(contradiction, why=why, why_code=contradiction.reason)

    def to_record(self) -> Contradiction:
        from clearwell.records import Contradiction

        return self.make(Contradiction, reason=self.why_code)


class SupportView(View):
    """How many outputs, agents, sessions and days support an insight."""

    agents: int
    sessions: int
    days: int
    rows: int
    keys: int = Field(
        0, description="the number of keys that the agents used, which choose their names themselves; 0 without keys"
    )

    @property
    def has_more_names_than_keys(self) -> bool:
        """Whether agents share a key, so that they may be one."""
        return 0 < self.keys < self.agents


class SideView(View):
    """One of the sides of an insight whose sources contradict each other."""

    statement: str
    statement_shown: str = Field(description="the statement with hidden characters escaped")
    text: str = Field("", description="what a promotion of this side stores: the statement, whole if it was cut")
    sources: tuple[UUID, ...] = Field(description="the log_id of each source on this side")
    support: SupportView

    @classmethod
    def from_record(cls, side: InsightSide, text: str) -> Self:
        return cls(
            statement=side.statement,
            text=text,
            statement_shown=escape_hidden(side.statement),
            sources=side.log_ids,
            support=SupportView.read(side.support),
        )

    def to_record(self) -> InsightSide:
        from clearwell.records import InsightSide, Support

        return InsightSide(statement=self.statement, log_ids=self.sources, support=self.support.make(Support))


class NoteView(View):
    """A note on how an insight was created."""

    code: str
    text: str
    params: dict[str, Any] = Field(default_factory=dict, description="what the note refers to")

    @classmethod
    def from_record(cls, note: Note, language: Language) -> Self:
        return cls.read(note, text=note.text(language))

    def to_record(self) -> Note:
        from clearwell.records import Note

        return self.make(Note)


class SourceView(View):
    """A source of an insight."""

    log_id: UUID
    agent_id: str | None
    session_id: str | None
    node_id: str | None
    node_type: str
    occurred_at: datetime
    confidence: float | None = Field(description="the confidence that the agent stated")
    admission: Admission = Field(description="the result of the ingress pipeline; refused outputs are considered too")
    flags: tuple[str, ...]
    content: str
    content_shown: str = Field(description="the content with hidden characters escaped")
    statement: str | None = Field(description="what it says about the matter, word for word")
    span: SpanView | None = Field(None, description="where the statement stands in the whole content")
    number: int | None = Field(None, description="the number of the statement among the segments of the output")
    side: int | None = Field(None, description="the place of its side in sides, from 0")
    captured_by: str = Field("", description="who captured it: a key, or a person at the machine of the server")
    cut: bool = Field(False, description="the content is longer than shown here")
    verdicts: tuple[VerdictView, ...] | None = Field(None, exclude_if=is_absent)

    def to_record(self) -> InsightSource:
        from clearwell.records import InsightSource

        return self.make(
            InsightSource,
            span=None if self.span is None else self.span.to_record(),
            verdicts=tuple(verdict.to_record() for verdict in self.verdicts or ()),
        )


class DigestSourceView(SourceView):
    """A source of an insight in a digest."""

    verdicts: tuple[VerdictView, ...]

    @classmethod
    def from_record(cls, source: InsightSource, language: Language) -> Self:
        verdicts = VerdictView.from_records(source.verdicts, language)
        return cls.read(source, **_read_source(source), verdicts=verdicts)


class ReviewSourceView(SourceView):
    """A source of an insight under review. It has verdicts when a single insight is read."""

    @classmethod
    def from_record(cls, source: InsightSource, language: Language, verdicts: Sequence[Verdict] | None) -> Self:
        views = None if verdicts is None else VerdictView.from_records(verdicts, language)
        return cls.read(source, **_read_source(source), verdicts=views)


class InsightHeadView(View):
    """The fields that every view of an insight has."""

    id: UUID
    group_id: str
    digest_id: UUID
    version: int
    state: InsightState
    summary: str
    summary_shown: str = Field(description="the summary with hidden characters escaped")
    text: str = Field("", description="what a promotion stores: the summary, or the whole statement if it was cut")
    promoted_text: str | None = Field(None, description="what was promoted, if the insight is promoted")
    promoted_side: int | None = Field(None, description="the side that was promoted, by its index in sides")
    written_by: Writer = Field(description="extractive means quoted word for word from the sources")
    contradictions: tuple[ContradictionView, ...]
    sides: tuple[SideView, ...] = Field(
        (), description="the statements to choose between where sources contradict each other, else empty"
    )
    support: SupportView
    created_at: datetime
    changed_at: datetime
    snoozed_until: datetime | None
    merged_into: UUID | None
    sentences: tuple[SentenceView, ...] = Field(description="which sources each sentence of the summary cites")
    notes: tuple[NoteView, ...] = Field(description="notes on how it was created")
    sources: tuple[SourceView, ...]
    flags: tuple[str, ...] = Field(examples=[["single_author", "contradiction"]])
    score: float

    def to_record(self) -> Insight:
        """The insight without its vector, with those sentences that are still part of the summary."""
        from clearwell.records import Insight, Sentence, Support

        return self.make(
            Insight,
            contradictions=tuple(contradiction.to_record() for contradiction in self.contradictions),
            sides=tuple(side.to_record() for side in self.sides),
            support=self.support.make(Support),
            sentences=tuple(sentence.make(Sentence) for sentence in self.sentences),
            sources=tuple(source.to_record() for source in self.sources),
            notes=tuple(note.to_record() for note in self.notes),
        )


class DigestInsightView(InsightHeadView):
    """An insight in a digest, with its sources."""

    sources: tuple[DigestSourceView, ...]

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
    """An insight under review."""

    sources: tuple[ReviewSourceView, ...]
    flags_said: tuple[FlagView, ...] = Field(description="the flags in words")

    @classmethod
    def from_record(cls, insight: Insight, language: Language) -> Self:
        return cls.read(insight, **read_review(insight, language, flags=insight.flags, verdicts=None))


class InsightPageView(View):
    """Newest digest first, best insights of each first. next, if not null, is the value of before for the next page."""

    insights: tuple[InsightView, ...]
    next: UUID | None

    @classmethod
    def from_records(cls, insights: Sequence[Insight], limit: int, language: Language) -> Self:
        """A page of ``limit`` insights, made from one more if there is one."""
        views = tuple(InsightView.from_record(insight, language) for insight in insights[:limit])
        return cls(insights=views, next=views[-1].id if len(insights) > limit else None)


def _read_source(source: InsightSource) -> dict[str, object]:
    span = None if source.span is None else SpanView(start=source.span[0], end=source.span[1])
    return {"content_shown": escape_hidden(source.content), "span": span}


def _read_head(insight: Insight, language: Language) -> dict[str, object]:
    """The parts of every view of an insight that are not its own attributes."""
    from clearwell.flow.review.sides import find_promoted_side, find_side_text, find_text

    return {
        "summary_shown": escape_hidden(insight.summary),
        "text": find_text(insight),
        "promoted_side": find_promoted_side(insight),
        "contradictions": tuple(
            ContradictionView.from_record(contradiction, language) for contradiction in insight.contradictions
        ),
        "sides": tuple(
            SideView.from_record(side, find_side_text(insight, number)) for number, side in enumerate(insight.sides)
        ),
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
