"""Dossiers: an insight with everything that a reviewer needs to decide on it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Self
from uuid import UUID

from pydantic import Field

from clearwell.messages import Language, say
from clearwell.text.hidden_text import escaped
from clearwell.views.decisions import DecisionView
from clearwell.views.insights import InsightView, read_review
from clearwell.views.view import View
from clearwell.vocabulary import Scope

if TYPE_CHECKING:
    from clearwell.records import Dossier, NearbyMemory, PromotionState, Rejection


class DiffPieceView(View):
    """Words that two texts share, or that only one of them has."""

    op: str = Field(examples=["equal", "insert", "delete"])
    text: str


class NearbyMemoryView(View):
    """A verified memory that is similar to an insight. The diff is from the memory to the insight."""

    id: UUID
    content: str
    content_shown: str
    chunk_no: int
    scope: Scope
    author: str | None
    occurred_at: datetime | None
    promoted_at: datetime | None
    similarity: float
    relation: str = Field(examples=["duplicates", "contradicts", "supersedes", "near"])
    why: str
    diff: tuple[DiffPieceView, ...]

    @classmethod
    def from_record(cls, nearby: NearbyMemory, language: Language) -> Self:
        return cls.read(
            nearby.memory,
            content_shown=escaped(nearby.memory.content),
            similarity=nearby.similarity,
            relation=nearby.relation,
            why=nearby.explanation(language),
            diff=tuple(DiffPieceView.read(piece) for piece in nearby.diff),
        )


class RelatedMemoryView(View):
    """A memory that an insight duplicates, contradicts or would supersede."""

    id: UUID
    why: str
    similarity: float

    @classmethod
    def from_record(cls, nearby: NearbyMemory, language: Language) -> Self:
        return cls(id=nearby.memory.id, why=nearby.explanation(language), similarity=nearby.similarity)


class RejectionView(View):
    """A rejected text that is similar to the insight."""

    at: datetime
    by: str
    by_name: str
    reason: str
    similarity: float
    text: str

    @classmethod
    def from_record(cls, rejection: Rejection, language: Language, key_names: Mapping[str, str]) -> Self:
        text = say("rejected_before", language, at=f"{rejection.at:%Y-%m-%d}", reason=rejection.reason)
        return cls.read(rejection, by_name=key_names.get(rejection.by, rejection.by), text=text)


class PromotionProgressView(View):
    """The state of the promotion of an insight."""

    id: UUID
    memory_id: UUID
    state: str = Field(examples=["verified", "promoting", "withdrawn"])
    problem: str | None = Field(description="why it is not verified yet")
    problem_code: str | None
    chunks: int

    @classmethod
    def from_record(cls, state: PromotionState, language: Language) -> Self:
        return cls.read(
            state.promotion,
            state=state.state,
            problem=state.explanation(language),
            problem_code=state.problem,
            chunks=state.chunks,
        )


class DossierView(InsightView):
    """An insight with everything that a reviewer needs."""

    beside: tuple[NearbyMemoryView, ...]
    duplicates: tuple[RelatedMemoryView, ...]
    contradicts: tuple[RelatedMemoryView, ...]
    supersedes: tuple[RelatedMemoryView, ...] = Field(description="the memories that it contradicts and that are older")
    rejected: RejectionView | None
    decisions: tuple[DecisionView, ...]
    promotion: PromotionProgressView | None
    degraded: tuple[str, ...]

    @classmethod
    def from_dossier(cls, dossier: Dossier, language: Language, key_names: Mapping[str, str]) -> Self:
        rejected, promotion = dossier.rejected, dossier.promotion
        return cls.read(
            dossier.insight,
            **read_review(dossier.insight, language, flags=dossier.flags, verdicts=dossier.verdicts),
            beside=tuple(NearbyMemoryView.from_record(nearby, language) for nearby in dossier.nearby),
            **{
                relation: tuple(RelatedMemoryView.from_record(nearby, language) for nearby in dossier.related(relation))
                for relation in ("duplicates", "contradicts", "supersedes")
            },
            rejected=None if rejected is None else RejectionView.from_record(rejected, language, key_names),
            decisions=tuple(DecisionView.from_record(decision, key_names) for decision in dossier.decisions),
            promotion=None if promotion is None else PromotionProgressView.from_record(promotion, language),
            degraded=dossier.degraded,
        )
