"""What the worker maintains: indexes, which workers are alive, and which groups they leave alone."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import timedelta
from typing import Protocol

from clearwell.records import IndexChanges


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

    async def leaves_to_others(self) -> bool:
        """Whether workers are alive and all of them decide by other settings than this process."""
        ...
