"""What the nodes of a workflow share: the events of a run, the form of a state, and the words of an error."""

import inspect
from collections.abc import Awaitable, Callable, Mapping

from clearwell.errors import ClearwellError, InvalidInput
from clearwell.messages import Language
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


def require_state(state: object) -> Mapping[str, object]:
    """Return the fields of a state. Raises InvalidInput if it has none."""
    if not isinstance(state, Mapping):
        raise InvalidInput("node_state_form", field="state", type=type(state).__name__)
    return state


def describe_error(error: Exception, language: Language, *, otherwise: str) -> tuple[str, str]:
    """Return the code and the message of an error of a run. One that is not ours has the code ``otherwise``."""
    if isinstance(error, ClearwellError):
        return error.code, error.text(language)
    return otherwise, type(error).__name__
