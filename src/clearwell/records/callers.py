"""Who is asking, by which key, and what is kept of it."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from clearwell.records.values import Metadata
from clearwell.vocabulary import Right


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
