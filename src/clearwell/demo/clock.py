"""The clock of the meetings."""

import time
from datetime import datetime, timedelta
from typing import Final

_LAST_HOUR: Final = 23


class MeetingClock:
    """A clock that can be moved forward. Between two moves it runs as fast as the clock on the wall."""

    def __init__(self, start: datetime) -> None:
        self._moment, self._moved_at = start, time.monotonic()

    def now(self) -> datetime:
        return self._moment + timedelta(seconds=time.monotonic() - self._moved_at)

    def move_to(self, moment: datetime) -> None:
        """Move forward to a moment. An earlier one changes nothing, so that time never runs backwards."""
        self._moment, self._moved_at = max(moment, self.now()), time.monotonic()


def plan_meetings(end: datetime, meetings: int) -> list[datetime]:
    """When each meeting begins: one a day, the last one shortly before ``end``.

    Less than 24 hours lie between two meetings, so that working memory still has what the last one said. Each is on a
    day of its own in the local time zone, so the last one is never in the hour before midnight.
    """
    last = end - timedelta(minutes=10)
    if last.astimezone().hour == _LAST_HOUR:
        last -= timedelta(hours=1)
    return [last - timedelta(hours=23, minutes=30) * before for before in reversed(range(meetings))]
