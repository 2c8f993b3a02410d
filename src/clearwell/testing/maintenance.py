"""Maintenance where there is nothing to maintain: twins need no indexes and have no other processes."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta

from clearwell.ports import Clock
from clearwell.records import IndexChanges


class MemoryIndexes:
    """Both kinds of index over memories that are always searched exactly."""

    async def find_outdated_groups(self, *, limit: int) -> Sequence[str]:  # noqa: ARG002
        return []

    async def rebuild_group(self, group_id: str) -> int:  # noqa: ARG002
        return 0

    async def maintain(self, model: str) -> IndexChanges:  # noqa: ARG002
        return IndexChanges()


class MemoryPauses:
    """Paused groups in a dict, until a time of the clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[str, datetime] = {}

    async def pause(self, group_id: str, *, lasts: timedelta) -> None:
        self._until[group_id] = self._clock.now() + lasts

    async def resume(self, group_id: str) -> None:
        self._until.pop(group_id, None)

    async def find_paused(self, group_ids: AbstractSet[str]) -> AbstractSet[str]:
        now = self._clock.now()
        return {one for one in group_ids if one in self._until and self._until[one] > now}


class MemoryHeartbeats:
    """The heartbeats of the only process."""

    def __init__(self) -> None:
        self.alive = False

    async def beat(self, *, lasts: timedelta) -> None:  # noqa: ARG002
        self.alive = True

    async def stop(self) -> None:
        self.alive = False

    async def count_alive(self) -> int:
        return int(self.alive)

    async def leaves_to_others(self) -> bool:
        return False
