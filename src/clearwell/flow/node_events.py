"""The events of a run of a workflow node."""

import inspect
from collections.abc import Awaitable, Callable

from clearwell.ports import Clock
from clearwell.records import EventType, Json, NodeEvent

OnEvent = Callable[[NodeEvent], Awaitable[None] | None]


class EventLog:
    """Collects the events of one run, and passes each to the caller's function."""

    def __init__(self, clock: Clock, on_event: OnEvent | None) -> None:
        self.emitted: list[NodeEvent] = []
        self._clock = clock
        self._on_event = on_event

    async def emit(self, event_type: EventType, **data: Json) -> None:
        await self.add(NodeEvent(type=event_type, at=self._clock.now(), data=data))

    async def add(self, event: NodeEvent) -> None:
        self.emitted.append(event)
        pending = None if self._on_event is None else self._on_event(event)
        if inspect.isawaitable(pending):
            await pending
