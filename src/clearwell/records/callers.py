"""Callers and their keys."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from clearwell.vocabulary import Right


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A caller and its rights. ``groups`` is None if every group is covered.

    ``name`` is the recorded name of the caller. ``key_name`` is the name that an operator gave its key.
    """

    name: str
    rights: frozenset[Right]
    groups: frozenset[str] | None = None
    agent_id: str | None = None
    key_name: str | None = None

    @classmethod
    def local(cls, name: str = "local") -> "Principal":
        """Return the local person, with every right in every group."""
        return cls(name=name, rights=frozenset(Right))

    @property
    def title(self) -> str:
        """The name to show people."""
        return self.key_name or self.name

    @property
    def is_agent(self) -> bool:
        """Whether the caller counts as an agent: its key is bound to one, or can neither review nor administer."""
        return self.agent_id is not None or not self.rights & {Right.REVIEW, Right.ADMIN}

    def lowered(self) -> "Principal":
        """Return the same caller with at most the rights of an agent: capture and read."""
        rights = self.rights & {Right.CAPTURE, Right.READ}
        return Principal(
            name=f"{self.name}{LOWERED}",
            rights=rights,
            groups=self.groups,
            agent_id=self.agent_id,
            key_name=self.key_name,
        )

    def covers(self, group_id: str) -> bool:
        return self.groups is None or group_id in self.groups


NOBODY = Principal(name="nobody", rights=frozenset())
"""A caller without any right, for parts that are bound to their caller later."""


HOLDER: Final = "key:"
LOWERED: Final = "/agent"


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

    @property
    def holder(self) -> str:
        """The name under which the holder of the key is recorded. Two keys may have the same name, so it has the id."""
        return f"{HOLDER}{self.id}"


def find_key_id(holder: str) -> UUID | None:
    """Return the id of the key that a recorded holder used, or None for a caller without a key."""
    try:
        return UUID(holder.removeprefix(HOLDER)) if holder.startswith(HOLDER) else None
    except ValueError:
        return None


def count_keys(holders: Iterable[str]) -> int:
    """Return the number of keys that these recorded holders used, including those lowered to agents."""
    return len({find_key_id(holder.removesuffix(LOWERED)) for holder in holders} - {None})


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLookup:
    """The result of looking up a key: the valid key with this hash, and whether any key was ever created."""

    key: ApiKey | None
    any_key_ever: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyKey:
    """Identifies a request that a caller may repeat, with a hash to recognise a different request."""

    principal: str
    route: str
    key: str
    request_hash: bytes
