"""Tier 2, and what was recalled from it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from clearwell.records import WorkingEntry


class WorkingStore(Protocol):
    """Working memory: one list per group, newest first."""

    async def push(self, entry: WorkingEntry) -> None:
        """Put an entry first, once, and keep the newest ``size``, in one atomic step."""
        ...

    async def entries(self, group_id: str) -> list[WorkingEntry]:
        """The live entries, newest first. Never one past its ``expires_at``."""
        ...

    def is_damaged(self, group_id: str) -> bool:
        """Whether the last look at this group met something that is no entry, and left it out."""
        ...

    async def remove(self, group_id: str, entry_id: UUID) -> bool: ...

    async def replace(self, group_id: str, entries: Sequence[WorkingEntry]) -> None:
        """Hold exactly these entries, newest first, in one atomic step."""
        ...

    async def is_new(self) -> bool:
        """Whether the server has lost what it held, or never held anything. Asking marks it as seen."""
        ...

    async def cleanup(self, group_id: str | None = None) -> int:
        """Remove expired entries, of one group or of all; how many there were."""
        ...

    async def ping(self) -> None: ...


class Recalled(Protocol):
    """What retrieval gave to whom in the last day, so that an echo of it can be told from evidence."""

    async def recalled(self, group_id: str, *, agent_id: str | None) -> frozenset[UUID]:
        """What was given to this agent, or to nobody in particular."""
        ...

    async def given_since(self, moment: datetime) -> Mapping[str, frozenset[UUID]]:
        """By group: what was given to anybody since then. Where very much was given, the newest of it."""
        ...


class RecallStore(Recalled, Protocol):
    """Where that is written."""

    async def note(self, group_id: str, ids: Sequence[UUID], *, agent_id: str | None) -> None: ...
