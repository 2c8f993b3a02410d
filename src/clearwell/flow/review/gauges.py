"""How review goes in all groups, for metrics: read from the database now and then, not for each who asks."""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta

from clearwell.ports import Clock, ReviewStore
from clearwell.records import ReviewStatistics

KEPT = timedelta(seconds=60)
MOST_GROUPS = 500
"""Beyond these, in the order of their names, groups are left out: a scrape must end."""


class StatisticsCache:
    def __init__(self, reviewed: ReviewStore, clock: Clock) -> None:
        self._reviewed = reviewed
        self._clock = clock
        self._lock = asyncio.Lock()
        self._read_at: datetime | None = None
        self._numbers: Mapping[str, ReviewStatistics] = {}

    async def read(self) -> Mapping[str, ReviewStatistics]:
        """The numbers of each group in which something is or was to be decided, at most a minute old."""
        async with self._lock:
            now = self._clock.now()
            if self._read_at is None or now - self._read_at >= KEPT:
                groups = await self._reviewed.groups(limit=MOST_GROUPS)
                self._numbers = {group_id: await self._reviewed.statistics(group_id) for group_id in groups}
                self._read_at = now
            return self._numbers
