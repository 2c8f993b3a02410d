"""Outputs of nodes: receipts of captures, what the ingress pipeline found, and rows of quarantine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self
from uuid import UUID

from pydantic import Field

from clearwell.errors import ClearwellError
from clearwell.messages import Language, say
from clearwell.text.hidden_text import escape_hidden
from clearwell.views.problems import ProblemView
from clearwell.views.view import View
from clearwell.vocabulary import Admission, Outcome, OutputState, SegmentKind

if TYPE_CHECKING:
    from clearwell.records import (
        Capture,
        CaptureReceipt,
        DryRun,
        IngressCount,
        QuarantinePage,
        QuarantineRow,
        Requeued,
        SightingRow,
        Statement,
        Verdict,
    )


class VerdictView(View):
    """The outcome of one check of the ingress pipeline."""

    check: str = Field(examples=["confidence", "length", "non_duplicate", "self_consistency", "group"])
    outcome: Outcome
    value: Any = Field(description="the measured value")
    threshold: float | None
    reason: str = Field(examples=["给出的置信度 0.5 低于 0.8。"])
    reason_code: str = Field("", examples=["verdict_confidence_low"])
    params: dict[str, Any] = Field(description="what the reason refers to, such as the id of a contradicting entry")
    at: datetime | None = Field(None, description="when it was recorded")

    @classmethod
    def from_record(cls, verdict: Verdict, language: Language) -> Self:
        return cls.read(verdict, reason=verdict.explanation(language), reason_code=verdict.reason)

    def to_record(self) -> Verdict:
        from clearwell.records import Verdict

        return self.make(Verdict, reason=self.reason_code)

    @classmethod
    def from_records(cls, verdicts: Sequence[Verdict], language: Language) -> tuple[Self, ...]:
        return tuple(cls.from_record(verdict, language) for verdict in verdicts)


class FlagView(View):
    """Something that a reader should know about a text."""

    flag: str = Field(examples=["conflict", "hidden_text", "instruction_like", "self_consistency_not_checked"])
    text: str

    @classmethod
    def from_records(cls, flags: Sequence[str], language: Language) -> tuple[Self, ...]:
        return tuple(cls(flag=flag, text=say(f"flag_{flag}", language)) for flag in flags)


class CaptureView(View):
    """The receipt of a capture: where it is stored, and the state of its admission."""

    id: UUID
    group_id: str
    admission: Admission
    verdicts: tuple[VerdictView, ...]

    @classmethod
    def from_record(cls, receipt: CaptureReceipt, language: Language) -> Self:
        return cls.read(receipt, verdicts=VerdictView.from_records(receipt.verdicts, language))

    def to_record(self) -> CaptureReceipt:
        from clearwell.records import CaptureReceipt

        return self.make(CaptureReceipt, verdicts=tuple(verdict.to_record() for verdict in self.verdicts))


class CaptureBatchView(View):
    """One result for each capture, in order."""

    results: tuple[CaptureView | ProblemView, ...]

    @classmethod
    def from_records(cls, results: Sequence[CaptureReceipt | ClearwellError], language: Language) -> Self:
        return cls(
            results=tuple(
                ProblemView.from_error(result, language)
                if isinstance(result, ClearwellError)
                else CaptureView.from_record(result, language)
                for result in results
            )
        )


class DryRunView(View):
    """The result of a dry run of the ingress pipeline."""

    admission: Admission
    flags: tuple[FlagView, ...]
    verdicts: tuple[VerdictView, ...]
    stored: Literal[False] = Field(False, description="a dry run stores nothing")

    @classmethod
    def from_record(cls, dry_run: DryRun, language: Language) -> Self:
        return cls(
            admission=dry_run.admission,
            flags=FlagView.from_records(dry_run.flags, language),
            verdicts=VerdictView.from_records(dry_run.verdicts, language),
        )

    def to_record(self) -> DryRun:
        from clearwell.records import DryRun

        return DryRun(
            admission=self.admission,
            verdicts=tuple(verdict.to_record() for verdict in self.verdicts),
            flags=tuple(flag.flag for flag in self.flags),
        )


class IngressCountView(View):
    """How often a check had an outcome for one agent."""

    agent_id: str | None
    check: str
    outcome: Outcome
    count: int

    def to_record(self) -> IngressCount:
        from clearwell.records import IngressCount

        return self.make(IngressCount)


class IngressCountsView(View):
    """How often each check had each outcome."""

    counts: tuple[IngressCountView, ...]
    checked: int = Field(description="how many outputs were checked")
    refused: int = Field(description="how many of them were refused")
    refused_by: dict[str, int] = Field(description="how many outputs each check refused, the most first")

    @classmethod
    def from_records(cls, counts: Sequence[IngressCount]) -> Self:
        """An output is refused by the first check that it fails; the checks before it have counted it, too."""
        totals: Counter[str] = Counter()
        refusals: Counter[str] = Counter()
        for row in counts:
            totals[row.check] += row.count
            if row.outcome is Outcome.FAIL:
                refusals[row.check] += row.count
        return cls(
            counts=tuple(IngressCountView.read(row) for row in counts),
            checked=max(totals.values(), default=0),
            refused=refusals.total(),
            refused_by=dict(refusals.most_common()),
        )


class SightingView(View):
    """An output that says the same again. From another agent it is corroboration."""

    id: UUID
    agent_id: str | None
    session_id: str | None
    at: datetime
    corroborates: bool

    @classmethod
    def from_record(cls, sighting: SightingRow, capture: Capture) -> Self:
        corroborates = sighting.agent_id is not None and sighting.agent_id != capture.agent_id
        return cls.read(sighting, id=sighting.log_id, corroborates=corroborates)

    def to_record(self) -> SightingRow:
        from clearwell.records import SightingRow

        return self.make(SightingRow, log_id=self.id)


class SpanView(View):
    """A place in the content of an output, in characters (Unicode code points)."""

    start: int
    end: int

    def to_record(self) -> tuple[int, int]:
        return self.start, self.end


class StatementView(View):
    """A segment of an output. Claims and decisions are statements; the other kinds are not."""

    span: SpanView
    kind: SegmentKind
    headings: tuple[str, ...] = Field(description="the headings above it, the outermost first")
    lead_in: str = Field(description="the line that introduces its list, or the header of its table")
    text: str

    @classmethod
    def from_record(cls, statement: Statement, content: str) -> Self:
        segment = statement.segment
        span = SpanView(start=segment.start, end=segment.end)
        return cls.read(segment, span=span, text=content[segment.start : segment.end])

    def to_record(self, log_id: UUID, number: int) -> Statement:
        """The statement of this output, without its vector."""
        from clearwell.records import Segment, Statement

        segment = self.make(Segment, start=self.span.start, end=self.span.end)
        return Statement(log_id=log_id, number=number, segment=segment)


def _find_unsegmented(content: str, statements: Sequence[Statement] | None) -> int | None:
    """Where the segments of an output end because it has too many of them, or too many lines."""
    from clearwell.text.segments import find_unread

    return None if statements is None else find_unread(content, [one.segment for one in statements])


class QuarantineRowView(View):
    """A captured output with everything that happened to it."""

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
    next_try_at: datetime | None = Field(None, description="the time of the next attempt, while it is pending")
    settled_at: datetime | None
    flags: tuple[str, ...]
    verdicts: tuple[VerdictView, ...]
    content_shown: str = Field(description="the content with hidden characters escaped")
    removed_at: datetime | None = Field(None, description="when a person removed it from working memory")
    sighting_of: UUID | None = Field(None, description="the entry or memory that it repeats")
    sightings: tuple[SightingView, ...] | None = Field(
        None, description="outputs that say the same; only when a single output is read"
    )

    statements: tuple[StatementView, ...] | None = Field(
        None, description="the segments of the content with their kinds; of one row only, and once it was segmented"
    )
    unsegmented_from: int | None = Field(
        None, description="where the rest of the content begins that is too long to be segmented; of one row only"
    )
    segmented_by: str | None = Field(
        None, description="what found the statements: rules, or the name of the digest model"
    )
    segmenter_problem: str | None = Field(
        None, description="the code of the error for which the digest model did not find the statements"
    )

    @classmethod
    def from_record(cls, row: QuarantineRow, language: Language) -> Self:
        capture, sightings, statements = row.capture, row.sightings, row.statements
        return cls.read(
            capture,
            admission=row.admission,
            attempts=row.attempts,
            next_try_at=row.next_try_at,
            settled_at=row.settled_at,
            flags=row.flags,
            verdicts=VerdictView.from_records(row.verdicts, language),
            content_shown=escape_hidden(capture.content),
            removed_at=row.removed_at,
            sighting_of=row.sighting_of,
            sightings=None if sightings is None else [SightingView.from_record(each, capture) for each in sightings],
            statements=None
            if statements is None
            else [StatementView.from_record(each, capture.content) for each in statements],
            unsegmented_from=_find_unsegmented(capture.content, statements),
            segmented_by=row.segmented_by,
            segmenter_problem=row.segmenter_problem,
        )

    def to_record(self) -> QuarantineRow:
        """The row without vectors."""
        from clearwell.records import Capture, QuarantineRow

        sightings, statements = self.sightings, self.statements
        return self.make(
            QuarantineRow,
            capture=self.make(Capture),
            verdicts=tuple(verdict.to_record() for verdict in self.verdicts),
            sightings=None if sightings is None else tuple(each.to_record() for each in sightings),
            statements=None
            if statements is None
            else tuple(each.to_record(self.id, number) for number, each in enumerate(statements)),
        )


class QuarantinePageView(View):
    """Outputs, newest first. next, if not null, is the value of before for the next page.

    There can be fewer rows than asked for although next is not null: a page compares a limited number of outputs.
    """

    rows: tuple[QuarantineRowView, ...]
    next: UUID | None

    @classmethod
    def from_record(cls, page: QuarantinePage, language: Language) -> Self:
        return cls(rows=tuple(QuarantineRowView.from_record(row, language) for row in page.rows), next=page.next)

    def to_record(self) -> QuarantinePage:
        from clearwell.records import QuarantinePage

        return QuarantinePage(rows=tuple(row.to_record() for row in self.rows), next=self.next)


class RequeuedRowView(View):
    """An output that is queued again, and its former state."""

    id: UUID
    was: Admission


class WorkingStateView(View):
    """Where an output is in working memory now. The times are those of a live entry."""

    state: OutputState
    expires_at: datetime | None
    expires_in_seconds: float | None


class TracedOutputView(QuarantineRowView):
    """An output with its state in working memory, as ``clearwell explain`` prints it."""

    working: WorkingStateView


class RequeuedView(View):
    """How many outputs are queued again, and whether there are more."""

    requeued: int
    more: bool

    @classmethod
    def from_record(cls, requeued: Requeued) -> Self:
        return cls(requeued=requeued.rows, more=requeued.more)

    def to_record(self) -> Requeued:
        from clearwell.records import Requeued

        return Requeued(rows=self.requeued, more=self.more)
