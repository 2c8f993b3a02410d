"""Events of a group, as server-sent events and on the command line."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field

from clearwell.views.view import View, is_absent
from clearwell.vocabulary import EventType

if TYPE_CHECKING:
    from clearwell.records import Event


class EventView(View):
    """What happened in a group: ids, counts and codes, never a text."""

    id: str | None = Field(
        None, exclude_if=is_absent, description="its place in the stream; continue after it with Last-Event-ID"
    )
    type: EventType
    group_id: str
    at: datetime
    agent_id: str | None = Field(None, exclude_if=is_absent)
    session_id: str | None = Field(None, exclude_if=is_absent)
    node_id: str | None = Field(None, exclude_if=is_absent)
    data: dict[str, Any] = Field(default_factory=dict, examples=[{"log_id": "…", "check": "length"}])

    @classmethod
    def from_record(cls, event: Event) -> Self:
        return cls.read(event, data=dict(event.data))

    def to_record(self) -> Event:
        from clearwell.records import Event

        return Event(
            type=self.type,
            group_id=self.group_id,
            at=self.at,
            id=self.id,
            agent_id=self.agent_id,
            session_id=self.session_id,
            node_id=self.node_id,
            data=self.data,
        )
