"""Results of retrieval."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from clearwell.records.entries import Memory
from clearwell.records.values import Metadata
from clearwell.vocabulary import Label, Layer, Scope, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The weighted terms of the rank of a chunk. The rank is their sum."""

    dense: float
    lexical: float
    author: float
    neighbour: float
    answer: float
    session: float

    @property
    def total(self) -> float:
        """The rank."""
        return self.dense + self.lexical + self.author + self.neighbour + self.answer + self.session


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundChunk:
    """A verified chunk and how it was found.

    ``similarity`` is the raw cosine, None without a query vector. ``words`` is the share of the query's words that it
    and its neighbours have, weighted by rarity. ``rank`` is the order of results if words were searched, too.
    ``origin_id`` is what it was promoted from. ``conflicts_with`` are the valid memories that it contradicts, if words
    were searched. ``superseded`` is whether another memory has taken its place since the time that is asked about.
    """

    memory: Memory
    similarity: float | None
    words: float = 0.0
    rank: float | None = None
    parts: Parts | None = None
    origin_id: UUID | None = None
    conflicts_with: tuple[UUID, ...] = ()
    superseded: bool = False


@dataclass(frozen=True, slots=True)
class PromotedPart:
    """An output that was promoted, or with ``span`` the statement of it that a promoted insight rests on."""

    log_id: UUID
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How the scores of an item were computed. Unverified items also have an age.

    ``parts`` and ``rank`` are None without a query, or if only vectors were searched.
    """

    cosine: float | None
    words: float
    parts: Parts | None = None
    rank: float | None = None
    age_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextItem:
    """One result of retrieval, with its label.

    ``withdrawn_at`` is set if the item was verified at the time that the query asks about and no longer is.
    ``agent_name`` is the agent if an operator has named it: labels show no name that an agent gave itself. ``cut``
    means that the text continues after the content, ``cut_before`` that it begins before it. ``match`` is the span of
    the content that answers the query best, if the content has several statements or was cut.
    """

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
    explanation: Explanation | None = None
    node_type: str | None = None
    conflicts_with: tuple[UUID, ...] = ()
    cut_before: bool = False
    match: tuple[int, int] | None = None
    agent_name: str | None = None
    withdrawn_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedMemory:
    """One valid memory of long-term memory, with its whole text."""

    id: UUID
    group_id: str
    content: str
    scope: Scope
    agent_id: str | None
    session_id: str | None
    author: str | None
    occurred_at: datetime | None
    promoted_at: datetime | None
    metadata: Metadata
    flags: tuple[str, ...] = ()


CLEAR_RELEVANCE: Final = 0.7
"""If no item has this relevance, the answer says that nothing clearly answers the query.

It is the value of the scale at which most items that answer are kept. Tested on questions with and without an answer in
LoCoMo and MemDaily groups: ``bench/results/retrieval.md``, "Questions without an answer".
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """The items in order, the components that did not respond, and the tiers that were searched.

    ``left_out`` is the number of live entries whose relevance is below ``hot_threshold``.
    """

    items: tuple[ContextItem, ...]
    degraded: tuple[str, ...] = ()
    sources: tuple[Source, ...] = (Source.HOT, Source.COLD)
    left_out: int = 0

    @property
    def note(self) -> str | None:
        """The code of the message that says why there are no items, or that none of them clearly answers the query."""
        if self.items:
            return "retrieval_unclear" if self._is_unclear else None
        if self.degraded:
            return "retrieval_incomplete"
        return "retrieval_left_out" if self.left_out else "retrieval_empty"

    @property
    def _is_unclear(self) -> bool:
        """Whether every item has a low relevance. Without the embedding model or without a query none is known."""
        known = [item.relevance for item in self.items if item.relevance is not None]
        return not self.degraded and len(known) == len(self.items) and max(known) < CLEAR_RELEVANCE
