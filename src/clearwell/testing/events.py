"""Streams of events in lists."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from clearwell.ports import BEGINNING, EventPage
from clearwell.records import Event


class MemoryEvents:
    """The newest ``length`` events of each group. They do not expire."""

    def __init__(self, *, length: int = 5_000) -> None:
        self._length = length
        self._streams: defaultdict[str, list[Event]] = defaultdict(list)
        self._trimmed: set[str] = set()
        self._added = 0

    async def append(self, events: Sequence[Event]) -> None:
        for event in events:
            self._added += 1
            stream = self._streams[event.group_id]
            stream.append(replace(event, id=f"{self._added}-0"))
            if len(stream) > self._length:
                del stream[0]
                self._trimmed.add(event.group_id)

    async def find_last(self, group_id: str) -> str:
        return self._streams[group_id][-1].id or BEGINNING if self._streams[group_id] else BEGINNING

    async def read(self, group_id: str, *, after: str, limit: int) -> EventPage | None:
        stream = self._streams[group_id]
        ids = [BEGINNING, *(event.id for event in stream)]
        if after not in ids or (after == BEGINNING and group_id in self._trimmed):
            return None
        start = ids.index(after)
        events = stream[start : start + limit]
        return EventPage(events=events, last=ids[start + len(events)] or BEGINNING)

    async def count(self, group_id: str) -> int:
        return len(self._streams[group_id])

    async def delete(self, group_id: str) -> None:
        self._streams.pop(group_id, None)
        self._trimmed.discard(group_id)
