"""Digests: the runs, what they are made of, and who writes their words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from clearwell.records import (
    AuditEvent,
    Digest,
    DigestCandidate,
    Insight,
    Metadata,
    Vector,
    Written,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When a group wants its digest. ``since``: from then on there is something to digest, and this schedule."""

    group_id: str
    since: datetime
    cron: str | None
    zone: str | None


class Due(StrEnum):
    """What became of the run of a tick: made now, made before, or it waits for another run of the group to end."""

    ADDED = "added"
    HAD = "had"
    BUSY = "busy"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDigest:
    """A run that has not ended, by its ids."""

    group_id: str
    digest_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One try at a digest. A later try has another number, and the earlier one can write nothing any more."""

    group_id: str
    digest_id: UUID
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateFilter:
    """Which rows of quarantine a digest looks at. ``model`` is whose vectors it can compare."""

    group_id: str
    model: str
    without_types: Sequence[str] = ()
    most_considered: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownVector:
    """A text that the group has already, with its vector."""

    id: UUID
    content: str
    embedding: Vector = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedVector:
    """What a person rejected: why and when, and of its words only the vector."""

    reason: str
    at: datetime
    embedding: Vector = field(compare=False, repr=False)


class DigestStore(Protocol):
    """The reader's side: ask for a digest, and read what it shows."""

    async def request(self, digest: Digest, *, event: AuditEvent) -> Digest:
        """Add this run; where the group has an open one, that one is the answer and nothing is added."""
        ...

    async def get(self, group_id: str, digest_id: UUID) -> Digest | None:
        """One run with its insights and their sources."""
        ...

    async def page(self, group_id: str, *, before: UUID | None = None, limit: int = 50) -> Sequence[Digest]:
        """Newest first, without insights; ``before`` is the last id of the page before."""
        ...

    async def group_of(self, digest_id: UUID) -> str | None:
        """The group of a run that is named by its id alone."""
        ...


class DigestRuns(Protocol):
    """The worker's side: which runs there are to do, and where each stands."""

    async def schedules(self) -> Sequence[Schedule]:
        """Every group that has something to digest."""
        ...

    async def add_due(self, digest: Digest, *, event: AuditEvent) -> Due:
        """Add the run of a tick, unless the tick has had its run or the group has an open one."""
        ...

    async def find_due(self, *, at: datetime) -> Sequence[OpenDigest]:
        """The runs of all groups that have not ended, are due and that nobody has leased, oldest first."""
        ...

    async def claim(self, group_id: str, digest_id: UUID, *, at: datetime, until: datetime) -> Digest | None:
        """Begin the next try and lease the run until then. None where the run is not due, or somebody has leased it."""
        ...

    async def renew(self, run: Run, *, until: datetime) -> bool:
        """Extend the lease of a try. False where a later try has taken over."""
        ...

    async def release(self, run: Run) -> bool:
        """End the lease of a try that stops, so that the next one can begin. False where a later one has taken over."""
        ...

    async def tell(self, run: Run, *, progress: float, note: str, params: Metadata) -> bool:
        """Say how far it is. False where a later try has taken over."""
        ...

    async def put_off(self, run: Run, *, again: datetime, note: str, params: Metadata) -> bool:
        """Have the next try begin at that time, with the reason. False where a later try has taken over."""
        ...

    async def fail(self, run: Run, *, at: datetime, note: str, params: Metadata, event: AuditEvent) -> bool:
        """Give up, with the reason. False where a later try has taken over."""
        ...

    async def finish(
        self, run: Run, digest: Digest, insights: Sequence[Insight], *, considered: Sequence[UUID], event: AuditEvent
    ) -> bool:
        """Keep the insights, mark the rows as shown or considered, and end the run: all or nothing.

        False where a later try has taken over. ``digest`` has the report, the note and the end.
        """
        ...


class DigestMaterial(Protocol):
    """What a digest is made of."""

    async def unsettled(self, group_id: str) -> int:
        """How many rows wait for their admission, but for those that wait for a judge."""
        ...

    async def count(self, where: CandidateFilter) -> int:
        """How many candidates there are."""
        ...

    async def candidates(self, where: CandidateFilter, *, after: UUID | None, limit: int) -> Sequence[DigestCandidate]:
        """A page of settled rows by id: not shown, not judged, not considered too often, and no echoes."""
        ...

    async def holds_rows(self, group_id: str) -> bool:
        """Whether anything was ever captured in this group."""
        ...

    async def add_vectors(self, group_id: str, model: str, vectors: Mapping[UUID, Vector]) -> None:
        """Keep the vectors of rows that had none."""
        ...

    async def verified(self, group_id: str, model: str) -> Sequence[KnownVector]:
        """The chunks of the group's living memories."""
        ...

    async def undecided(self, group_id: str, model: str) -> Sequence[KnownVector]:
        """The insights that wait for a person."""
        ...

    async def rejected(self, group_id: str, model: str) -> Sequence[RejectedVector]:
        """What was rejected, where its vector was kept."""
        ...

    async def decided(self, group_id: str) -> Mapping[str, tuple[int, int]]:
        """How many insights that rest on each agent were promoted, and how many rejected."""
        ...

    async def refused_values(self, group_id: str) -> frozenset[bytes]:
        """The hashes of all values with a tombstone in force."""
        ...


class InsightWriter(Protocol):
    """Writes the words of an insight from its sources, each sentence with the sources it rests on."""

    @property
    def model(self) -> str: ...

    async def write(self, sources: Sequence[DigestCandidate]) -> Written:
        """One try: raises WriterUnavailable, and the sources are quoted instead."""
        ...
