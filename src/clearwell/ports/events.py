"""The streams of events, one for each group."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from clearwell.records import Event

BEGINNING: Final = "0-0"
"""The id before the first event of a stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """Events of a group, oldest first. The next page is the one after ``last``."""

    events: Sequence[Event]
    last: str


class EventStore(Protocol):
    """Keeps the newest events of each group for a while. It is best effort: the audit is the record."""

    async def append(self, events: Sequence[Event]) -> None:
        """Append events to the streams of their groups, in this order. The store gives each one its id."""
        ...

    async def find_last(self, group_id: str) -> str:
        """Return the id of the newest event of a group, or ``BEGINNING`` if the stream is empty."""
        ...

    async def read(self, group_id: str, *, after: str, limit: int) -> EventPage | None:
        """Return the events after this id.

        None if the stream does not have the event with this id, so that events may be missing.
        """
        ...

    async def count(self, group_id: str) -> int:
        """How many events the stream of a group has."""
        ...

    async def delete(self, group_id: str) -> None:
        """Delete the stream of a group. Its readers are reset."""
        ...
