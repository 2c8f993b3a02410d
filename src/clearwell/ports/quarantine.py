"""Tier 1 and the way out of it: captures, admissions, tombstones."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from clearwell.records import (
    Admission,
    AuditEvent,
    Capture,
    IdempotencyKey,
    IngressCount,
    QuarantineRow,
    Sighting,
    Tombstone,
    Vector,
    Verdict,
    WorkingEntry,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What became of a capture in quarantine: a new row, or the one an earlier try made."""

    id: UUID
    replayed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A row whose admission is work to do."""

    group_id: str
    log_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Who works on a row, and for how long without a renewal. Nobody else takes the row before the lease ends."""

    holder: UUID
    lasts: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class BackOff:
    """How long to wait for a judge that does not answer: ``first``, then twice as long each time, up to ``longest``."""

    first: timedelta = timedelta(seconds=5)
    longest: timedelta = timedelta(minutes=15)

    def after(self, tries: int) -> timedelta:
        return min(self.longest, self.first * (1 << min(max(tries - 1, 0), 20)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The end of one row's admission, with what must be kept of it."""

    log_id: UUID
    state: Admission
    at: datetime
    agent_id: str | None = None
    verdicts: Sequence[Verdict] = ()
    flags: Sequence[str] = ()
    embedding: Vector | None = None
    embedding_model: str | None = None
    sighting: Sighting | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineFilter:
    """Which rows of a group's quarantine to list."""

    session_id: str | None = None
    agent_id: str | None = None
    node_type: str | None = None
    admission: Admission | None = None
    since: datetime | None = None
    until: datetime | None = None


class CaptureStore(Protocol):
    """The agent's side of quarantine: it can add and never read."""

    async def add(
        self, captures: Sequence[Capture], *, request: IdempotencyKey | None = None, settled: Sequence[Verdict] = ()
    ) -> list[Stored]:
        """Commit captures of one group, all or none. ``settled`` refuses them at once, for these reasons.

        With ``request`` a repeated call finds its first rows again; raises IdempotencyMismatch where the
        same key came with another request.
        """
        ...


class QuarantineStore(Protocol):
    """The reviewer's side of quarantine."""

    async def get(self, group_id: str, log_id: UUID) -> QuarantineRow | None:
        """One row with its whole fate: also who said the same."""
        ...

    async def find(self, group_id: str, log_ids: Sequence[UUID]) -> Mapping[UUID, QuarantineRow]:
        """The rows that exist among these, with their verdicts."""
        ...

    async def page(
        self, group_id: str, *, where: QuarantineFilter, before: UUID | None = None, limit: int = 50
    ) -> Sequence[QuarantineRow]:
        """Newest first; ``before`` is the last id of the page before."""
        ...


class TombstoneLookup(Protocol):
    """Finds the tombstones that bear on a text."""

    async def look(
        self, group_id: str, value_hashes: Sequence[bytes], *, embedding: Vector | None = None, model: str = ""
    ) -> tuple[Tombstone | None, tuple[Tombstone, float] | None]:
        """The tombstone that stands for one of these values, and the rejected value most like it, with the cosine."""
        ...


class AdmissionBatch(TombstoneLookup, Protocol):
    """Rows of one group while nobody else admits in that group. Everything is read and written in its transaction."""

    @property
    def pending(self) -> frozenset[UUID]:
        """The rows that nobody has settled in the meantime."""
        ...

    async def settle(self, settled: Sequence[Settled]) -> None: ...


class AdmissionStore(Protocol):
    """The worker's side of quarantine: find pending rows, read them, settle them."""

    async def pending(self, *, limit: int) -> list[Pending]:
        """Rows of any group that are due and that nobody has leased, oldest first."""
        ...

    async def claim(self, group_id: str, log_ids: Sequence[UUID], lease: Lease) -> list[Capture]:
        """Lease the rows among these that are pending and that nobody else has leased, and read them."""
        ...

    async def renew(self, group_id: str, log_ids: Sequence[UUID], lease: Lease) -> None:
        """Let the holder's leases on these rows last from now."""
        ...

    async def release(self, group_id: str, log_ids: Sequence[UUID], lease: Lease) -> None:
        """End the holder's leases on these rows."""
        ...

    def open(self, group_id: str, log_ids: Sequence[UUID]) -> AbstractAsyncContextManager["AdmissionBatch"]:
        """Be alone in this group's admission until the block ends. What was settled is committed at its end."""
        ...

    async def postpone(self, group_id: str, log_ids: Sequence[UUID], lease: Lease) -> None:
        """End the holder's leases on these rows, count a failed try and set when to try again, later each time."""
        ...

    async def fail(self, group_id: str, log_id: UUID, lease: Lease) -> int:
        """Postpone a row whose admission failed by itself; how often it has failed, 0 where the holder has no lease."""
        ...

    async def judge_tries(self, group_id: str, log_id: UUID) -> int:
        """How often the judge was asked about this row in vain."""
        ...

    async def hold(
        self, group_id: str, log_id: UUID, verdict: Verdict, *, tries: int, lease: Lease, wait: timedelta | None = None
    ) -> None:
        """Keep a row pending for the judge: end the lease, record why, and try again after ``wait`` or later each time.

        Without a lease of the holder nothing changes.
        """
        ...

    async def requeue(self, group_id: str, log_id: UUID, *, event: AuditEvent) -> Admission | None:
        """Make a refused row pending again, or a pending one due now; what it was, None where it is neither."""
        ...

    async def refused(self, group_id: str, *, by: str, limit: int) -> Sequence[UUID]:
        """Rows that are refused by this check, or for this reason (without ``verdict_``), the oldest first."""
        ...

    async def receipts(
        self, group_id: str, log_ids: Sequence[UUID]
    ) -> Mapping[UUID, tuple[Admission, tuple[Verdict, ...]]]:
        """Where these rows stand, each with its latest verdicts."""
        ...

    async def admitted(self, group_id: str, *, since: datetime, limit: int) -> list[WorkingEntry]:
        """What working memory should hold, newest first: to rebuild it."""
        ...

    async def texts(self, group_id: str, log_ids: Sequence[UUID]) -> Mapping[UUID, str]:
        """What the admitted ones among these rows say, also when they have left working memory."""
        ...

    async def working_groups(self, *, since: datetime) -> Sequence[str]:
        """The groups in which something was admitted since then."""
        ...

    async def mark_removed(self, group_id: str, log_id: UUID, *, event: AuditEvent) -> bool:
        """Keep a rebuild from bringing an entry back; False where nothing was admitted by that id."""
        ...

    async def counts(self, group_id: str) -> Sequence[IngressCount]:
        """How often each check ended how, by agent."""
        ...


class TombstoneStore(TombstoneLookup, Protocol):
    """Values that must not come back, by their hash."""

    async def secret(self, group_id: str) -> bytes:
        """The key of the group's hashes, made when it is first asked for."""
        ...

    async def add(
        self, tombstone: Tombstone, value_hash: bytes, *, embedding: Vector | None, model: str | None, event: AuditEvent
    ) -> bool:
        """False where the value has a standing tombstone."""
        ...

    async def all(self, group_id: str) -> Sequence[Tombstone]: ...
