"""Dossiers: an insight with everything that a reviewer needs to decide on it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from pydantic import Field

from clearwell.messages import Language, say
from clearwell.text.hidden_text import escape_hidden
from clearwell.views.decisions import DecisionView
from clearwell.views.insights import InsightView, read_review
from clearwell.views.provenance import PromotionView
from clearwell.views.view import View
from clearwell.vocabulary import Scope

if TYPE_CHECKING:
    from clearwell.records import Dossier, NearbyMemory, Rejection


class DiffPieceView(View):
    """Words that two texts share, or that only one of them has."""

    op: str = Field(examples=["equal", "insert", "delete"])
    text: str


class NearbyMemoryView(View):
    """A verified memory that is similar to an insight. The diff is from the memory to the insight."""

    id: UUID
    group_id: str
    content: str
    content_shown: str
    chunk_no: int
    promotion_id: UUID
    scope: Scope
    session_id: str | None
    agent_id: str | None
    author: str | None
    metadata: dict[str, Any]
    flags: tuple[str, ...] = Field((), description="what its source had, such as hidden_text")
    occurred_at: datetime | None
    created_at: datetime
    promoted_at: datetime | None
    embedding_model: str
    similarity: float
    relation: str = Field(examples=["duplicates", "contradicts", "supersedes", "near"])
    why: str
    why_code: str
    params: dict[str, Any] = Field(description="what the reason refers to")
    diff: tuple[DiffPieceView, ...]

    @classmethod
    def from_record(cls, nearby: NearbyMemory, language: Language) -> Self:
        return cls.read(
            nearby.memory,
            content_shown=escape_hidden(nearby.memory.content),
            similarity=nearby.similarity,
            relation=nearby.relation,
            why=nearby.explanation(language),
            why_code=nearby.reason,
            params=nearby.params,
            diff=tuple(DiffPieceView.read(piece) for piece in nearby.diff),
        )

    def to_record(self) -> NearbyMemory:
        """The memory without its vector, and its relation to the insight."""
        from clearwell.records import DiffPiece, Memory, NearbyMemory

        return self.make(
            NearbyMemory,
            memory=self.make(Memory),
            reason=self.why_code,
            diff=tuple(piece.make(DiffPiece) for piece in self.diff),
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

    def to_record(self) -> Rejection:
        from clearwell.records import Rejection

        return self.make(Rejection)


class DossierView(InsightView):
    """An insight with everything that a reviewer needs."""

    nearby: tuple[NearbyMemoryView, ...]
    duplicates: tuple[RelatedMemoryView, ...]
    contradicts: tuple[RelatedMemoryView, ...]
    supersedes: tuple[RelatedMemoryView, ...] = Field(description="the memories that it contradicts and that are older")
    rejected: RejectionView | None
    decisions: tuple[DecisionView, ...]
    promotion: PromotionView | None
    degraded: tuple[str, ...]

    @classmethod
    def from_dossier(cls, dossier: Dossier, language: Language, key_names: Mapping[str, str]) -> Self:
        rejected, promotion = dossier.rejected, dossier.promotion
        return cls.read(
            dossier.insight,
            **read_review(dossier.insight, language, flags=dossier.flags, verdicts=dossier.verdicts),
            nearby=tuple(NearbyMemoryView.from_record(nearby, language) for nearby in dossier.nearby),
            **{
                relation: tuple(RelatedMemoryView.from_record(nearby, language) for nearby in dossier.related(relation))
                for relation in ("duplicates", "contradicts", "supersedes")
            },
            rejected=None if rejected is None else RejectionView.from_record(rejected, language, key_names),
            decisions=tuple(DecisionView.from_record(decision, key_names) for decision in dossier.decisions),
            promotion=None if promotion is None else PromotionView.from_record(promotion, language, key_names),
            degraded=dossier.degraded,
        )

    def to_dossier(self) -> Dossier:
        """The dossier without vectors. Its insight has the flags of the dossier, and sources with their verdicts."""
        from clearwell.records import Dossier

        insight = self.to_record()
        return self.make(
            Dossier,
            insight=insight,
            verdicts={source.log_id: source.verdicts for source in insight.sources},
            nearby=tuple(nearby.to_record() for nearby in self.nearby),
            rejected=None if self.rejected is None else self.rejected.to_record(),
            decisions=tuple(decision.to_record() for decision in self.decisions),
            promotion=None if self.promotion is None else self.promotion.to_record(),
        )
