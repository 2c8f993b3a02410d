"""Review: the transaction in which one person at a time decides in a group, and what reviewers read."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import date, datetime
from typing import Protocol
from uuid import UUID

from clearwell.ports.access import Claim
from clearwell.records import (
    ActivityDay,
    AuditEvent,
    CalibrationRow,
    Decision,
    DependentMemory,
    Insight,
    InsightState,
    Json,
    ListedMemory,
    Memory,
    MemoryState,
    Origin,
    Promotion,
    PromotionState,
    Provenance,
    ReviewCounts,
    ReviewStatistics,
    SourceSelector,
    Tombstone,
    Vector,
)
from clearwell.vocabulary import IdKind

TOMBSTONED = "promotion_tombstoned"
"""The problem of a waiting promotion whose value was refused after it was decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingPromotion:
    """A promotion whose chunks are still to be made."""

    group_id: str
    promotion_id: UUID


@dataclass(frozen=True, slots=True)
class PromotionKey:
    """What makes two promotions the same: the fingerprint of the text, or the output or insight it comes from."""

    fingerprint: bytes
    origin_id: UUID | None


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """A decision, and whether a later one undid it."""

    decision: Decision
    undone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """Which memories of a group to list. What is not set does not matter.

    ``agent_id`` finds the memories of an agent and those that it said, ``session_id`` those of a session and those that
    rest on what was said in it, ``words`` a part of the text in any case of letters. ``disputed``: only those that
    contradict another one. ``unused``: only those that no agent was ever given.
    """

    state: MemoryState | None = None
    origin: Origin | None = None
    agent_id: str | None = None
    session_id: str | None = None
    promoted_by: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    words: str | None = None
    disputed: bool = False
    unused: bool = False
    ids: Sequence[UUID] | None = None


class DecisionTransaction(Protocol):
    """One group's insights, decisions and long-term memory while nobody else decides there.

    Everything is committed when the block of ``DecisionStore.transaction`` ends, and nothing when it raises. Writes are
    collected and sent with the next read or at the end of the block, so that an error of the store can appear there.
    """

    # insights

    async def find_insights(self, ids: Sequence[UUID]) -> Mapping[UUID, Insight]:
        """The insights that exist among these, with their sources."""
        ...

    async def find_flagged_insights(self, flag: str) -> Sequence[Insight]:
        """All insights with this flag."""
        ...

    async def update_insight(self, insight: Insight) -> None:
        """Store everything of an insight that a decision can change; its sources change by merging only."""
        ...

    async def merge_sources(self, insight_id: UUID, others: Sequence[UUID]) -> None:
        """Add the sources of other insights to this one."""
        ...

    async def separate_sources(self, insight_id: UUID, others: Sequence[UUID]) -> None:
        """Remove the sources that came from other insights."""
        ...

    async def mark_decided(self, marks: Mapping[UUID, UUID]) -> None:
        """Mark quarantine rows as judged by an insight or a decision. A row that is marked keeps its mark."""
        ...

    async def clear_judged(self, *, by: UUID) -> None:
        """Remove the marks of an insight, a decision or a promotion."""
        ...

    # decisions

    async def find_decision(self, decision_id: UUID) -> Decision | None: ...

    async def find_last_decision(self, insight_id: UUID) -> Decision | None:
        """The last decision on this insight that is not undone, including a merge into another one."""
        ...

    async def is_undone(self, decision_id: UUID) -> bool: ...

    async def find_promoting_decisions(self, memory_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[RecordedDecision]]:
        """For each of these memories, every decision that made it or found it made, the oldest first."""
        ...

    async def find_superseding_decisions(self, memory_ids: Sequence[UUID]) -> Mapping[UUID, Decision]:
        """For each of these memories that was replaced, the last decision to do so that is not undone."""
        ...

    async def find_retracting_decision(self, memory_id: UUID) -> Decision | None:
        """The last retraction of this memory that is not undone."""
        ...

    async def find_rejecting_decisions(self, tombstone_id: UUID) -> Sequence[RecordedDecision]:
        """Every decision that made this tombstone or found it made."""
        ...

    async def record_decisions(self, decisions: Sequence[tuple[Decision, AuditEvent]]) -> None:
        """Store decisions with their audit events. Raises Unauthenticated if the key of one of them was revoked."""
        ...

    async def record_event(self, event: AuditEvent) -> None:
        """Store an audit event that belongs to no decision."""
        ...

    # promotions and long-term memory

    async def find_promotions(self, memory_ids: Sequence[UUID]) -> Mapping[UUID, PromotionState]:
        """By memory: its promotion, and whether it is valid."""
        ...

    async def find_duplicates(self, keys: Sequence[PromotionKey]) -> Mapping[PromotionKey, PromotionState]:
        """Return by key the promotion of the same content that is valid or waiting.

        Of several, the one from the same origin is preferred.
        """
        ...

    async def list_duplicates(self, key: PromotionKey) -> Sequence[PromotionState]:
        """All promotions of the same thing, valid or not, the oldest first."""
        ...

    async def insert_promotions(self, promotions: Sequence[tuple[Promotion, Sequence[Memory] | None]]) -> None:
        """Store promotions with their chunks. A promotion without chunks (None) waits for them."""
        ...

    async def insert_conflicts(self, pairs: Sequence[tuple[UUID, UUID]], *, at: datetime) -> None:
        """Record that the memories of each pair contradict each other. A pair that is recorded stays as it is."""
        ...

    async def withdraw_memories(self, memory_ids: Sequence[UUID], *, at: datetime) -> None:
        """End the validity of memories, and of promotions that still wait. History is kept."""
        ...

    async def restore_memories(self, memory_ids: Sequence[UUID], *, at: datetime) -> None:
        """Make withdrawn memories valid again, at their old places. That they were not valid until now is kept.

        A promotion that was withdrawn before its chunks were made waits for them again.
        """
        ...

    async def retry_refused_promotions(self, *, at: datetime) -> None:
        """Make the waiting promotions due whose value was refused."""
        ...

    # tombstones

    async def find_tombstones(self, value_hashes: Sequence[bytes]) -> Mapping[bytes, Tombstone]:
        """The tombstones that are in force for these values."""
        ...

    async def find_nearest_tombstone(self, embedding: Vector, model: str) -> tuple[Tombstone, float] | None:
        """The rejected value that is most similar to this vector, and the cosine."""
        ...

    async def insert_tombstone(
        self, tombstone: Tombstone, value_hash: bytes, *, embedding: Vector | None, model: str | None
    ) -> bool:
        """Reject a value. Returns False if it already has a tombstone in force."""
        ...

    async def lift_tombstone(self, tombstone_id: UUID, *, by: str, at: datetime) -> bool:
        """Lift a tombstone. Returns False if there is none that can be lifted."""
        ...

    # idempotency

    async def store_answer(self, claim: Claim, answer: Json) -> None:
        """Store the answer for a repeated request. Raises RequestInProgress if the claim was lost."""
        ...


class DecisionStore(Protocol):
    """Transactions for reviewers, and for the worker the promotions that reviewers left waiting."""

    def transaction(self, group_id: str) -> AbstractAsyncContextManager[DecisionTransaction]:
        """Lock this group until the block ends. An error within the block rolls everything back."""
        ...

    async def list_waiting(self, *, limit: int) -> Sequence[WaitingPromotion]:
        """Promotions of any group whose chunks are due."""
        ...

    async def read_waiting(self, waiting: WaitingPromotion) -> Promotion | None:
        """Return the promotion, or None if it no longer waits."""
        ...

    async def complete_waiting(
        self,
        waiting: WaitingPromotion,
        chunks: Sequence[Memory],
        *,
        value_hashes: Sequence[bytes],
        conflicts_with: Sequence[UUID] = (),
        event: AuditEvent,
    ) -> bool:
        """Store the chunks of a waiting promotion, and withdraw in the same transaction what it replaces.

        Returns False if it no longer waits, or one of these values was rejected in the meantime.
        """
        ...

    async def postpone_waiting(self, waiting: WaitingPromotion, *, problem: str) -> None:
        """Count a failed attempt and set the time of the next one, later each time."""
        ...


class ReviewStore(Protocol):
    """The insights and decisions that reviewers read."""

    async def group_of(self, kind: str, one: UUID) -> str | None:
        """The group of an ``insight``, ``decision``, ``memory`` or quarantine ``row`` that is named by its id alone."""
        ...

    async def find_ids(self, group_id: str, kind: IdKind, ending: str, *, limit: int) -> Sequence[UUID]:
        """The ids of this kind in a group that end with these characters, in order."""
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

    async def valid_texts(self, group_id: str, *, after: UUID | None, limit: int) -> Sequence[tuple[UUID, str]]:
        """The valid memories of the group and of its agents, by id, each with its whole text."""
        ...

    async def promotions(self, group_id: str, memory_ids: Sequence[UUID]) -> Sequence[PromotionState]:
        """How these memories came to be, and whether they are valid."""
        ...


class ProvenanceStore(Protocol):
    """The promoted memories, and which of them are based on which outputs, in both directions."""

    async def list_memories(
        self, group_id: str, *, where: MemoryFilter, before: UUID | None = None, limit: int = 50
    ) -> Sequence[ListedMemory]:
        """Return memories, the newest promotion first. ``before`` is the promotion at which the last page ended."""
        ...

    async def origin(self, group_id: str, memory_id: UUID) -> Provenance | None:
        """A memory down to the raw outputs."""
        ...

    async def influence(self, group_id: str, log_id: UUID) -> Provenance | None:
        """Return the provenance of an output, up to the memories that are based on it."""
        ...

    async def find_dependents(self, group_id: str, selector: SourceSelector) -> Sequence[DependentMemory]:
        """Return the valid memories that are based on a source, or match by their own session, author, agent or id."""
        ...


class StatisticsStore(Protocol):
    """The figures of review, and what they are counted from beside decisions: which memories retrieval returned."""

    async def calibration(self, group_id: str) -> Sequence[CalibrationRow]: ...

    async def statistics(self, group_id: str) -> ReviewStatistics: ...

    async def counts(self, group_id: str, *, now: datetime) -> ReviewCounts:
        """What a group has at this moment."""
        ...

    async def activity(self, group_id: str, *, first: date, last: date) -> Sequence[ActivityDay]:
        """Each day from the first to the last, in UTC, also those on which nothing happened."""
        ...

    async def groups(self, *, limit: int) -> Sequence[str]:
        """Groups that have insights or decisions, by name."""
        ...

    async def note_uses(self, group_id: str, uses: Mapping[UUID, datetime]) -> None:
        """Record when memories were given to an agent, all on one day in UTC. Other ids are ignored.

        A use that is older than the last one that is recorded changes nothing.
        """
        ...
