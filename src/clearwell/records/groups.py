"""The settings of groups and agents: prompts, personas and the schedule of the digest."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final


class Keep(Enum):
    """Marks a value that stays unchanged, because None means that it is cleared."""

    KEEP = "keep"


KEEP: Final = Keep.KEEP


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group with settings. A group without settings works too, with an empty prompt.

    ``next_digest_at`` is when its next digest is due by the schedule in force; None if there is none. It is not stored.
    """

    group_id: str
    system_prompt: str = ""
    digest_cron: str | None = None
    digest_zone: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    next_digest_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupChange:
    """A change of the settings of a group."""

    system_prompt: str | Keep | None = KEEP
    digest_cron: str | Keep | None = KEEP
    digest_zone: str | Keep | None = KEEP

    @property
    def changed(self) -> tuple[str, ...]:
        """Return the names of the settings that change."""
        given = {name: getattr(self, name) for name in ("system_prompt", "digest_cron", "digest_zone")}
        return tuple(name for name, value in given.items() if value is not KEEP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent of a group, and its persona."""

    group_id: str
    agent_id: str
    persona: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """The system prompt of the group and the persona of the agent."""

    system_prompt: str = ""
    persona: str = ""
