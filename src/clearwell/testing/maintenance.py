"""Maintenance where there is nothing to maintain: twins need no indexes and have no other processes."""

from collections.abc import Sequence
from datetime import timedelta

from clearwell.records import IndexChanges


class MemoryIndexes:
    """Both kinds of index over memories that are always searched exactly."""

    async def find_outdated_groups(self, *, limit: int) -> Sequence[str]:  # noqa: ARG002
        return []

    async def rebuild_group(self, group_id: str) -> int:  # noqa: ARG002
        return 0

    async def maintain(self, model: str) -> IndexChanges:  # noqa: ARG002
        return IndexChanges()


class MemoryHeartbeats:
    """The heartbeats of the only process."""

    def __init__(self) -> None:
        self.alive = False

    async def beat(self, *, lasts: timedelta) -> None:  # noqa: ARG002
        self.alive = True

    async def stop(self) -> None:
        self.alive = False

    async def leaves_to_others(self) -> bool:
        return False
