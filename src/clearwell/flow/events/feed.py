"""The feed: the events of a group as they happen, from a given place on.

Each reader reads the stream of its group again and again, so a slow reader costs nothing but its own delay, and events
of all processes arrive. A reader holds no connection while it waits.
"""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Final

from clearwell.errors import TooManyReaders, TooManyRequests, Unavailable
from clearwell.flow.access.permissions import require_in_group, require_reviewer
from clearwell.flow.events.visibility import select_visible
from clearwell.ports import Clock, EventStore
from clearwell.records import UNASSIGNED, Event, EventType, Json, Principal, Right

POLL_SECONDS: Final = 0.2
"""How often a reader that has everything looks for more."""
PAGE: Final = 200
RETRY_SECONDS: Final = 5
"""After how long a caller with too many streams may try again."""
ID_FORM: Final = re.compile(r"\d{1,19}-\d{1,19}", re.ASCII)


class EventFeed:
    """Lets callers follow the events of a group.

    ``max_readers`` bounds how many do so at a time, and ``max_own`` how many with the same key.
    """

    def __init__(self, store: EventStore, clock: Clock, *, max_readers: int, max_own: int) -> None:
        self._store = store
        self._clock = clock
        self._max_readers = max_readers
        self._max_own = max_own
        self._readers: Counter[str] = Counter()
        self._closed = asyncio.Event()

    def follow(self, group_id: str, *, by: Principal, after: str | None = None) -> AsyncGenerator[Event]:
        """Return the events of a group that this caller may read, until the reader or the program ends.

        The first event is ``subscribed``. Without ``after`` the events that follow are new ones. With ``after``, an id
        of an earlier event, they continue where that one ended; if this is not possible because the id is too old or
        unknown, the first event is ``reset``. Raises NotAllowed at once, and at the first step TooManyReaders,
        TooManyRequests, or Unavailable if the program is stopping.
        """
        if group_id == UNASSIGNED:
            require_reviewer(by, group_id)
        else:
            require_in_group(by, group_id, Right.READ, Right.REVIEW, Right.ADMIN)
        return self._follow(group_id, by, after)

    def close(self) -> None:
        """End all readers."""
        self._closed.set()

    async def _follow(self, group_id: str, by: Principal, after: str | None) -> AsyncGenerator[Event]:
        if self._closed.is_set():
            raise Unavailable("events_closed")
        if self._readers.total() >= self._max_readers:
            raise TooManyReaders("events_too_many_readers", limit=self._max_readers)
        if self._readers[by.name] >= self._max_own:
            raise TooManyRequests("events_too_many_own", retry_after=RETRY_SECONDS, limit=self._max_own)
        self._readers[by.name] += 1
        try:
            cursor = _Cursor(self._store, self._clock, group_id, after)
            while not self._closed.is_set():
                events = await cursor.advance()
                for event in events:
                    visible = select_visible(event, by)
                    if visible is not None:
                        yield visible
                if not events:
                    await self._pause()
        finally:
            self._readers[by.name] -= 1
            if not self._readers[by.name]:
                del self._readers[by.name]

    async def _pause(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(POLL_SECONDS):
                await self._closed.wait()


class _Cursor:
    """The place of one reader in the stream of its group. It says what happened since it was last asked."""

    def __init__(self, store: EventStore, clock: Clock, group_id: str, after: str | None) -> None:
        self._store = store
        self._clock = clock
        self._group_id = group_id
        self._after = after
        self._subscribed = False
        self._degraded = False

    async def advance(self) -> list[Event]:
        """Return the events since the last call, if there are any. An outage is reported once, and so is its end."""
        try:
            events = await self._read()
        except Unavailable as error:
            events = [] if self._degraded else [self._make_event(EventType.DEGRADED, reason=error.code)]
            self._degraded = True
            return events
        if self._degraded:
            events.insert(0, self._make_event(EventType.RECOVERED))
        self._degraded = False
        return events

    async def _read(self) -> list[Event]:
        if self._after is None:
            return [await self._begin_at_end(EventType.SUBSCRIBED)]
        page = None
        if ID_FORM.fullmatch(self._after):
            page = await self._store.read(self._group_id, after=self._after, limit=PAGE)
        if page is None:
            return [await self._begin_at_end(EventType.RESET, reason="id_unknown")]
        events = list(page.events)
        if not self._subscribed:
            events.insert(0, self._make_event(EventType.SUBSCRIBED, event_id=self._after))
        self._after, self._subscribed = page.last, True
        return events

    async def _begin_at_end(self, event_type: EventType, **data: Json) -> Event:
        """Continue after the newest event."""
        self._after = await self._store.find_last(self._group_id)
        self._subscribed = True
        return self._make_event(event_type, event_id=self._after, **data)

    def _make_event(self, event_type: EventType, *, event_id: str | None = None, **data: Json) -> Event:
        return Event(type=event_type, group_id=self._group_id, at=self._clock.now(), id=event_id, data=data)
