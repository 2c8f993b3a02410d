"""What is maintained: indexes, lost and changed chunks, which workers are alive, and which groups they leave alone."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from clearwell.records import AuditEvent, IndexChanges, Memory, Promotion


@dataclass(frozen=True, slots=True, kw_only=True)
class LostMemory:
    """A promotion whose chunks are gone, or are not what was promoted.

    ``withdrawn_at`` is None if the memory is in force by the decisions.
    """

    promotion: Promotion
    promoted_at: datetime
    withdrawn_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuiltMemory:
    """The chunks of a lost or changed memory, made again, and the hashes of what it says."""

    promotion: Promotion
    chunks: Sequence[Memory]
    value_hashes: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class RebuildCounts:
    """How many memories got their chunks, how many chunks those are, and how many memories a tombstone refused."""

    memories: int = 0
    chunks: int = 0
    refused: int = 0

    def __add__(self, other: "RebuildCounts") -> "RebuildCounts":
        return RebuildCounts(self.memories + other.memories, self.chunks + other.chunks, self.refused + other.refused)


class LostMemoryStore(Protocol):
    """Promoted memories whose chunks are gone or changed, and their replacement."""

    async def count_lost(self, group_id: str) -> int:
        """How many memories of a group have lost or changed chunks, in force or withdrawn."""
        ...

    async def list_lost(self, group_id: str, *, after: UUID | None, limit: int) -> Sequence[LostMemory]:
        """Return lost and changed memories in the order of their promotions, those after the promotion ``after``."""
        ...

    async def write_chunks(
        self, group_id: str, rebuilt: Sequence[RebuiltMemory], *, event: AuditEvent
    ) -> RebuildCounts:
        """Replace the chunks of memories that are still lost or changed, valid or withdrawn as the decisions say now.

        A memory whose value has a tombstone gets none. If it is in force, it waits until the tombstone is lifted.
        """
        ...

    async def has_outdated_terms(self, group_id: str) -> bool:
        """Whether valid chunks have no terms or those of another tokenizer, or are not counted as they are."""
        ...

    async def note_lost_statements(self, group_id: str) -> None:
        """Let the worker segment the settled outputs that have no statements again."""
        ...


class LexicalIndex(Protocol):
    """The terms of verified chunks, which depend on the version of the tokenizer."""

    async def find_outdated_groups(self, *, limit: int) -> Sequence[str]:
        """Groups whose terms were made by another version of the tokenizer."""
        ...

    async def rebuild_group(self, group_id: str) -> int:
        """Make the terms of a group's living chunks again; how many chunks there are."""
        ...


class VectorIndexes(Protocol):
    """The vector indexes of groups that are too large for an exact scan."""

    async def maintain(self, model: str) -> IndexChanges:
        """Build the indexes that are missing and drop those that are no longer needed."""
        ...


class GroupPauses(Protocol):
    """Groups that workers leave alone for some time: another process drives them by a clock of its own."""

    async def pause(self, group_id: str, *, lasts: timedelta) -> None:
        """Have workers leave a group alone for this time, whatever becomes of this process."""
        ...

    async def resume(self, group_id: str) -> None: ...

    async def find_paused(self, group_ids: AbstractSet[str]) -> AbstractSet[str]:
        """Return those of the groups that are paused."""
        ...


class Heartbeats(Protocol):
    """Which workers are alive, and by which settings they decide on admissions."""

    async def beat(self, *, lasts: timedelta) -> None:
        """Announce this process as a worker for the given time."""
        ...

    async def stop(self) -> None:
        """Withdraw the announcement."""
        ...

    async def count_alive(self) -> int:
        """How many workers are alive."""
        ...

    async def leaves_to_others(self) -> bool:
        """Whether workers are alive and all of them decide by other settings than this process."""
        ...
