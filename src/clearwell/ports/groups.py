"""Settings of groups and agents."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from clearwell.records import Agent, AuditEvent, Group, GroupChange, Prompts


class GroupStore(Protocol):
    async def get(self, group_id: str) -> Group | None: ...

    async def all(self, among: AbstractSet[str] | None) -> Sequence[Group]:
        """Return the groups with settings, outputs or promotions in the order of their ids.

        Only those among these, or all if ``among`` is None. A group without settings has empty ones.
        """
        ...

    async def exists(self, group_id: str) -> bool:
        """Whether there are settings, agents, outputs or promotions of this group."""
        ...

    async def change(self, group_id: str, change: GroupChange, *, event: AuditEvent) -> None:
        """Change the settings of a group. Values that the change keeps stay as they are, or empty."""
        ...

    async def prompts(self, group_id: str, agent_id: str | None) -> Prompts:
        """Return the prompts of this agent, which are empty without settings."""
        ...

    async def agent(self, group_id: str, agent_id: str) -> Agent | None: ...

    async def agents(self, group_id: str) -> Sequence[Agent]:
        """Return the agents with a persona in the order of their ids."""
        ...

    async def agent_names(self, group_id: str) -> frozenset[str]:
        """Return the agents that an operator named: with a persona in this group, or with a key that covers it."""
        ...

    async def put_agent(self, group_id: str, agent_id: str, persona: str, *, event: AuditEvent) -> None: ...

    async def remove_agent(self, group_id: str, agent_id: str, *, event: AuditEvent) -> bool:
        """Remove a persona. Returns False, and records nothing, if there is none."""
        ...
