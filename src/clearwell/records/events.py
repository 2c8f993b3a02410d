"""Events of a group: what happened, to what, and for whom."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from clearwell.records.values import Json
from clearwell.vocabulary import EventType


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event of a group, with ids, counts and codes, but never with the text of an output or a memory.

    ``id`` is the place of the event in the stream of its group: a reader that was interrupted continues after the last
    id that it has seen. Events about the connection itself (``degraded``, ``recovered``) have none.
    """

    type: EventType
    group_id: str
    at: datetime
    id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    node_id: str | None = None
    data: Mapping[str, Json] = field(default_factory=dict)
