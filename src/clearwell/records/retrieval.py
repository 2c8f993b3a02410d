"""What retrieval finds."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from clearwell.records.entries import Memory
from clearwell.records.values import Label, Layer, Metadata, Scope, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A verified chunk, its raw cosine similarity to the query, and where words counted too, what it is ordered by."""

    memory: Memory
    similarity: float
    rank: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextItem:
    """One result of retrieval, ready to be shown to an agent with its label."""

    content: str
    source: Source
    score: float
    id: UUID
    group_id: str
    layer: Layer
    label: Label
    verified: bool
    relevance: float | None
    scope: Scope
    session_id: str | None
    agent_id: str | None
    author: str | None
    occurred_at: datetime | None
    created_at: datetime
    expires_at: datetime | None
    promoted_at: datetime | None
    chunk_no: int | None
    metadata: Metadata
    flags: tuple[str, ...] = ()
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """The items in the server's order, and the parts that did not answer."""

    items: tuple[ContextItem, ...]
    degraded: tuple[str, ...] = ()
