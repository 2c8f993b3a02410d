"""Tier 2: working memory, and the recalls of retrieval."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol, TypeAlias
from uuid import UUID

from clearwell.records import WorkingEntry


class WorkingStore(Protocol):
    """Working memory: one list per group, newest first."""

    async def push(self, entry: WorkingEntry) -> None:
        """Add an entry once, as the newest, and keep the newest ``size`` entries, atomically."""
        ...

    async def entries(self, group_id: str) -> list[WorkingEntry]:
        """Return the live entries, newest first, without expired ones."""
        ...

    def is_damaged(self, group_id: str) -> bool:
        """Whether the last read of this group found an element that is not a valid entry, and skipped it."""
        ...

    async def remove(self, group_id: str, entry_id: UUID) -> bool: ...

    async def replace(self, group_id: str, entries: Sequence[WorkingEntry]) -> None:
        """Replace all entries of a group by these, newest first, atomically."""
        ...

    async def find_loss(self) -> str | None:
        """Return the run of the server if entries may be lost since the last rebuild: it is new, has lost its data, or
        has ended, which can cost the last second of them. None otherwise, and when ``note_rebuilt`` was called with it.
        """
        ...

    async def note_rebuilt(self, run: str) -> None:
        """Note that all groups were rebuilt in this run of the server, unless data were lost meanwhile."""
        ...

    async def cleanup(self, group_id: str | None = None) -> int:
        """Remove expired entries of one group or of all, and return their number."""
        ...

    async def ping(self) -> None: ...


Recalls: TypeAlias = Mapping[tuple[str, str | None], Collection[UUID]]
"""The memories that were returned, by group and agent."""


class Recall(NamedTuple):
    """A memory that was returned to somebody, and the last time that it was."""

    memory_id: UUID
    at: datetime


class RecallReader(Protocol):
    """Which memories retrieval returned to whom in the last day, so that an echo is not taken for evidence."""

    async def find_recalled(self, group_id: str, *, agent_id: str | None) -> frozenset[UUID]:
        """What was returned to this agent, or to a caller that named no agent."""
        ...

    async def find_recalled_since(self, moment: datetime) -> Mapping[str, Sequence[Recall]]:
        """By group: what was returned since then, once for each agent; only the newest part if there is very much."""
        ...


class RecallStore(RecallReader, Protocol):
    """Stores recalls."""

    async def record(self, recalls: Recalls) -> None:
        """Record these recalls. If those of one group cannot be written, those of the others are."""
        ...

    async def count(self, group_id: str, ids: Sequence[UUID], *, agents: Sequence[str]) -> int:
        """How many recalls ``forget`` would remove."""
        ...

    async def forget(self, group_id: str, ids: Sequence[UUID], *, agents: Sequence[str]) -> None:
        """Remove the recalls of these memories, and those of these agents."""
        ...
