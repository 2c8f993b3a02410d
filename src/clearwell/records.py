"""What moves along the path: frozen records, aware UTC times, the group always explicit."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeAlias
from uuid import UUID

import numpy as np
import numpy.typing as npt

from clearwell.messages import Language, say

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
Metadata: TypeAlias = Mapping[str, Json]
Vector: TypeAlias = npt.NDArray[np.float32]

UNASSIGNED: Final = "unassigned"
"""The reserved group of captures that named none."""

NOTHING: Final[Metadata] = MappingProxyType({})


class Layer(StrEnum):
    """The tier an entry is in."""

    QUARANTINE = "quarantine"
    WORKING = "working"
    LONGTERM = "longterm"


class Admission(StrEnum):
    """Where a captured row stands between quarantine and working memory."""

    PENDING = "pending"
    ADMITTED = "admitted"
    REFUSED = "refused"


class Outcome(StrEnum):
    """How one check of the ingress filter ended."""

    PASS = "pass"
    FAIL = "fail"
    FLAG = "flag"
    PENDING = "pending"
    NOT_CHECKED = "not_checked"


class Source(StrEnum):
    """The side of retrieval an item came from."""

    HOT = "hot"
    COLD = "cold"


class Label(StrEnum):
    """What a reader must know of an item."""

    EPHEMERAL = "ephemeral"
    VERIFIED = "verified"


class Scope(StrEnum):
    """Whose memory it is: the group's, or one agent's own experience."""

    GROUP = "group"
    AGENT = "agent"


class TombstoneKind(StrEnum):
    """Why a value must not come back."""

    REJECTED = "rejected"
    FORGOTTEN = "forgotten"


class Origin(StrEnum):
    """What a promotion was made from."""

    TYPED = "typed"
    WORKING = "working"
    QUARANTINE = "quarantine"
    INSIGHT = "insight"


class Right(StrEnum):
    """What a key may be allowed to do."""

    CAPTURE = "capture"
    READ = "read"
    REVIEW = "review"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who is asking. ``groups`` is None where every group is covered."""

    name: str
    rights: frozenset[Right]
    groups: frozenset[str] | None = None
    agent_id: str | None = None

    @classmethod
    def local(cls, name: str = "local") -> "Principal":
        """The person at the machine: every right, every group."""
        return cls(name=name, rights=frozenset(Right))

    def lowered(self) -> "Principal":
        """The same caller acting for an agent: no more than capture and read."""
        rights = self.rights & {Right.CAPTURE, Right.READ}
        return Principal(name=f"{self.name}/agent", rights=rights, groups=self.groups, agent_id=self.agent_id)

    def covers(self, group_id: str) -> bool:
        return self.groups is None or group_id in self.groups


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEntry:
    """The protocol's common fields of an entry, whatever tier it is in."""

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
        """The protocol's other name of the group."""
        return self.group_id


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCapture:
    """One output of a node, as a caller hands it in. Without a group it goes to ``unassigned``."""

    content: str
    group_id: str | None = None
    session_id: str | None = None
    node_id: str | None = None
    node_type: str = "agent"
    agent_id: str | None = None
    occurred_at: datetime | None = None
    metadata: Metadata = field(default_factory=dict)
    partial: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture(MemoryEntry):
    """A row of quarantine: what a node said, for ever."""

    layer: Layer = Layer.QUARANTINE
    node_id: str | None = None
    node_type: str = "agent"
    partial: bool = False
    captured_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The recorded outcome of one check: what was measured, against what, and why it ended so."""

    check: str
    outcome: Outcome
    reason: str
    value: Json = None
    threshold: float | None = None
    params: Metadata = field(default_factory=dict)
    at: datetime | None = None

    def explanation(self, language: Language = "en") -> str:
        """The reason in words."""
        params = {**self.params, "value": _said(self.value), "threshold": _said(self.threshold)}
        for name in ("problem", "differs"):
            # A sentence within the sentence is stored as its code, so that it can be said in either language.
            inner, of = params.get(f"{name}_code"), params.get(f"{name}_params")
            if isinstance(inner, str):
                params[name] = say(inner, language, **(of if isinstance(of, dict) else {}))
        return say(self.reason, language, **params)


def _said(value: Json) -> Json:
    """A measured value as people write it: 50 and not 50.0, text in quotes."""
    if value is None:
        return "–"
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    return f"{value:.12g}" if isinstance(value, float) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """The entry that a capture said again, and the tier it is in."""

    entry_id: UUID
    layer: Layer


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a judge found in a text. Its words may quote the text, and are to be forgotten with it.

    ``contradiction`` and ``hallucination`` quote what was found; both are None where a judge said only yes or no.
    """

    consistent: bool
    contradiction: str | None = None
    hallucination: str | None = None
    reason: str = ""
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IngressCount:
    """How often one check ended one way for one agent."""

    agent_id: str | None
    check: str
    outcome: Outcome
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """A value that must not come back. The value itself is not kept."""

    id: UUID
    group_id: str
    kind: TombstoneKind
    reason: str
    made_by: str
    made_at: datetime
    lifted_by: str | None = None
    lifted_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureReceipt:
    """The answer to a capture: where it is kept and where its admission stands."""

    id: UUID
    group_id: str
    admission: Admission
    verdicts: tuple[Verdict, ...] = ()
    replayed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenAgain:
    """One time that an entry was said again."""

    log_id: UUID
    agent_id: str | None
    session_id: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineRow:
    """The whole fate of a captured row, for reviewers."""

    capture: Capture
    admission: Admission
    attempts: int
    settled_at: datetime | None
    flags: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    removed_at: datetime | None = None
    sighting_of: UUID | None = None
    sightings: tuple[SeenAgain, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingEntry(MemoryEntry):
    """An unverified entry of working memory. Its id is its quarantine row's."""

    layer: Layer = Layer.WORKING
    embedding_model: str | None = None
    node_type: str = "agent"
    flags: tuple[str, ...] = ()
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """Text that a person decides to promote."""

    content: str
    session_id: str | None = None
    author: str | None = None
    occurred_at: datetime | None = None
    agent_id: str | None = None
    metadata: Metadata = field(default_factory=dict)
    origin: Origin = Origin.TYPED
    origin_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """A person's decision that a text is knowledge, and the memory it became."""

    id: UUID
    memory_id: UUID
    group_id: str
    decided_by: str
    decided_at: datetime
    text: NewMemory
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """The answer to a promotion: the memory that the text became."""

    id: UUID
    promotion_id: UUID
    chunks: int
    replayed: bool = False

    def to_json(self) -> Json:
        return {"id": str(self.id), "promotion_id": str(self.promotion_id), "chunks": self.chunks}

    @classmethod
    def from_json(cls, stored: Json) -> "Promoted":
        """The answer that the first run of a repeated request gave."""
        if not isinstance(stored, dict):
            raise TypeError(f"a stored answer is an object, not {type(stored).__name__}")
        return cls(
            id=UUID(str(stored["id"])),
            promotion_id=UUID(str(stored["promotion_id"])),
            chunks=int(str(stored["chunks"])),
            replayed=True,
        )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key without its secret."""

    id: UUID
    name: str
    rights: frozenset[Right]
    groups: frozenset[str] | None
    agent_id: str | None
    created_at: datetime
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLookup:
    """What the one key look-up tells: the valid key by that hash, and whether any was ever made."""

    key: ApiKey | None
    any_key_ever: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyKey:
    """A caller's promise that a repeated request is the same one."""

    principal: str
    route: str
    key: str
    request_hash: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """What happened to what, by whom. Never with the content itself."""

    id: UUID
    group_id: str
    at: datetime
    actor: str
    action: str
    subject: str
    detail: Metadata = field(default_factory=dict)
