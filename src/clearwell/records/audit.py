"""Audit events, the seals over them, and what a verification finds."""

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from uuid import UUID

from clearwell.records.values import Metadata
from clearwell.vocabulary import AuditFault, AuditWarning, HeadsProblem

INSTALLATION = ""
"""The group of events that concern the whole installation, such as those of keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """One event of the audit log: who did what to what. It never contains the text itself."""

    id: UUID
    group_id: str
    at: datetime
    actor: str
    action: str
    subject: str
    detail: Metadata = field(default_factory=dict)
    signature: bytes | None = None
    """Made when the event is stored. Events from before signing was introduced have none."""

    def to_bytes(self) -> bytes:
        """Return the bytes that are signed and sealed: everything except the signature, in canonical form."""
        return _canonical(
            [
                "clearwell audit event",
                str(self.id),
                self.group_id,
                _moment(self.at),
                self.actor,
                self.action,
                self.subject,
                self.detail,
            ]
        )

    @property
    def hash(self) -> bytes:
        """The hash of this event in a seal. It covers the signature, too."""
        return sha256(self.to_bytes() + b"\n" + (self.signature or b"")).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which events to read; None is any."""

    actor: str | None = None
    action: str | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSeal:
    """A signed statement about a batch of events of one group, and through ``root`` about all batches before it."""

    group_id: str
    number: int
    sealed_at: datetime
    event_ids: tuple[UUID, ...]
    event_hashes: tuple[bytes, ...]
    root: bytes
    signature: bytes

    def make_root(self, previous: bytes) -> bytes:
        """Return the root that this seal must have after the seal with the root ``previous``."""
        return seal_root(previous, self.number, self.event_ids, self.event_hashes)

    def to_bytes(self) -> bytes:
        """Return the bytes that are signed."""
        return head_bytes(self.group_id, self.number, self.root, self.sealed_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditHead:
    """The last seal of a group, to be kept outside of the database. ``number`` is 0 if nothing was sealed."""

    group_id: str
    number: int
    root: str
    sealed_at: datetime | None
    signature: str
    public_key: str

    def to_bytes(self) -> bytes:
        return head_bytes(self.group_id, self.number, bytes.fromhex(self.root), self.sealed_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownHead:
    """The last seal of a group that this installation has seen, as it is kept in the data folder."""

    group_id: str
    number: int
    root: bytes
    begun_at: datetime | None = None
    """When the head was created from existing seals. Changes to them before that time cannot be detected."""
    refused_at: datetime | None = None
    """When the stored seals were first found not to continue this head."""

    def advance(self, newer: "KnownHead") -> "KnownHead":
        """Return the head after ``newer`` was seen. The number never decreases, and ``begun_at`` is kept."""
        if (newer.number, newer.root) == (self.number, self.root):
            return replace(self, refused_at=None)
        if newer.number <= self.number:
            return self
        return replace(newer, begun_at=self.begun_at or newer.begun_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadsState:
    """The state of all heads: since when they are kept, and what an operator should resolve."""

    since: datetime | None
    heads: int = 0
    begun: tuple[str, ...] = ()
    """The groups whose heads were created from existing seals."""
    refused: tuple[str, ...] = ()
    """The groups that are no longer sealed, because their seals do not continue their heads."""
    problem: HeadsProblem | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFinding:
    """A fault in the audit trail, with its seal and its event."""

    fault: AuditFault
    seal: int | None = None
    event_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """The result of a verification. ``intact`` is whether nothing is wrong."""

    group_id: str
    seals: int
    sealed_events: int
    unsealed_events: int
    findings: tuple[AuditFinding, ...]
    more: bool
    """Whether there are findings beyond the listed ones."""
    head: AuditHead
    warnings: tuple[AuditWarning, ...] = ()
    """What the verification cannot exclude, although nothing is wrong."""
    begun_at: datetime | None = None
    """When the head of this trail was created from existing seals, if it was. Nothing before is compared."""

    @property
    def intact(self) -> bool:
        return not self.findings


def seal_root(previous: bytes, number: int, event_ids: tuple[UUID, ...], event_hashes: tuple[bytes, ...]) -> bytes:
    """Hash a batch of events together with the root of the seal before it."""
    chained = sha256(b"clearwell audit seal\n" + previous + number.to_bytes(8))
    for event_id, event_hash in zip(event_ids, event_hashes, strict=True):
        chained.update(event_id.bytes + event_hash)
    return chained.digest()


def head_bytes(group_id: str, number: int, root: bytes, sealed_at: datetime | None) -> bytes:
    at = None if sealed_at is None else _moment(sealed_at)
    return _canonical(["clearwell audit head", group_id, number, root.hex(), at])


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def _canonical(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode("utf-8", "surrogatepass")
