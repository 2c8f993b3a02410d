"""Events and output of a workflow node."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from clearwell.records.values import Json
from clearwell.vocabulary import EventType


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEvent:
    """One event, with ids and numbers but never with the text of a memory."""

    type: EventType
    at: datetime
    data: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRun:
    """The output of a node: its input with ``history_context`` added, and its events."""

    output: Mapping[str, object]
    events: tuple[NodeEvent, ...]
