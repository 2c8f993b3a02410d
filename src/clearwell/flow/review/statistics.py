"""Statistics of review in all groups, for metrics."""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta

from clearwell.ports import Clock, StatisticsStore
from clearwell.records import ReviewStatistics

MAX_AGE = timedelta(seconds=60)
MAX_GROUPS = 500
"""Beyond these, in the order of their names, groups are left out: a scrape must end."""


class StatisticsCache:
    """Caches the statistics of each group, so that they are read from the database at most once a minute."""

    def __init__(self, store: StatisticsStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lock = asyncio.Lock()
        self._read_at: datetime | None = None
        self._statistics: Mapping[str, ReviewStatistics] = {}

    async def read(self) -> Mapping[str, ReviewStatistics]:
        """The statistics of each group that has insights or decisions, at most a minute old."""
        async with self._lock:
            now = self._clock.now()
            if self._read_at is None or now - self._read_at >= MAX_AGE:
                groups = await self._store.groups(limit=MAX_GROUPS)
                self._statistics = {group_id: await self._store.statistics(group_id) for group_id in groups}
                self._read_at = now
            return self._statistics
