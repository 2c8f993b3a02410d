"""What a node of a workflow tells while it runs, and what it leaves."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from clearwell.records.values import Json
from clearwell.vocabulary import NodeEventType


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEvent:
    """One thing that happened, with ids and numbers and never with content."""

    type: NodeEventType
    at: datetime
    data: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRun:
    """The output of a node: its input with ``history_context`` added, and what happened on the way."""

    output: Mapping[str, object]
    events: tuple[NodeEvent, ...]
