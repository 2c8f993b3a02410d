"""Digests: their state and their insights."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from pydantic import Field

from clearwell.messages import Language
from clearwell.views.insights import DigestInsightView
from clearwell.views.view import View, is_absent
from clearwell.vocabulary import DigestStatus

if TYPE_CHECKING:
    from clearwell.records import Digest


class DigestRequestView(View):
    """The digest that was requested."""

    id: UUID
    group_id: str
    status: DigestStatus


class DigestSummaryView(DigestRequestView):
    """The state of a digest."""

    progress: float = Field(description="0 to 1")
    note: str | None = Field(description="the current stage, the reason for waiting or failure, or the result")
    note_code: str | None
    note_params: dict[str, Any] = Field(default_factory=dict, description="what the note refers to")
    requested_by: str
    due_at: datetime | None = Field(description="the scheduled time; null if a person requested it")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    attempts: int
    report: dict[str, Any] = Field(description="counts of outputs, texts and groups of texts")

    @classmethod
    def from_record(cls, digest: Digest, language: Language) -> Self:
        return cls.read(digest, **_read_summary(digest, language))

    def to_record(self) -> Digest:
        from clearwell.records import Digest

        return self.make(Digest, note=self.note_code)


class DigestPageView(View):
    """Digests, newest first. next, if not null, is the value of before for the next page."""

    digests: tuple[DigestSummaryView, ...]
    next: UUID | None

    @classmethod
    def from_records(cls, digests: Sequence[Digest], limit: int, language: Language) -> Self:
        """A page of ``limit`` digests, made from one more if there is one."""
        views = tuple(DigestSummaryView.from_record(digest, language) for digest in digests[:limit])
        return cls(digests=views, next=views[-1].id if len(digests) > limit else None)


class DigestView(DigestSummaryView):
    """A digest, with its insights when its status is done."""

    insights: tuple[DigestInsightView, ...] | None = Field(None, exclude_if=is_absent)

    @classmethod
    def from_record(cls, digest: Digest, language: Language) -> Self:
        done = digest.status is DigestStatus.DONE
        insights = tuple(DigestInsightView.from_record(insight, language) for insight in digest.insights)
        return cls.read(digest, **_read_summary(digest, language), insights=insights if done else None)

    def to_record(self) -> Digest:
        from clearwell.records import Digest

        insights = tuple(insight.to_record() for insight in self.insights or ())
        return self.make(Digest, note=self.note_code, insights=insights)


def _read_summary(digest: Digest, language: Language) -> dict[str, object]:
    """The parts of a digest that are not its own attributes."""
    return {"progress": round(digest.progress, 4), "note": digest.explanation(language), "note_code": digest.note}
