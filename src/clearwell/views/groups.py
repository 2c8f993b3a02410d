"""Groups, agents and tombstones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Self
from uuid import UUID

from pydantic import Field

from clearwell.views.view import View
from clearwell.vocabulary import TombstoneKind

if TYPE_CHECKING:
    from clearwell.records import Agent, Group, Tombstone


class GroupView(View):
    """The system prompt and the digest schedule of a group."""

    group_id: str
    system_prompt: str
    digest_cron: str | None
    digest_zone: str | None
    created_at: datetime | None = Field(description="null if the group has no profile")
    updated_at: datetime | None
    next_digest_at: datetime | None = Field(description="when the next digest is due; null without a schedule")

    @classmethod
    def from_record(cls, group: Group) -> Self:
        return cls.read(group)

    def to_record(self) -> Group:
        from clearwell.records import Group

        return self.make(Group)


class GroupsView(View):
    """The groups, each with its system prompt and digest schedule."""

    groups: tuple[GroupView, ...]

    @classmethod
    def from_records(cls, groups: Sequence[Group]) -> Self:
        return cls(groups=tuple(GroupView.from_record(group) for group in groups))


class AgentNameView(View):
    """An agent whose persona was removed."""

    group_id: str
    agent_id: str


class AgentView(AgentNameView):
    """The persona of an agent."""

    persona: str
    created_at: datetime
    updated_at: datetime

    @classmethod
    def from_record(cls, agent: Agent) -> Self:
        return cls.read(agent)

    def to_record(self) -> Agent:
        from clearwell.records import Agent

        return self.make(Agent)


class AgentsView(View):
    """The agents of a group."""

    agents: tuple[AgentView, ...]

    @classmethod
    def from_records(cls, agents: Sequence[Agent]) -> Self:
        return cls(agents=tuple(AgentView.from_record(agent) for agent in agents))


class TombstoneView(View):
    """A tombstone. The rejected or forgotten text is not stored."""

    id: UUID
    group_id: str
    kind: TombstoneKind
    reason: str
    made_by: str
    made_by_name: str
    made_at: datetime
    lifted_by: str | None
    lifted_by_name: str | None
    lifted_at: datetime | None

    @classmethod
    def from_record(cls, tombstone: Tombstone, key_names: Mapping[str, str]) -> Self:
        made_by, lifted_by = tombstone.made_by, tombstone.lifted_by
        return cls.read(
            tombstone,
            made_by_name=key_names.get(made_by, made_by),
            lifted_by_name=None if lifted_by is None else key_names.get(lifted_by, lifted_by),
        )

    def to_record(self) -> Tombstone:
        from clearwell.records import Tombstone

        return self.make(Tombstone)


class TombstonesView(View):
    """The tombstones of a group, newest first."""

    tombstones: tuple[TombstoneView, ...]

    @classmethod
    def from_records(cls, tombstones: Sequence[Tombstone], key_names: Mapping[str, str]) -> Self:
        return cls(tombstones=tuple(TombstoneView.from_record(tombstone, key_names) for tombstone in tombstones))


class IdView(View):
    """The id of what was added, changed or removed."""

    id: UUID
