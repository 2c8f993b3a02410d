"""Where memories come from, what is based on an output, and what a retraction withdraws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self
from uuid import UUID

from pydantic import Field

from clearwell.messages import Language
from clearwell.text.hidden_text import escape_hidden
from clearwell.views.captures import QuarantineRowView
from clearwell.views.decisions import DecisionView
from clearwell.views.insights import InsightView
from clearwell.views.view import View
from clearwell.vocabulary import Layer, MemoryState, Origin

if TYPE_CHECKING:
    from clearwell.records import (
        DependentMemory,
        ListedMemory,
        MemoryOrigin,
        PromotionState,
        Provenance,
        RetractionPreview,
    )


class PromotionView(View):
    """The promotion of a memory, and whether it is valid."""

    id: UUID = Field(description="the id of the promotion, not of the memory")
    group_id: str
    memory_id: UUID = Field(description="the id of the memory, by which every other route and command names it")
    state: MemoryState
    problem: str | None = Field(description="why it is not verified yet")
    problem_code: str | None
    content: str
    content_shown: str
    agent_id: str | None
    session_id: str | None
    author: str | None
    occurred_at: datetime | None
    metadata: dict[str, Any]
    flags: tuple[str, ...] = Field((), description="what its source had, such as hidden_text")
    origin: Origin
    origin_id: UUID | None
    supersedes: UUID | None
    decided_by: str
    decided_by_name: str
    decided_at: datetime
    valid_to: datetime | None
    chunks: int
    import_id: UUID | None = Field(description="the export that it was imported with, if it was promoted elsewhere")

    @classmethod
    def from_record(cls, state: PromotionState, language: Language, key_names: Mapping[str, str]) -> Self:
        return cls.read(state.promotion.text, **_read_promotion(state, language, key_names))

    def to_record(self) -> PromotionState:
        """The state of the promotion, without the fingerprint of its text."""
        from clearwell.records import NewMemory, Promotion, PromotionState

        promotion = self.make(Promotion, text=self.make(NewMemory))
        return self.make(
            PromotionState, promotion=promotion, waiting=self.state is MemoryState.PROMOTING, problem=self.problem_code
        )


class ListedMemoryView(PromotionView):
    """A promoted memory with its use."""

    days_used: int = Field(description="on how many days it was given to an agent")
    last_used_at: datetime | None = Field(description="when it was last given to an agent")
    conflicts_with: tuple[UUID, ...] = Field(description="the valid memories that it contradicts")
    superseded_by: UUID | None = Field(None, description="the memory that took its place, if it was superseded")

    @classmethod
    def from_listed(cls, memory: ListedMemory, language: Language, key_names: Mapping[str, str]) -> Self:
        state = memory.promotion
        return cls.read(
            state.promotion.text,
            **_read_promotion(state, language, key_names),
            days_used=memory.days_used,
            last_used_at=memory.last_used_at,
            conflicts_with=memory.conflicts_with,
            superseded_by=memory.superseded_by,
        )

    def to_listed(self) -> ListedMemory:
        from clearwell.records import ListedMemory

        return self.make(ListedMemory, promotion=self.to_record())


class MemoryPageView(View):
    """Promoted memories, newest first. next, if not null, is the value of before for the next page."""

    memories: tuple[ListedMemoryView, ...]
    next: UUID | None

    @classmethod
    def from_records(
        cls, memories: Sequence[ListedMemory], limit: int, language: Language, key_names: Mapping[str, str]
    ) -> Self:
        """A page of ``limit`` memories, made from one more if there is one."""
        views = tuple(ListedMemoryView.from_listed(memory, language, key_names) for memory in memories[:limit])
        return cls(memories=views, next=views[-1].id if len(memories) > limit else None)


class RestsOnView(View):
    """How many outputs a memory is based on."""

    meant: int = Field(description="outputs of that source, session or agent")
    others: int = Field(description="other outputs; the memory is withdrawn entirely in any case")


class DependentMemoryView(PromotionView):
    """A memory that would be withdrawn, and how many outputs it is based on."""

    rests_on: RestsOnView

    @classmethod
    def from_dependent(cls, dependent: DependentMemory, language: Language, key_names: Mapping[str, str]) -> Self:
        state = dependent.state
        return cls.read(
            state.promotion.text,
            **_read_promotion(state, language, key_names),
            rests_on=RestsOnView(meant=dependent.matching, others=dependent.others),
        )

    def to_dependent(self) -> DependentMemory:
        from clearwell.records import DependentMemory

        return DependentMemory(state=self.to_record(), matching=self.rests_on.meant, others=self.rests_on.others)


class RetractionPreviewView(View):
    """What would be withdrawn, and the token to do it."""

    status: Literal["listed"]
    memories: tuple[DependentMemoryView, ...]
    token: str
    entries: tuple[UUID, ...] = Field((), description="the entries of working memory that would be removed")

    @classmethod
    def from_record(cls, preview: RetractionPreview, language: Language, key_names: Mapping[str, str]) -> Self:
        memories = tuple(
            DependentMemoryView.from_dependent(dependent, language, key_names) for dependent in preview.memories
        )
        return cls(status="listed", memories=memories, token=preview.token, entries=preview.entries)

    def to_record(self) -> RetractionPreview:
        from clearwell.records import RetractionPreview

        memories = tuple(memory.to_dependent() for memory in self.memories)
        return RetractionPreview(memories=memories, token=self.token, entries=self.entries)


class SightingOfView(View):
    """The entry or memory that an output repeats."""

    id: UUID
    layer: Layer


class ProvenanceView(View):
    """The promotions, decisions, insights and outputs that belong to a memory or an output."""

    id: UUID = Field(description="the memory or the output in the request")
    promotions: tuple[PromotionView, ...]
    decisions: tuple[DecisionView, ...]
    insights: tuple[InsightView, ...]
    rows: tuple[QuarantineRowView, ...]
    sightings_of: tuple[SightingOfView, ...]
    conflicts_with: tuple[UUID, ...] = Field((), description="the valid memories that the memory contradicts")

    @classmethod
    def from_record(
        cls, asked_id: UUID, provenance: Provenance, language: Language, key_names: Mapping[str, str]
    ) -> Self:
        promotions = tuple(PromotionView.from_record(state, language, key_names) for state in provenance.promotions)
        return cls(
            id=asked_id,
            promotions=promotions,
            decisions=tuple(DecisionView.from_record(decision, key_names) for decision in provenance.decisions),
            insights=tuple(InsightView.from_record(insight, language) for insight in provenance.insights),
            rows=tuple(QuarantineRowView.from_record(row, language) for row in provenance.rows),
            sightings_of=tuple(SightingOfView(id=entry, layer=layer) for entry, layer in provenance.sightings_of),
            conflicts_with=provenance.conflicts_with,
        )

    def to_record(self) -> Provenance:
        from clearwell.records import Provenance

        return Provenance(
            promotions=tuple(promotion.to_record() for promotion in self.promotions),
            decisions=tuple(decision.to_record() for decision in self.decisions),
            insights=tuple(insight.to_record() for insight in self.insights),
            rows=tuple(row.to_record() for row in self.rows),
            sightings_of=tuple((sighting.id, sighting.layer) for sighting in self.sightings_of),
            conflicts_with=self.conflicts_with,
        )


class MemoryOriginView(View):
    """What agents may know of the origin of a memory. It has no text of an output."""

    memory_id: UUID
    group_id: str
    origin: Origin
    promoted_by: str
    promoted_by_name: str = Field(description="the name of the key that was used")
    promoted_at: datetime
    agents: tuple[str, ...] = Field(description="the agents whose outputs it is based on")
    outputs: int = Field(description="how many outputs it is based on; none if a person wrote it")
    supersedes: UUID | None
    conflicts_with: tuple[UUID, ...] = Field(description="the valid memories that it contradicts")
    import_id: UUID | None = Field(description="the export that it was imported with, if it was promoted elsewhere")

    def to_record(self) -> MemoryOrigin:
        from clearwell.records import MemoryOrigin

        return self.make(MemoryOrigin)


def _read_promotion(state: PromotionState, language: Language, key_names: Mapping[str, str]) -> dict[str, object]:
    """The parts of a promotion that are not attributes of its text."""
    promotion = state.promotion
    return {
        "id": promotion.id,
        "group_id": promotion.group_id,
        "memory_id": promotion.memory_id,
        "state": state.state,
        "problem": state.explanation(language),
        "problem_code": state.problem,
        "content_shown": escape_hidden(promotion.text.content),
        "supersedes": promotion.supersedes,
        "decided_by": promotion.decided_by,
        "decided_by_name": key_names.get(promotion.decided_by, promotion.decided_by),
        "decided_at": promotion.decided_at,
        "valid_to": state.valid_to,
        "chunks": state.chunks,
        "import_id": promotion.import_id,
    }
