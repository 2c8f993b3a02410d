"""Digests: their runs, their material, and the writer of insights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from clearwell.records import (
    AuditEvent,
    Digest,
    DigestRow,
    Insight,
    Metadata,
    Vector,
    WriterSource,
    WrittenInsight,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The schedule of a group. ``since`` is when it was set or the first output was captured, whichever is later."""

    group_id: str
    since: datetime
    cron: str | None
    zone: str | None


class AddDueResult(StrEnum):
    """The result of adding a scheduled run: added, already there, or the group has another unfinished run."""

    ADDED = "added"
    ALREADY_ADDED = "already_added"
    BUSY = "busy"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDigest:
    """The ids of an unfinished run."""

    group_id: str
    digest_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestAttempt:
    """One attempt at a run, by its number. Once a later attempt has begun, an earlier one can no longer write."""

    group_id: str
    digest_id: UUID
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateFilter:
    """Selects the rows that a digest considers. Vectors of another embedding model than ``model`` are left out."""

    group_id: str
    model: str
    without_types: Sequence[str] = ()
    most_considered: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownVector:
    """A text that the group already has, with its vector."""

    id: UUID
    content: str
    embedding: Vector = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class UndecidedVector(KnownVector):
    """An insight without a decision, and the rows that it is based on, each with its statements that are sources."""

    has_sides: bool
    rows: tuple[DigestRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedVector:
    """A rejected text: reason, time and vector. The text itself is not kept."""

    reason: str
    at: datetime
    embedding: Vector = field(compare=False, repr=False)


class DigestStore(Protocol):
    """Request and read digests."""

    async def request(self, digest: Digest, *, event: AuditEvent) -> Digest:
        """Add this run, or return the unfinished run of the group if there is one."""
        ...

    async def get(self, group_id: str, digest_id: UUID) -> Digest | None:
        """Return a run with its insights and their sources."""
        ...

    async def page(self, group_id: str, *, before: UUID | None = None, limit: int = 50) -> Sequence[Digest]:
        """Return a page, newest first, without insights. ``before`` is the last id of the previous page."""
        ...

    async def find_group(self, digest_id: UUID) -> str | None:
        """Return the group of a run."""
        ...


class DigestRuns(Protocol):
    """The runs of the worker: schedules, leases and results."""

    async def list_schedules(self) -> Sequence[Schedule]:
        """Return the schedule of every group that has captured outputs."""
        ...

    async def add_due(self, digest: Digest, *, event: AuditEvent) -> AddDueResult:
        """Add a scheduled run, unless it was added before or the group has an unfinished run."""
        ...

    async def find_due(self, *, at: datetime) -> Sequence[OpenDigest]:
        """Return the unfinished runs of all groups that are due and not leased, oldest first."""
        ...

    async def claim(self, group_id: str, digest_id: UUID, *, at: datetime, until: datetime) -> Digest | None:
        """Begin the next attempt and lease the run until then. Returns None if it is not due, or leased by another."""
        ...

    async def renew(self, attempt: DigestAttempt, *, until: datetime) -> bool:
        """Extend the lease of an attempt. Returns False if a later attempt has begun."""
        ...

    async def release(self, attempt: DigestAttempt) -> bool:
        """End the lease, so that the next attempt can begin. Returns False if a later attempt has begun."""
        ...

    async def report(self, attempt: DigestAttempt, *, progress: float, note: str, params: Metadata) -> bool:
        """Record the progress. Returns False if a later attempt has begun."""
        ...

    async def postpone(self, attempt: DigestAttempt, *, again: datetime, note: str, params: Metadata) -> bool:
        """Schedule the next attempt, with the reason. Returns False if a later attempt has begun."""
        ...

    async def fail(
        self, attempt: DigestAttempt, *, at: datetime, note: str, params: Metadata, event: AuditEvent
    ) -> bool:
        """End the run as failed, with the reason. Returns False if a later attempt has begun."""
        ...

    async def finish(
        self,
        attempt: DigestAttempt,
        digest: Digest,
        insights: Sequence[Insight],
        *,
        considered: Sequence[UUID],
        replaced: Mapping[UUID, UUID],
        event: AuditEvent,
    ) -> bool:
        """Store the insights, mark the rows as considered, and end the run, in one transaction.

        ``replaced`` has the earlier insights that become part of a new one, by id; those that were decided meanwhile
        stay as they are. Returns False if a later attempt has begun. ``digest`` has the report, the note and the end.
        """
        ...


class DigestMaterial(Protocol):
    """The material of a digest."""

    async def count_unsettled(self, group_id: str) -> int:
        """Return the number of rows that wait for admission or for their statements, without those that wait for a
        judge."""
        ...

    async def count_rows(self, where: CandidateFilter) -> int:
        """Return the number of rows that may have candidates."""
        ...

    async def list_rows(self, where: CandidateFilter, *, after: UUID | None, limit: int) -> Sequence[DigestRow]:
        """Return a page of rows by id: checked and segmented rows that are not decided on as a whole, not considered
        too often, and not echoes. Each has the claims and decisions that are not part of an insight."""
        ...

    async def read_contents(self, group_id: str, log_ids: Sequence[UUID]) -> Mapping[UUID, str]:
        """Return the contents of rows."""
        ...

    async def has_rows(self, group_id: str) -> bool:
        """Return whether anything was ever captured in this group."""
        ...

    async def list_verified(self, group_id: str, model: str) -> Sequence[KnownVector]:
        """Return the chunks of all valid memories of the group."""
        ...

    async def list_undecided(self, group_id: str, model: str) -> Sequence[UndecidedVector]:
        """Return the insights without a decision, by id. Only the newest have their rows."""
        ...

    async def list_rejected(self, group_id: str, model: str) -> Sequence[RejectedVector]:
        """Return the rejected texts that have a vector."""
        ...

    async def count_decisions(self, group_id: str) -> Mapping[str, tuple[int, int]]:
        """Return for each agent how many insights based on its outputs were promoted and rejected."""
        ...

    async def list_refused_values(self, group_id: str) -> frozenset[bytes]:
        """Return the hashes of all texts with a tombstone in force."""
        ...


class InsightWriter(Protocol):
    """Writes the headline of an insight from its sources. Each sentence cites the sources that it is based on."""

    @property
    def model(self) -> str: ...

    async def write(self, sources: Sequence[WriterSource]) -> WrittenInsight:
        """Write the headline, in one attempt. Raises WriterUnavailable; the caller then quotes the sources."""
        ...
