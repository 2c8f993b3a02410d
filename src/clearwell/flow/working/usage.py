"""Which memories retrieval returned, kept for good. Read from what is remembered of recalls, off the callers' path."""

from datetime import datetime, timedelta

from clearwell.ports import Clock, Recalled, ReviewStore

OVERLAP = timedelta(seconds=2)
"""Looked at once more: a recall is noted a moment after its time."""


class UsageRecorder:
    def __init__(self, recalls: Recalled, reviewed: ReviewStore, clock: Clock) -> None:
        self._recalls = recalls
        self._reviewed = reviewed
        self._clock = clock
        self._since: datetime | None = None

    async def note(self) -> int:
        """Keep what was returned since the last time; in how many groups something was."""
        now = self._clock.now()
        since = now - timedelta(days=1) if self._since is None else self._since
        given = await self._recalls.given_since(since)
        for group_id, ids in given.items():
            await self._reviewed.note_uses(group_id, sorted(ids), at=now)
        self._since = now - OVERLAP
        return len(given)
