"""Events of a group as server-sent events."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import Annotated, Final, cast

from fastapi import APIRouter, Depends, Header, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import Field

from clearwell.adapters.http import openapi
from clearwell.adapters.http.fields import GroupParameters
from clearwell.adapters.http.request import ApiRequest, ApiRoute
from clearwell.errors import ClearwellError, NotAllowed, Unauthenticated, Unavailable
from clearwell.records import Event
from clearwell.views.events import EventView

router = APIRouter(tags=["events"], route_class=ApiRoute)

RETRY_MILLISECONDS: Final = 1_000
"""After which time a browser connects again."""
KEY_SECONDS: Final = 2.0
"""How long a stream trusts its key, whether there are events or not."""


LastEventId = Annotated[str | None, Header(alias="Last-Event-ID", description="the id of the last event that was seen")]


class EventParameters(GroupParameters):
    """Which events to follow."""

    after: str | None = Field(
        None, description="the id of the last event that was seen, for callers that cannot set Last-Event-ID"
    )


async def subscribe(
    request: ApiRequest,
    parameters: Annotated[EventParameters, Query()],
    last_event_id: LastEventId = None,
) -> AsyncIterator[tuple[Event, AsyncGenerator[Event]]]:
    """Yield the first event and those that follow. What is wrong with the request is answered before the stream."""
    after = parameters.after if last_event_id is None else last_event_id
    async with aclosing(request.memory.events(group=request.group(parameters), after=after)) as events:
        yield await anext(events), events


@router.get(
    "/api/v1/events",
    summary="Follow the events of a group",
    description="Server-sent events: captures, admissions, retrieval, digests, decisions. They have ids, counts and "
    "codes, never a text. The first event is subscribed. With Last-Event-ID the events since that one come first; if "
    "it is too old or unknown, the first event is reset, and what was read before should be read again. While Redis "
    "or Valkey does not respond there is an event degraded, and recovered afterwards. Events are best effort: the "
    "audit is the record. Requires the scope read, review or admin; callers with read alone get only what an agent may "
    "know.",
    response_class=EventSourceResponse,
    response_description="The events, with a comment every 15 seconds while nothing happens.",
    responses=openapi.problems(*openapi.READS),
)
async def events(
    request: ApiRequest, subscription: Annotated[tuple[Event, AsyncGenerator[Event]], Depends(subscribe)]
) -> AsyncIterator[EventView]:
    first, following = subscription
    yield _make_message(first, retry=RETRY_MILLISECONDS)
    async with aclosing(_follow(request, following)) as allowed:
        async for event in allowed:
            yield _make_message(event)


async def _follow(request: ApiRequest, following: AsyncGenerator[Event]) -> AsyncGenerator[Event]:
    """Yield the events while the key of the request is valid."""
    watch = KeyWatch(request)
    task = asyncio.create_task(watch.run())
    try:
        while not watch.refused:
            try:
                event = await watch.wait(following)
                await watch.require_recent()
            except (TimeoutError, StopAsyncIteration, ClearwellError):
                return
            yield event
    finally:
        task.cancel()


class KeyWatch:
    """Checks the key of a stream again and again, and ends the wait for the next event once it is refused."""

    def __init__(self, request: ApiRequest) -> None:
        self.refused = False
        self._request = request
        self._checked_at = time.monotonic()
        self._limit: asyncio.Timeout | None = None

    async def run(self) -> None:
        while not self.refused:
            await asyncio.sleep(KEY_SECONDS)
            # While the database does not respond, the stream stays open until there is an event to send.
            with suppress(Unavailable):
                await self._check()
        if self._limit is not None:
            self._limit.reschedule(asyncio.get_running_loop().time())

    async def wait(self, following: AsyncGenerator[Event]) -> Event:
        """Return the next event. Raises TimeoutError when the key is refused meanwhile."""
        try:
            async with asyncio.timeout(None) as self._limit:
                return await anext(following)
        finally:
            self._limit = None

    async def require_recent(self) -> None:
        """Check the key if that was not done in time. Raises Unauthenticated, NotAllowed or Unavailable."""
        if self.refused or time.monotonic() - self._checked_at > KEY_SECONDS:
            await self._request.authenticate(again=True)
            self._checked_at = time.monotonic()

    async def _check(self) -> None:
        try:
            await self._request.authenticate(again=True)
        except (Unauthenticated, NotAllowed):
            self.refused = True
        else:
            self._checked_at = time.monotonic()


def _make_message(event: Event, *, retry: int | None = None) -> EventView:
    """The message of an event. It is given the type of its data, which is what the OpenAPI document shows."""
    message = ServerSentEvent(data=EventView.from_record(event), event=event.type, id=event.id, retry=retry)
    return cast(EventView, message)
