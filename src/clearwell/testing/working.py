"""Working memory in lists, and what was recalled."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from clearwell.ports import Clock, Recall, Recalls
from clearwell.records import WorkingCapacity, WorkingEntry

CAPACITY: Final = WorkingCapacity(size=50, agent_size=25)


class MemoryWorkingStore:
    """Working memory in lists."""

    def __init__(self, clock: Clock, *, capacity: WorkingCapacity = CAPACITY) -> None:
        self._clock = clock
        self._capacity = capacity
        self._lists: defaultdict[str, list[WorkingEntry]] = defaultdict(list)
        self._run = 0
        self._mark = ""

    async def push(self, entry: WorkingEntry) -> None:
        if not self._live(entry):
            return
        others = [one for one in self._lists[entry.group_id] if one.id != entry.id]
        self._lists[entry.group_id] = self._capacity.choose([entry, *others])

    async def entries(self, group_id: str) -> list[WorkingEntry]:
        return [entry for entry in self._lists[group_id] if self._live(entry)]

    def is_damaged(self, group_id: str) -> bool:  # noqa: ARG002 - nothing foreign gets into a list of entries
        return False

    async def remove(self, group_id: str, entry_id: UUID) -> bool:
        before = len(self._lists[group_id])
        self._lists[group_id] = [entry for entry in self._lists[group_id] if entry.id != entry_id]
        return len(self._lists[group_id]) < before

    async def replace(self, group_id: str, entries: Sequence[WorkingEntry]) -> None:
        self._lists[group_id] = self._capacity.choose([entry for entry in entries if self._live(entry)])

    async def find_loss(self) -> str | None:
        run = str(self._run)
        if self._mark == run:
            return None
        self._mark = "rebuilding"
        return run

    async def note_rebuilt(self, run: str) -> None:
        if self._mark:
            self._mark = run

    def lose_everything(self) -> None:
        """As a server does that is emptied."""
        self._lists.clear()
        self._mark = ""

    def restart(self) -> None:
        """As a server does that is started again with its data, of which the last second may be lost."""
        self._run += 1

    async def cleanup(self, group_id: str | None = None) -> int:
        groups = [group_id] if group_id is not None else list(self._lists)
        before = sum(len(self._lists[group]) for group in groups)
        for group in groups:
            self._lists[group] = await self.entries(group)
        return before - sum(len(self._lists[group]) for group in groups)

    async def ping(self) -> None:
        """Always there."""

    def _live(self, entry: WorkingEntry) -> bool:
        return entry.expires_at is not None and entry.expires_at > self._clock.now()


class MemoryRecalls:
    """What was recalled, in a dict."""

    def __init__(self, clock: Clock, *, remember: timedelta = timedelta(hours=24)) -> None:
        self._clock = clock
        self._remember = remember
        self._given: dict[tuple[str, UUID, str | None], datetime] = {}

    async def record(self, recalls: Recalls) -> None:
        now = self._clock.now()
        self._given |= {(group_id, one, agent_id): now for (group_id, agent_id), ids in recalls.items() for one in ids}

    async def count(self, group_id: str, ids: Sequence[UUID], *, agents: Sequence[str]) -> int:
        return sum(group == group_id and (one in ids or given_to in agents) for group, one, given_to in self._given)

    async def forget(self, group_id: str, ids: Sequence[UUID], *, agents: Sequence[str]) -> None:
        self._given = {
            (group, one, given_to): at
            for (group, one, given_to), at in self._given.items()
            if group != group_id or not (one in ids or given_to in agents)
        }

    async def find_recalled(self, group_id: str, *, agent_id: str | None) -> frozenset[UUID]:
        since = self._clock.now() - self._remember
        return frozenset(
            one
            for (group, one, given_to), at in self._given.items()
            if group == group_id and given_to in (None, agent_id) and at > since
        )

    async def find_recalled_since(self, moment: datetime) -> Mapping[str, Sequence[Recall]]:
        found: dict[str, list[Recall]] = {}
        for (group_id, one, _), at in self._given.items():
            if at > moment:
                found.setdefault(group_id, []).append(Recall(one, at))
        return found
