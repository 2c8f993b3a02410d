"""Forgetting: the selection, the plan of the erasure, and the receipt."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Final
from uuid import UUID

from clearwell.records.values import Metadata

TOKEN_LENGTH: Final = 64
BEGINNING: Final = UUID(int=0)
CHANGING: Final = frozenset({"outputs", "later", "verdicts_of"})
"""The kinds of ids in a plan that change whenever an agent sends an output."""
COPIES: Final = ("working_entries", "answers", "recalls", "events", "jobs")
"""What goes with the rows of a plan: entries of working memory, stored answers to requests, recalls, the events of the
group's stream, and jobs that wait."""
ON_THE_WAY_MILLISECONDS: Final = 5_000
"""An output gets its id before it is stored, so one with an earlier id may not be stored yet during a preview."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetSelector:
    """Selects what to forget, by one of these. ``everything`` is the whole group, ``subject`` all texts with it."""

    log_id: UUID | None = None
    session_id: str | None = None
    agent_id: str | None = None
    memory_id: UUID | None = None
    subject: str | None = None
    everything: bool = False

    @property
    def kind(self) -> str:
        """The name of the field that is set; empty if it is not exactly one."""
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
class AssignedCopy:
    """The row that an output without a group has in the group that it was assigned to."""

    group_id: str
    id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasurePlan:
    """Everything that a forget affects, by ids.

    It is made of what there was when it was previewed, up to the id ``until``. What came ``later`` and is named by the
    selector, or copies what was previewed, is removed as well, but nothing else is because of it.

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
    later: tuple[UUID, ...] = ()
    """Outputs that came after the preview and are removed with the others."""
    until: UUID = BEGINNING
    originals: tuple[UUID, ...] = ()
    """Outputs without a group that were assigned to this one: they are removed from the reserved group, too."""
    assigned_elsewhere: tuple[AssignedCopy, ...] = ()
    """Rows of other groups that were assigned from the same outputs. They stay, until they are forgotten there."""
    agents: tuple[str, ...] = ()
    profile: bool = False
    """Whether the system prompt of the group is emptied."""
    released: tuple[UUID, ...] = ()
    value_hashes: tuple[bytes, ...] = ()
    copies: Mapping[str, int] = field(default_factory=dict)
    """How much of each of ``COPIES`` is erased with the rows, where it was counted."""

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
            "originals": self.originals,
            "later": self.later,
        }

    @property
    def counts(self) -> dict[str, int]:
        """How many rows are removed or emptied, and how much goes with them, by kind."""
        return {**self._rows, **self.copies}

    @property
    def _rows(self) -> dict[str, int]:
        found = {kind: len(ids) for kind, ids in self.ids.items()}
        return {**found, "agents": len(self.agents), "profiles": int(self.profile)}

    @property
    def things(self) -> int:
        """The number of rows that are removed or emptied."""
        return sum(self._rows.values())

    @property
    def token(self) -> str:
        """Identifies the time of the preview, and everything that must not change after it.

        Agents can send outputs at any time, and must not be able to delay a forget in this way. So the token does not
        cover outputs that came later, verdicts, or outputs that may not have been stored yet.
        """
        listed = {kind: sorted(map(str, ids)) for kind, ids in self.ids.items() if kind not in CHANGING}
        settled = sorted(str(one) for one in self.outputs if _read_milliseconds(one) < self._settled_before)
        known = json.dumps([listed, settled, sorted(self.agents), self.profile], sort_keys=True)
        return f"{self.until.hex}{sha256(known.encode()).hexdigest()[:32]}"

    @property
    def _settled_before(self) -> int:
        return _read_milliseconds(self.until) - ON_THE_WAY_MILLISECONDS


def read_token_moment(token: str) -> UUID | None:
    """Return the id that identifies the time of the preview in a token, or None if it is not a token."""
    try:
        return UUID(hex=token[:32]) if len(token) == TOKEN_LENGTH else None
    except ValueError:
        return None


def _read_milliseconds(ordered: UUID) -> int:
    """Return the time in a UUIDv7."""
    return ordered.int >> 80


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReceipt:
    """Records what was forgotten, when and by whom. It has ids and numbers, but no text that was forgotten."""

    id: UUID
    group_id: str
    kind: str
    at: datetime
    by: str
    counts: Mapping[str, int]
    outputs: tuple[UUID, ...] = ()
    memories: tuple[UUID, ...] = ()
    released: tuple[UUID, ...] = ()
    originals: tuple[UUID, ...] = ()
    tombstones: int = 0
    signature: str = ""
    public_key: str = ""

    def to_bytes(self) -> bytes:
        """Return the bytes that are signed."""
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
        if self.originals:
            # Receipts that were signed before this field existed keep their bytes.
            known["originals"] = list(map(str, self.originals))
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
    """Texts of a group and the ids that they are based on. ``quotes`` and ``quoted`` are only quoted next to them."""

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
    metadata: Metadata = field(default_factory=dict)
    assigned_from: UUID | None = None
    """The output of the reserved group that it was assigned from."""
