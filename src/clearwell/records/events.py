"""Events of a group: what happened, to what, and for whom."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from clearwell.records.values import Json
from clearwell.vocabulary import EventType

EVENT_FIELDS: Final[Mapping[EventType, tuple[str, ...]]] = {
    EventType.NODE_STATE_CHANGE: ("status", "context_length", "rating"),
    EventType.MEMORY_RETRIEVED: ("count", "ids", "hot_ids", "degraded", "query_from", "note"),
    EventType.MEMORY_RETRIEVAL_ERROR: ("reason", "code", "error"),
    EventType.FACT_CHECKED: ("rating", "method", "claims", "ids", "ratings", "claim_from", "degraded"),
    EventType.FACT_CHECK_ERROR: ("reason", "code", "error"),
    EventType.CAPTURED: ("log_id", "node_type", "partial"),
    EventType.ADMITTED: ("log_id", "node_type", "flags", "expires_at", "by"),
    EventType.REFUSED: ("log_id", "node_type", "check", "reason"),
    EventType.REQUEUED: ("log_id", "was", "by"),
    EventType.ENTRY_REMOVED: ("log_id", "by"),
    EventType.DIGEST_REQUESTED: ("digest_id", "by"),
    EventType.DIGEST_MADE: ("digest_id", "insights", "rows"),
    EventType.DIGEST_FAILED: ("digest_id", "reason", "attempts"),
    EventType.PROMOTED: (
        "memory_id",
        "decision_id",
        "origin",
        "origin_id",
        "supersedes",
        "waiting",
        "already",
        "by",
    ),
    EventType.PROMOTION_COMPLETED: ("memory_id", "chunks"),
    EventType.SUPERSEDED: ("memory_id", "superseded_by"),
    EventType.REJECTED: ("insight_id", "decision_id", "tombstone_id", "already", "by"),
    EventType.MERGED: ("insight_id", "others", "decision_id", "by"),
    EventType.SNOOZED: ("insight_id", "until", "decision_id", "by"),
    EventType.RETRACTED: ("memory_ids", "decision_id", "by"),
    EventType.UNDONE: (
        "decision_id",
        "undone",
        "insight_id",
        "memory_ids",
        "withdrawn",
        "tombstone_id",
        "until",
        "by",
    ),
    EventType.TOMBSTONE_ADDED: ("tombstone_id", "by"),
    EventType.TOMBSTONE_LIFTED: ("tombstone_id", "by"),
    EventType.SUBSCRIBED: (),
    EventType.RESET: ("reason",),
    EventType.DEGRADED: ("reason",),
    EventType.RECOVERED: (),
}
"""The fields of ``data``, by the type of the event. A field that does not apply is absent.

For events that nodes report as well, the last fields are only in the report of the node.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event of a group, with ids, counts and codes, but never with the text of an output or a memory.

    ``id`` is the position of the event in the stream of its group: a reader that was interrupted continues after the
    last id that it has seen. Events about the connection itself (``degraded``, ``recovered``) have none.
    """

    type: EventType
    group_id: str
    at: datetime
    id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    node_id: str | None = None
    data: Mapping[str, Json] = field(default_factory=dict)
