"""Recalls: which memories retrieval returned, and to whom.

The ingress pipeline needs them to tell an echo of a memory from new evidence, and reviewers see how often and when a
memory was given to an agent. Recalls are written in the background, many at a time; readers also see those that are
not written yet, so an echo is recognised however soon it follows.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final
from uuid import UUID

import structlog

from clearwell.errors import Unavailable
from clearwell.ports import Clock, Recall, RecallReader, Recalls, RecallStore, StatisticsStore

WRITE_DELAY: Final = 0.05
"""Seconds for which recalls are collected before they are written: far less than an agent takes to answer."""
OVERLAP: Final = timedelta(seconds=2)
"""Read again the next time: a recall is written a moment after its time."""

log = structlog.get_logger(__name__)


class RecallLog:
    """Records recalls in the background, and reads them."""

    def __init__(self, recalls: RecallStore) -> None:
        self._recalls = recalls
        self._unwritten: dict[tuple[str, str | None], dict[UUID, None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._writing: set[asyncio.Task[None]] = set()

    def record(self, group_id: str, ids: Sequence[UUID], *, agent_id: str | None) -> None:
        """Record that these memories were returned to this agent. Returns at once."""
        self._unwritten.setdefault((group_id, agent_id), {}).update(dict.fromkeys(ids))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WRITE_DELAY, self._start_writing)

    async def flush(self) -> None:
        """Wait until everything recorded so far is written."""
        if self._timer is not None:
            self._timer.cancel()
            self._start_writing()
        if self._writing:
            await asyncio.wait(self._writing)

    async def find_recalled(self, group_id: str, *, agent_id: str | None) -> frozenset[UUID]:
        await self.flush()
        return await self._recalls.find_recalled(group_id, agent_id=agent_id)

    async def find_recalled_since(self, moment: datetime) -> Mapping[str, Sequence[Recall]]:
        await self.flush()
        return await self._recalls.find_recalled_since(moment)

    def _start_writing(self) -> None:
        self._timer = None
        recalls, self._unwritten = self._unwritten, {}
        task = asyncio.create_task(self._write(recalls), name="write recalls")
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _write(self, recalls: Recalls) -> None:
        try:
            await self._recalls.record(recalls)
        except Unavailable as error:
            log.warning("recalls not recorded", groups=len({group_id for group_id, _ in recalls}), reason=error.code)


class UsageRecorder:
    """Stores permanently which memories were returned, from the recalls of the last day."""

    def __init__(self, recalls: RecallReader, statistics: StatisticsStore, clock: Clock) -> None:
        self._recalls = recalls
        self._statistics = statistics
        self._clock = clock
        self._since: datetime | None = None

    async def record(self) -> int:
        """Store what was returned since the last call, with the time of each; returns the number of groups.

        The first call reads the whole last day, since what was returned before a restart may not be stored yet. Calls
        that another clock dates back, as in the demo, are found by its own recorder.
        """
        now = self._clock.now()
        since = now - timedelta(days=1) if self._since is None else self._since
        recalled = await self._recalls.find_recalled_since(since)
        for group_id, recalls in recalled.items():
            for uses in _list_uses_by_day(recalls):
                await self._statistics.note_uses(group_id, uses)
        self._since = now - OVERLAP
        return len(recalled)


def _list_uses_by_day(recalls: Sequence[Recall]) -> list[Mapping[UUID, datetime]]:
    """The last use of each memory on each day in UTC, the first day first: every day counts."""
    days: dict[date, dict[UUID, datetime]] = {}
    for memory_id, at in sorted(recalls, key=lambda recall: recall.at):
        days.setdefault(at.astimezone(UTC).date(), {})[memory_id] = at
    return list(days.values())
