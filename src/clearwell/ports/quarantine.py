"""Tier 1: captures, admissions and tombstones."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol
from uuid import UUID

from clearwell.ports.statements import SegmentedOutput
from clearwell.records import (
    Admission,
    AuditEvent,
    Capture,
    IdempotencyKey,
    IngressCount,
    QuarantinePage,
    QuarantineRow,
    Sighting,
    Tombstone,
    Vector,
    Verdict,
    WorkingCapacity,
    WorkingEntry,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCapture:
    """The row of a capture: a new one, or the one that an earlier request stored."""

    id: UUID
    replayed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingOutput:
    """The ids of a row whose admission is pending."""

    group_id: str
    log_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Who works on a row, and for how long without a renewal. Nobody else takes the row before the lease ends."""

    holder: UUID
    lasts: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class BackOff:
    """How long to wait after a failed try: ``first``, then twice as long each time, up to ``longest``.

    By default it is the wait for a judge that does not answer.
    """

    first: timedelta = timedelta(seconds=5)
    longest: timedelta = timedelta(minutes=15)

    def after(self, tries: int) -> timedelta:
        return min(self.longest, self.first * (1 << min(max(tries - 1, 0), 20)))


ADMISSION_BACK_OFF: Final = BackOff(first=timedelta(seconds=1), longest=timedelta(seconds=30))
PROMOTION_BACK_OFF: Final = BackOff(first=timedelta(seconds=2), longest=timedelta(minutes=5))


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionResult:
    """The result of the admission of one row. Without ``segmented`` the worker segments the output later.

    ``embedding`` is stored where it is not the mean of the vectors of the statements.
    """

    log_id: UUID
    state: Admission
    at: datetime
    agent_id: str | None = None
    verdicts: Sequence[Verdict] = ()
    flags: Sequence[str] = ()
    embedding: Vector | None = None
    embedding_model: str | None = None
    sightings: Sequence[Sighting] = ()
    segmented: SegmentedOutput | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineFilter:
    """Selects rows of quarantine. ``words`` stand in the text, in any case of their letters.

    ``proposed`` selects those that agents proposed for review and nobody promoted.
    """

    session_id: str | None = None
    agent_id: str | None = None
    node_type: str | None = None
    admission: Admission | None = None
    flag: str | None = None
    words: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    proposed: bool | None = None
    ids: Sequence[UUID] | None = None


class CaptureStore(Protocol):
    """Quarantine for agents, who can add rows but not read them."""

    async def add(
        self,
        captures: Sequence[Capture],
        *,
        keys: Sequence[IdempotencyKey | None] = (),
        settled: Sequence[Verdict] = (),
    ) -> list[StoredCapture]:
        """Commit captures of one group in one transaction. ``settled`` refuses them at once, with these verdicts.

        ``keys`` has the key of each capture, or is empty. A capture whose key was used before is not stored again: the
        row of the first call is returned. Raises IdempotencyMismatch if the key was used with a different request.
        """
        ...


class QuarantineStore(Protocol):
    """Quarantine for reviewers."""

    async def get(self, group_id: str, log_id: UUID) -> QuarantineRow | None:
        """Return one row with its verdicts and sightings."""
        ...

    async def find(self, group_id: str, log_ids: Sequence[UUID]) -> Mapping[UUID, QuarantineRow]:
        """Return the existing rows among these, with their verdicts."""
        ...

    async def page(
        self, group_id: str, *, where: QuarantineFilter, before: UUID | None = None, limit: int = 50
    ) -> QuarantinePage:
        """Return a page, newest first. ``before`` is ``next`` of the previous page."""
        ...


class TombstoneLookup(Protocol):
    """Finds tombstones of a text."""

    async def look_up(
        self, group_id: str, value_hashes: Sequence[bytes], *, embeddings: Sequence[Vector] = (), model: str = ""
    ) -> tuple[Tombstone | None, tuple[Tombstone, float] | None]:
        """Return the tombstone of one of these hashes, and the most similar rejected text with its cosine.

        Of several tombstones, one of a forgotten value comes first.
        """
        ...


class AdmissionBatch(TombstoneLookup, Protocol):
    """Rows of one group while nobody else admits in that group. Everything is read and written in its transaction."""

    @property
    def pending(self) -> frozenset[UUID]:
        """The rows that no other process has settled in the meantime."""
        ...

    async def settle(self, settled: Sequence[AdmissionResult], *, event: AuditEvent | None = None) -> None:
        """Store the results of rows, with one event for all of them."""
        ...

    async def admit_refused(self, admitted: AdmissionResult, *, event: AuditEvent) -> bool:
        """Admit a refused row and record the event. Returns False if it is not refused.

        Of its verdicts only the last one is counted: the others were counted when the row was refused.
        """
        ...


class AdmissionStore(Protocol):
    """Quarantine for the worker: find, read and settle pending rows."""

    async def find_pending(self, *, limit: int) -> list[PendingOutput]:
        """Return rows of any group that are due and not leased, oldest first."""
        ...

    async def claim(self, group_id: str, log_ids: Sequence[UUID], lease: Lease) -> list[Capture]:
        """Lease those of these rows that are pending and not leased by others, and read them."""
        ...

    async def renew(self, group_id: str, log_ids: Sequence[UUID], lease: Lease) -> None:
        """Let the holder's leases on these rows last from now."""
        ...

    async def release(self, group_id: str, log_ids: Sequence[UUID], lease: Lease) -> None:
        """End the holder's leases on these rows."""
        ...

    def open(self, group_id: str, log_ids: Sequence[UUID]) -> AbstractAsyncContextManager["AdmissionBatch"]:
        """Hold the admission of this group exclusively until the block ends, which commits what was settled."""
        ...

    async def postpone(self, group_id: str, log_ids: Sequence[UUID], lease: Lease) -> None:
        """End the holder's leases on these rows, count a failed try and set when to try again, later each time."""
        ...

    async def fail(self, group_id: str, log_id: UUID, lease: Lease) -> int:
        """Postpone a row whose admission failed. Returns how often it has failed, or 0 if the lease was lost."""
        ...

    async def read_judge_tries(self, group_id: str, log_id: UUID) -> int:
        """Return how often the judge did not answer for this row."""
        ...

    async def hold(
        self, group_id: str, log_id: UUID, verdict: Verdict, *, tries: int, lease: Lease, wait: timedelta | None = None
    ) -> None:
        """Keep a row pending for the judge: end the lease, record why, and try again after ``wait`` or later each time.

        Without a lease of the holder nothing changes.
        """
        ...

    async def requeue(self, group_id: str, log_id: UUID, *, event: AuditEvent) -> Admission | None:
        """Make a refused row pending again, or a pending one due now. Returns its previous state, or None if it is
        neither."""
        ...

    async def find_refused(self, group_id: str, *, by: str, limit: int) -> Sequence[UUID]:
        """Return rows that this check refused, or this reason (without ``verdict_``), oldest first."""
        ...

    async def read_receipts(
        self, group_id: str, log_ids: Sequence[UUID]
    ) -> Mapping[UUID, tuple[Admission, tuple[Verdict, ...]]]:
        """Return the admission of these rows with their latest verdicts."""
        ...

    async def read_admitted(self, group_id: str, *, since: datetime, capacity: WorkingCapacity) -> list[WorkingEntry]:
        """Return the entries that working memory keeps, newest first, to rebuild it."""
        ...

    async def read_texts(self, group_id: str, log_ids: Sequence[UUID]) -> Mapping[UUID, str]:
        """Return the texts of the rows among these, whatever became of them: to quote one is a citation."""
        ...

    async def find_working_groups(self, *, since: datetime) -> Sequence[str]:
        """Return the groups with admissions since then, and those in which an admission may be under way."""
        ...

    async def mark_removed(self, group_id: str, log_id: UUID, *, event: AuditEvent) -> bool:
        """Exclude an entry from rebuilds. Returns False if no output with this id was admitted."""
        ...

    async def read_counts(self, group_id: str) -> Sequence[IngressCount]:
        """Return how often each check had each outcome, by agent."""
        ...


class TombstoneStore(TombstoneLookup, Protocol):
    """Tombstones, by the hash of the text."""

    async def secret(self, group_id: str) -> bytes:
        """Return the key of the hashes of a group, which is created on the first call."""
        ...

    async def all(self, group_id: str) -> Sequence[Tombstone]: ...
