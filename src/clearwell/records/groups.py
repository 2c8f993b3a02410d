"""What a group and its agents are told, and when the group's digest is due."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final


class Keep(Enum):
    """Stands for a value that is to stay as it is, where None means that it is to be emptied."""

    KEEP = "keep"


KEEP: Final = Keep.KEEP


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group that somebody has described. One that nobody has works all the same, with an empty prompt."""

    group_id: str
    system_prompt: str = ""
    digest_cron: str | None = None
    digest_zone: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupChange:
    """What to change of a group."""

    system_prompt: str | Keep | None = KEEP
    digest_cron: str | Keep | None = KEEP
    digest_zone: str | Keep | None = KEEP

    @property
    def changed(self) -> tuple[str, ...]:
        """The names of what is to change."""
        given = {name: getattr(self, name) for name in ("system_prompt", "digest_cron", "digest_zone")}
        return tuple(name for name, value in given.items() if value is not KEEP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent of a group, and who it is to be."""

    group_id: str
    agent_id: str
    persona: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """What an agent is told before anything else."""

    system_prompt: str = ""
    persona: str = ""
