"""The events of a group over HTTP: server-sent events as records, over as many connections as it takes."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Final

import structlog
from pydantic import ValidationError

from clearwell.client.api import ApiConnection
from clearwell.errors import Unavailable
from clearwell.records import Event
from clearwell.views.events import EventView
from clearwell.vocabulary import EventType

FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 10.0
SILENCE_SECONDS: Final = 45.0
"""The server sends a comment every 15 seconds: after this time without any, the connection is dead."""

log = structlog.get_logger(__name__)


async def follow_events(api: ApiConnection, group_id: str, *, after: str | None = None) -> AsyncGenerator[Event]:
    """Yield the events of a group, as ``MemoryManager.events`` does.

    If the connection ends, this connects again and continues after the last event. While the server does not respond
    there is one event ``degraded``, and ``recovered`` when it is back. Raises the errors of the first connection, and
    later those that a repetition does not mend, such as a revoked key.
    """
    last, subscribed, degraded, pause = after, False, False, FIRST_PAUSE
    while True:
        try:
            async with aclosing(_read_events(api, group_id, last)) as events:
                async for event in events:
                    last, pause = event.id or last, FIRST_PAUSE
                    if degraded:
                        yield _make_event(EventType.RECOVERED, group_id)
                    if event.type is not EventType.SUBSCRIBED or not subscribed:
                        yield event
                    subscribed, degraded = True, False
        except Unavailable as error:
            if not subscribed:
                raise
            if not degraded:
                yield _make_event(EventType.DEGRADED, group_id, reason=error.code)
            degraded = True
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)


async def _read_events(api: ApiConnection, group_id: str, after: str | None) -> AsyncGenerator[Event]:
    """Yield the events of one connection, without those of an unknown type, which a newer server may send."""
    headers = {} if after is None else {"Last-Event-ID": after}
    lines = api.stream("/events", headers=headers, silence_seconds=SILENCE_SECONDS, group_id=group_id)
    async with aclosing(lines):
        async for data in _read_data(lines):
            try:
                yield EventView.model_validate_json(data).to_record()
            except ValidationError:
                log.warning("unreadable event skipped", group_id=group_id)


async def _read_data(lines: AsyncIterator[str]) -> AsyncIterator[str]:
    """Yield the data of each message. The type and the id of an event are part of its data."""
    data: list[str] = []
    async for line in lines:
        name, _, value = line.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data.clear()


def _make_event(event_type: EventType, group_id: str, **data: str) -> Event:
    return Event(type=event_type, group_id=group_id, at=datetime.now(UTC), data=dict(data))
