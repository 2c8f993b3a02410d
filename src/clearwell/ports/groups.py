"""What groups and agents are told."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from clearwell.records import Agent, AuditEvent, Group, GroupChange, Prompts


class GroupStore(Protocol):
    async def get(self, group_id: str) -> Group | None: ...

    async def all(self, among: AbstractSet[str] | None) -> Sequence[Group]:
        """The described groups in the order of their ids; ``among`` these, or all where it is None."""
        ...

    async def change(self, group_id: str, change: GroupChange, *, event: AuditEvent) -> None:
        """Describe a group anew. What the change keeps stays as it was, or empty."""
        ...

    async def prompts(self, group_id: str, agent_id: str | None) -> Prompts:
        """What this agent of the group is told. Nothing where nobody has described them."""
        ...

    async def agent(self, group_id: str, agent_id: str) -> Agent | None: ...

    async def agents(self, group_id: str) -> Sequence[Agent]:
        """In the order of their ids."""
        ...

    async def put_agent(self, group_id: str, agent_id: str, persona: str, *, event: AuditEvent) -> None: ...

    async def remove_agent(self, group_id: str, agent_id: str, *, event: AuditEvent) -> bool:
        """False where there is no such agent; then nothing is recorded."""
        ...
