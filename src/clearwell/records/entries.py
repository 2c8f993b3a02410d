"""The entries of the three tiers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from clearwell.records.values import Metadata, Vector
from clearwell.vocabulary import Layer, Origin, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEntry:
    """The fields that entries of all tiers have, by the protocol."""

    id: UUID
    group_id: str
    session_id: str | None
    content: str
    layer: Layer
    created_at: datetime
    embedding: Vector | None = field(default=None, compare=False, repr=False)
    expires_at: datetime | None = None
    verified: bool = False
    promoted_at: datetime | None = None
    agent_id: str | None = None
    occurred_at: datetime | None = None
    metadata: Metadata = field(default_factory=dict)

    @property
    def project_id(self) -> str:
        """The group under its other name in the protocol."""
        return self.group_id


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCapture:
    """One output of a node, as a caller sends it. Without a group it is stored in ``unassigned``.

    An output that is sent again with the same ``idempotency_key``, alone or among others, is stored once. The key is
    kept with the row, so this holds for as long as the row exists.
    """

    content: str
    group_id: str | None = None
    session_id: str | None = None
    node_id: str | None = None
    node_type: str = "agent"
    agent_id: str | None = None
    occurred_at: datetime | None = None
    metadata: Metadata = field(default_factory=dict)
    partial: bool = False
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture(MemoryEntry):
    """A row of quarantine: one output of a node."""

    layer: Layer = Layer.QUARANTINE
    node_id: str | None = None
    node_type: str = "agent"
    partial: bool = False
    captured_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryStatement:
    """A claim or decision of an entry: its place in the content, and its vector."""

    start: int
    end: int
    embedding: Vector = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingEntry(MemoryEntry):
    """An unverified entry of working memory. It has the id of its quarantine row.

    The vectors of ``statements`` are of the same model as ``embedding``. An entry without statements is compared as a
    whole.
    """

    layer: Layer = Layer.WORKING
    embedding_model: str | None = None
    node_type: str = "agent"
    flags: tuple[str, ...] = ()
    cut: bool = False
    statements: tuple[EntryStatement, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingCapacity:
    """The number of entries that a group keeps, and how many of them one agent keeps while others need the room.

    So an agent that writes a lot replaces its own entries, not those of other agents.
    """

    size: int
    agent_size: int

    def choose(self, entries: Sequence[WorkingEntry]) -> list[WorkingEntry]:
        """Return the entries that are kept. Both lists have the newest first."""
        counts: Counter[str | None] = Counter()
        surplus: list[int] = []
        for place, entry in enumerate(entries):
            counts[entry.agent_id] += 1
            if counts[entry.agent_id] > self.agent_size:
                surplus.append(place)
        order = sorted(range(len(entries)), key=set(surplus).__contains__)
        return [entries[place] for place in sorted(order[: self.size])]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """A text that a person promotes.

    ``acknowledge`` has the flags that the person has seen: ``hidden_text``, ``instruction_like``. Invisible characters
    are stored only with ``keep_invisible``. ``flags`` are set by the program.
    """

    content: str
    session_id: str | None = None
    author: str | None = None
    occurred_at: datetime | None = None
    agent_id: str | None = None
    metadata: Metadata = field(default_factory=dict)
    origin: Origin = Origin.TYPED
    origin_id: UUID | None = None
    supersedes: UUID | None = None
    acknowledge: tuple[str, ...] = ()
    keep_invisible: bool = False
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(MemoryEntry):
    """One verified chunk of long-term memory. Chunks of one memory share its id."""

    layer: Layer = Layer.LONGTERM
    verified: bool = True
    promotion_id: UUID
    chunk_no: int
    scope: Scope
    author: str | None = None
    embedding_model: str
    valid_to: datetime | None = None
    flags: tuple[str, ...] = ()
