"""Forgetting: what to forget, what that touches, and the receipt."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetSelector:
    """What to forget: one of these. ``everything`` is the whole group, ``subject`` whatever contains it."""

    log_id: UUID | None = None
    session_id: str | None = None
    agent_id: str | None = None
    memory_id: UUID | None = None
    subject: str | None = None
    everything: bool = False

    @property
    def kind(self) -> str:
        """The name of what is set; empty if it is not exactly one."""
        named = {
            "quarantine": self.log_id,
            "session": self.session_id,
            "agent": self.agent_id,
            "memory": self.memory_id,
            "subject": self.subject,
            "group": self.everything or None,
        }
        found = [name for name, value in named.items() if value is not None]
        return found[0] if len(found) == 1 else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasurePlan:
    """Everything that a forget touches, by ids.

    Outputs and memories are removed, insights, promotions and decisions lose their texts. ``released`` are outputs that
    stay and that the next digest reads again, because an insight that also rested on them is gone.
    """

    outputs: tuple[UUID, ...] = ()
    insights: tuple[UUID, ...] = ()
    promotions: tuple[UUID, ...] = ()
    memories: tuple[UUID, ...] = ()
    decisions: tuple[UUID, ...] = ()
    quoting_insights: tuple[UUID, ...] = ()
    """Insights that stay, and lose only what they quote: contradictions, sides and notes."""
    verdicts_of: tuple[UUID, ...] = ()
    """Outputs that stay, whose verdicts quote what is forgotten."""
    tombstones: tuple[UUID, ...] = ()
    """Tombstones of rejected values that are replaced by those of forgotten ones."""
    agents: tuple[str, ...] = ()
    profile: bool = False
    """Whether the system prompt of the group is emptied."""
    released: tuple[UUID, ...] = ()
    value_hashes: tuple[bytes, ...] = ()

    @property
    def ids(self) -> dict[str, tuple[UUID, ...]]:
        """The ids of everything that is removed or emptied, by kind."""
        return {
            "outputs": self.outputs,
            "insights": self.insights,
            "promotions": self.promotions,
            "memories": self.memories,
            "decisions": self.decisions,
            "quoting_insights": self.quoting_insights,
            "verdicts_of": self.verdicts_of,
            "tombstones": self.tombstones,
        }

    @property
    def counts(self) -> dict[str, int]:
        found = {kind: len(ids) for kind, ids in self.ids.items()}
        return {**found, "agents": len(self.agents), "profiles": int(self.profile)}

    @property
    def things(self) -> int:
        """How many things are removed or emptied."""
        return sum(self.counts.values())

    @property
    def token(self) -> str:
        """Stands for exactly this plan."""
        listed = {kind: sorted(map(str, ids)) for kind, ids in self.ids.items()}
        known = json.dumps([listed, sorted(self.agents), self.profile], sort_keys=True)
        return sha256(known.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReceipt:
    """What was forgotten, when and by whom. It has ids and numbers, and nothing of what was forgotten."""

    id: UUID
    group_id: str
    kind: str
    at: datetime
    by: str
    counts: Mapping[str, int]
    outputs: tuple[UUID, ...] = ()
    memories: tuple[UUID, ...] = ()
    released: tuple[UUID, ...] = ()
    tombstones: int = 0
    signature: str = ""
    public_key: str = ""

    def to_bytes(self) -> bytes:
        """The bytes that are signed."""
        known: dict[str, object] = {
            "receipt": "clearwell forget",
            "id": str(self.id),
            "group_id": self.group_id,
            "kind": self.kind,
            "at": self.at.isoformat(timespec="microseconds"),
            "by": self.by,
            "counts": dict(self.counts),
            "outputs": list(map(str, self.outputs)),
            "memories": list(map(str, self.memories)),
            "released": list(map(str, self.released)),
            "tombstones": self.tombstones,
        }
        return json.dumps(known, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredForget:
    """A forget whose rows are erased. ``done`` is whether working memory and the streams are erased, too."""

    receipt: ForgetReceipt
    token: str
    agents: tuple[str, ...] = ()
    done: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasableText:
    """Texts of a group and the ids that they rest on. ``quotes`` and ``quoted`` are only cited, beside the text."""

    id: UUID
    texts: tuple[str, ...]
    refers_to: frozenset[UUID] = field(default_factory=frozenset)
    quotes: frozenset[UUID] = field(default_factory=frozenset)
    quoted: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasableOutput:
    """An output in quarantine."""

    id: UUID
    session_id: str | None
    agent_id: str | None
    content: str
    extra: str
    """Its metadata and other fields as text."""
