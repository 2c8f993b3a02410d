"""The streams of events: one bounded stream for each group, which expires when nothing happens for a while."""

import json
from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import structlog

from clearwell.ports.events import BEGINNING, EventPage, EventStore
from clearwell.records import Event, EventType
from clearwell.stores.valkey.client import ScriptCall, TimedClient, script, translate_errors
from clearwell.stores.valkey.entries import from_ms, to_ms

log = structlog.get_logger(__name__)
KEYS = "events:"
FIELD = b"event"


class ValkeyEvents(EventStore):
    """Streams on Redis or Valkey. The ids of events are those of the server.

    ``length`` is how many events of a group are kept; the server may keep a few more. ``keep`` is how long a stream
    is kept after its last event.
    """

    def __init__(self, client: TimedClient, *, length: int, keep: timedelta) -> None:
        self._client = client
        self._length = length
        self._keep_ms = keep // timedelta(milliseconds=1)
        self._append = client.register_script(script("append"))

    async def append(self, events: Sequence[Event]) -> None:
        by_group: defaultdict[str, list[str]] = defaultdict(list)
        for event in events:
            by_group[event.group_id].append(encode_event(event))
        calls: list[ScriptCall] = [
            (KEYS + group_id, [self._length, self._keep_ms, *texts]) for group_id, texts in by_group.items()
        ]
        with translate_errors():
            await self._client.run_on_keys(self._append, calls)

    async def find_last(self, group_id: str) -> str:
        with translate_errors():
            newest: Any = await self._client.xrevrange(KEYS + group_id, count=1)
        return str(newest[0][0], "utf-8") if newest else BEGINNING

    async def read(self, group_id: str, *, after: str, limit: int) -> EventPage | None:
        # The range begins with the event itself, which proves that nothing after it was trimmed or lost.
        with translate_errors():
            if after == BEGINNING:
                return await self._read_from_beginning(group_id, limit)
            found: Any = await self._client.xrange(KEYS + group_id, min=after, count=limit + 1)
        if not found or str(found[0][0], "utf-8") != after:
            return None
        return _make_page(group_id, found[1:], after)

    async def _read_from_beginning(self, group_id: str, limit: int) -> EventPage | None:
        found = await self._client.xrange(KEYS + group_id, count=limit)
        if not found:
            return EventPage(events=[], last=BEGINNING)
        info = await self._client.xinfo_stream(KEYS + group_id)
        is_complete = info.get("entries-added", info["length"]) == info["length"]
        return _make_page(group_id, found, BEGINNING) if is_complete else None

    async def count(self, group_id: str) -> int:
        with translate_errors():
            return int(await self._client.xlen(KEYS + group_id))

    async def delete(self, group_id: str) -> None:
        with translate_errors():
            await self._client.delete(KEYS + group_id)


def encode_event(event: Event) -> str:
    """The event as JSON, without its id and its group, which the stream has."""
    fields = {
        "type": event.type.value,
        "at_ms": to_ms(event.at),
        "agent_id": event.agent_id,
        "session_id": event.session_id,
        "node_id": event.node_id,
        "data": dict(event.data),
    }
    present = {name: value for name, value in fields.items() if value is not None}
    return json.dumps(present, ensure_ascii=False, separators=(",", ":"))


def _make_page(group_id: str, found: Sequence[Any], after: str) -> EventPage:
    """The events of these entries, without those of an unknown type, which a newer version may have written."""
    events = [_decode_event(group_id, entry_id, fields) for entry_id, fields in found]
    last = str(found[-1][0], "utf-8") if found else after
    return EventPage(events=[event for event in events if event is not None], last=last)


def _decode_event(group_id: str, entry_id: bytes, fields: dict[bytes, bytes]) -> Event | None:
    try:
        found = json.loads(fields[FIELD])
        return Event(
            type=EventType(found["type"]),
            group_id=group_id,
            at=from_ms(found["at_ms"]),
            id=str(entry_id, "utf-8"),
            agent_id=found.get("agent_id"),
            session_id=found.get("session_id"),
            node_id=found.get("node_id"),
            data=found["data"],
        )
    except (ValueError, KeyError, TypeError):
        log.warning("unreadable event skipped", group_id=group_id)
        return None
