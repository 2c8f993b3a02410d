"""The publisher: stages hand over events, and it writes them in the background.

Publishing returns at once and never fails. Events that cannot be written, because Redis or Valkey does not respond or
too many are waiting, are dropped and counted. The readers of their groups are then reset, so that they do not go on
with wrong numbers.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final

import structlog

from clearwell.errors import Unavailable
from clearwell.flow.counters import Counters
from clearwell.ports import Clock, EventStore
from clearwell.records import Capture, Event, EventType, Json

WRITE_DELAY: Final = 0.05
"""Seconds for which events are collected before they are written."""
BATCH: Final = 500
MAX_WAITING: Final = 10_000
"""How many events may wait to be written. At most a few kilobytes each."""
MAX_GAPS: Final = 1_000
"""How many groups with lost events are remembered until they can be told."""

log = structlog.get_logger(__name__)


class EventPublisher:
    """Collects events and appends them to the streams of their groups, in the order in which they were published."""

    def __init__(self, store: EventStore, clock: Clock, counters: Counters) -> None:
        self._store = store
        self._clock = clock
        self._counters = counters
        self._waiting: deque[Event] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._gaps: dict[str, None] = {}
        self._failing = False

    def publish(
        self,
        event_type: EventType,
        group_id: str,
        *,
        agent_id: str | None = None,
        session_id: str | None = None,
        node_id: str | None = None,
        **data: Json,
    ) -> None:
        """Publish what has just been committed. Values of ``data`` that are None are left out."""
        event = Event(
            type=event_type,
            group_id=group_id,
            at=self._clock.now(),
            agent_id=agent_id,
            session_id=session_id,
            node_id=node_id,
            data={name: value for name, value in data.items() if value is not None},
        )
        if len(self._waiting) >= MAX_WAITING:
            self._lose([event], reason="too many waiting")
            return
        self._waiting.append(event)
        if self._timer is None and self._writing is None:
            self._collect()

    def publish_output(self, event_type: EventType, output: Capture, **data: Json) -> None:
        """Publish what happened to an output, with its ids."""
        self.publish(
            event_type,
            output.group_id,
            agent_id=output.agent_id,
            session_id=output.session_id,
            node_id=output.node_id,
            log_id=str(output.id),
            node_type=output.node_type,
            **data,
        )

    async def flush(self) -> None:
        """Wait until everything is written or dropped, also what is published meanwhile."""
        while self._timer is not None or self._writing is not None:
            if self._timer is not None:
                self._timer.cancel()
                self._start_writing()
            if self._writing is not None:
                await asyncio.wait([self._writing])

    def _collect(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(WRITE_DELAY, self._start_writing)

    def _start_writing(self) -> None:
        self._timer = None
        self._writing = asyncio.create_task(self._write_waiting(), name="write events")

    async def _write_waiting(self) -> None:
        """Write what waits now. What is published meanwhile is collected again, so that a steady flow is written in
        batches and not one by one."""
        left = len(self._waiting)
        try:
            while left:
                batch = [self._waiting.popleft() for _ in range(min(BATCH, left))]
                left -= len(batch)
                await self._write(batch)
        finally:
            self._writing = None
            if self._waiting:
                self._collect()

    async def _write(self, events: Sequence[Event]) -> None:
        gaps, now = list(self._gaps), self._clock.now()
        resets = [Event(type=EventType.RESET, group_id=group, at=now, data={"reason": "events_lost"}) for group in gaps]
        try:
            await self._store.append([*resets, *events])
        except Unavailable as error:
            self._lose(events, reason=error.code)
            return
        for group_id in gaps:
            self._gaps.pop(group_id, None)
        if self._failing:
            log.info("event writing resumed", events=len(events))
            self._failing = False

    def _lose(self, events: Sequence[Event], *, reason: str) -> None:
        for event in events:
            self._counters.count_lost_event(event.group_id)
            if len(self._gaps) < MAX_GAPS:
                self._gaps[event.group_id] = None
        if not self._failing:
            log.warning("events not written", events=len(events), reason=reason)
            self._failing = True
