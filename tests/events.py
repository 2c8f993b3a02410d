"""Streams of events for tests."""

from collections.abc import AsyncGenerator, Sequence

from clearwell.errors import WorkingMemoryUnavailable
from clearwell.ports import BEGINNING, EventPage
from clearwell.records import EVENT_FIELDS, Event
from clearwell.testing import MemoryEvents
from tests.path import Path


class WeakEvents(MemoryEvents):
    """Streams that can be switched off."""

    down = False

    async def append(self, events: Sequence[Event]) -> None:
        self._require_up()
        await super().append(events)

    async def find_last(self, group_id: str) -> str:
        self._require_up()
        return await super().find_last(group_id)

    async def read(self, group_id: str, *, after: str, limit: int) -> EventPage | None:
        self._require_up()
        return await super().read(group_id, after=after, limit=limit)

    def _require_up(self) -> None:
        if self.down:
            raise WorkingMemoryUnavailable("working_unavailable", problem="down")


async def published(path: Path, group_id: str = "g") -> list[Event]:
    """All events of a group so far."""
    await path.program.events.flush()
    page = await path.events.read(group_id, after=BEGINNING, limit=1_000)
    assert page is not None
    for event in page.events:
        assert set(event.data) <= set(EVENT_FIELDS[event.type]), event
    return list(page.events)


async def take(events: AsyncGenerator[Event], count: int) -> list[Event]:
    """The next events, as many as are named."""
    return [await anext(events) for _ in range(count)]
