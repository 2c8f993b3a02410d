"""Review: the transaction in which one person at a time decides in a group, and what reviewers read."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from clearwell.ports.access import Claim
from clearwell.records import (
    AuditEvent,
    CalibrationRow,
    Decision,
    DependentMemory,
    Insight,
    InsightState,
    Json,
    Memory,
    NewMemory,
    Promotion,
    PromotionState,
    Provenance,
    ReviewStatistics,
    SourceSelector,
    Tombstone,
    Vector,
)

TOMBSTONED = "promotion_tombstoned"
"""Why a promotion waits whose value was refused after it was decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingPromotion:
    """A promotion whose chunks are still to be made."""

    group_id: str
    promotion_id: UUID


class DecisionTransaction(Protocol):
    """One group's insights and knowledge while nobody else decides there. Committed when the block ends, or not."""

    async def find_insights(self, ids: Sequence[UUID]) -> Mapping[UUID, Insight]:
        """Those of these that there are, with their sources."""
        ...

    async def find_decision(self, decision_id: UUID) -> Decision | None: ...

    async def find_last_decision(self, insight_id: UUID) -> Decision | None:
        """The last decision on this insight that is not undone: also a merge that took it in."""
        ...

    async def is_undone(self, decision_id: UUID) -> bool: ...

    async def find_promoting_decisions(self, memory_id: UUID) -> Sequence[tuple[Decision, bool]]:
        """Every decision that made this memory or found it made, and whether it is undone."""
        ...

    async def find_superseding_decision(self, memory_id: UUID) -> Decision | None:
        """The last decision that replaced this memory and is not undone."""
        ...

    async def find_retracting_decision(self, memory_id: UUID) -> Decision | None:
        """The last retraction of this memory that is not undone."""
        ...

    async def find_tombstone(self, digests: Sequence[bytes]) -> Tombstone | None:
        """The tombstone that stands for one of these values."""
        ...

    async def find_duplicate(self, text: NewMemory, fingerprint: bytes) -> PromotionState | None:
        """The promotion that made the same thing knowledge, or that came from the same origin, where it still holds.

        Of several the one from the same origin: by itself, or by a decision that found it made.
        """
        ...

    async def list_duplicates(self, text: NewMemory, fingerprint: bytes) -> Sequence[PromotionState]:
        """The same, whether they hold or not, the oldest first."""
        ...

    async def find_promotions(self, memory_ids: Sequence[UUID]) -> Mapping[UUID, PromotionState]:
        """By memory: how it came to be, and whether it holds."""
        ...

    async def insert_promotions(self, promotions: Sequence[tuple[Promotion, Sequence[Memory] | None]]) -> None:
        """Decisions with their chunks. Without chunks (None) the promotion waits for them."""
        ...

    async def withdraw_memories(self, memory_ids: Sequence[UUID], *, at: datetime) -> None:
        """End the validity of memories, and of promotions that still wait. History is kept."""
        ...

    async def restore_memories(self, memory_ids: Sequence[UUID], *, at: datetime) -> None:
        """Make withdrawn memories valid again, at their old places. That they did not hold until now is kept.

        What was withdrawn before its chunks were made waits for them again.
        """
        ...

    async def update_insight(self, insight: Insight) -> None:
        """Store state, version, summary, writer, vector, support, flags, contradictions, and what it waits for."""
        ...

    async def merge_sources(self, insight_id: UUID, others: Sequence[UUID]) -> None:
        """Give an insight the sources of others too."""
        ...

    async def separate_sources(self, insight_id: UUID, others: Sequence[UUID]) -> None:
        """Take back the sources that came from others."""
        ...

    async def mark_judged(self, log_ids: Sequence[UUID], *, by: UUID) -> None:
        """Mark rows as judged, by an insight or a promotion."""
        ...

    async def clear_judged(self, *, by: UUID) -> None:
        """Take the marks of an insight or a promotion away."""
        ...

    async def insert_tombstone(
        self, tombstone: Tombstone, digest: bytes, *, embedding: Vector | None, model: str | None
    ) -> UUID | None:
        """The tombstone's id; None where one stands for the value."""
        ...

    async def lift_tombstone(self, tombstone_id: UUID, *, by: str, at: datetime) -> bool:
        """False where there is none that can be lifted."""
        ...

    async def find_rejecting_decisions(self, tombstone_id: UUID) -> Sequence[tuple[Decision, bool]]:
        """Every decision that made this tombstone or found it made, and whether it is undone."""
        ...

    async def find_nearest_tombstone(self, embedding: Vector, model: str) -> tuple[Tombstone, float] | None:
        """The rejected value that is most like this, and how much."""
        ...

    async def find_flagged_insights(self, flag: str) -> Sequence[Insight]:
        """The insights with this flag."""
        ...

    async def retry_refused_promotions(self, *, at: datetime) -> None:
        """Make due what waited because its value was refused."""
        ...

    async def record_decision(self, decision: Decision | None, event: AuditEvent) -> None: ...

    async def store_answer(self, claim: Claim, answer: Json) -> None:
        """Keep the answer to a repeated request. Raises StillRunning where the claim was lost."""
        ...


class DecisionStore(Protocol):
    """The reviewer's hand, and the worker's for what a reviewer left to it."""

    def transaction(self, group_id: str) -> AbstractAsyncContextManager[DecisionTransaction]:
        """Be alone with this group's decisions until the block ends. An error within it undoes everything."""
        ...

    async def waiting(self, *, limit: int) -> Sequence[WaitingPromotion]:
        """Promotions of any group whose chunks are due."""
        ...

    async def load(self, one: WaitingPromotion) -> Promotion | None:
        """A waiting promotion; None where nothing waits by that id any more."""
        ...

    async def carry_out(
        self, one: WaitingPromotion, chunks: Sequence[Memory], *, digests: Sequence[bytes], event: AuditEvent
    ) -> bool:
        """Store the chunks of a waiting promotion, and withdraw in the same moment what it replaces.

        False where it does not wait any more, or one of these values was refused meanwhile.
        """
        ...

    async def postpone(self, one: WaitingPromotion, *, problem: str) -> None:
        """Count a failed try and set when to try again, later each time."""
        ...


class ReviewStore(Protocol):
    """What reviewers read."""

    async def group_of(self, kind: str, one: UUID) -> str | None:
        """The group of an ``insight``, ``decision``, ``memory`` or quarantine ``row`` that is named by its id alone."""
        ...

    async def insights(
        self,
        group_id: str,
        *,
        now: datetime,
        state: InsightState | None = None,
        before: UUID | None = None,
        limit: int = 50,
    ) -> Sequence[Insight]:
        """The newest digest first, the best of each first.

        A snoozed insight whose time has come is pending; a promoted one whose memory is still to come is promoting.
        """
        ...

    async def insight(self, group_id: str, insight_id: UUID) -> Insight | None: ...

    async def decisions(
        self, group_id: str, *, insight_id: UUID | None = None, before: UUID | None = None, limit: int = 50
    ) -> Sequence[Decision]:
        """Newest first."""
        ...

    async def promotions(self, group_id: str, memory_ids: Sequence[UUID]) -> Sequence[PromotionState]:
        """How these memories came to be, and whether they hold."""
        ...

    async def origin(self, group_id: str, memory_id: UUID) -> Provenance | None: ...

    async def influence(self, group_id: str, log_id: UUID) -> Provenance | None: ...

    async def find_dependents(self, group_id: str, what: SourceSelector) -> Sequence[DependentMemory]:
        """The memories that hold and rest on it, by a decision that stands or by their own session, author or agent."""
        ...

    async def calibration(self, group_id: str) -> Sequence[CalibrationRow]: ...

    async def statistics(self, group_id: str) -> ReviewStatistics: ...

    async def groups(self, *, limit: int) -> Sequence[str]:
        """Groups that have insights or decisions, by name."""
        ...

    async def note_uses(self, group_id: str, memory_ids: Sequence[UUID], *, at: datetime) -> None:
        """Keep that retrieval returned these. What is no memory is passed over."""
        ...
