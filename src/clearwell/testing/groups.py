"""Groups and agents in dicts."""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime

from clearwell.ports import Schedule
from clearwell.records import UNASSIGNED, Agent, AuditEvent, Group, GroupChange, Prompts
from clearwell.testing.access import MemoryKeys


class MemoryGroups:
    def __init__(self, other_groups: Callable[[], Iterable[str]] = tuple, *, keys: MemoryKeys | None = None) -> None:
        """``other_groups`` names the groups that have outputs or memories, with settings or without."""
        self._other_groups = other_groups
        self._keys = keys or MemoryKeys()
        self._groups: dict[str, Group] = {}
        self._agents: dict[tuple[str, str], Agent] = {}
        self.scheduled_at: dict[str, datetime] = {}
        self.events: list[AuditEvent] = []

    async def get(self, group_id: str) -> Group | None:
        return self._groups.get(group_id)

    def schedule(self, group_id: str, since: datetime) -> Schedule:
        """When this group wants its digest, where there is something to digest since then."""
        group = self._groups.get(group_id) or Group(group_id=group_id)
        since = max(since, self.scheduled_at.get(group_id, since))
        return Schedule(group_id=group_id, since=since, cron=group.digest_cron, zone=group.digest_zone)

    async def all(self, among: AbstractSet[str] | None) -> Sequence[Group]:
        named = {*self._groups, *self._other_groups()} - {UNASSIGNED}
        return [
            self._groups.get(name) or Group(group_id=name) for name in sorted(named) if among is None or name in among
        ]

    async def exists(self, group_id: str) -> bool:
        named = {*self._groups, *(group for group, _ in self._agents), *self._other_groups()}
        return group_id in named

    async def change(self, group_id: str, change: GroupChange, *, event: AuditEvent) -> None:
        old = self._groups.get(group_id) or Group(group_id=group_id, created_at=event.at)
        new = {name: getattr(change, name) for name in change.changed}
        if "system_prompt" in new:
            new["system_prompt"] = new["system_prompt"] or ""
        changed = replace(old, updated_at=event.at, **new)
        if (old.digest_cron, old.digest_zone) != (changed.digest_cron, changed.digest_zone):
            self.scheduled_at[group_id] = event.at
        self._groups[group_id] = changed
        self.events.append(event)

    async def prompts(self, group_id: str, agent_id: str | None) -> Prompts:
        group, agent = self._groups.get(group_id), self._agents.get((group_id, agent_id or ""))
        return Prompts(system_prompt=group.system_prompt if group else "", persona=agent.persona if agent else "")

    async def agent(self, group_id: str, agent_id: str) -> Agent | None:
        return self._agents.get((group_id, agent_id))

    async def agents(self, group_id: str) -> Sequence[Agent]:
        return [one for (group, _), one in sorted(self._agents.items()) if group == group_id]

    async def agent_names(self, group_id: str) -> frozenset[str]:
        registered = {agent_id for group, agent_id in self._agents if group == group_id}
        keys = await self._keys.all()
        bound = {key.agent_id for key in keys if key.agent_id and (key.groups is None or group_id in key.groups)}
        return frozenset(registered | bound)

    async def put_agent(self, group_id: str, agent_id: str, persona: str, *, event: AuditEvent) -> None:
        old = self._agents.get((group_id, agent_id))
        self._agents[group_id, agent_id] = Agent(
            group_id=group_id,
            agent_id=agent_id,
            persona=persona,
            created_at=event.at if old is None else old.created_at,
            updated_at=event.at,
        )
        self.events.append(event)

    async def remove_agent(self, group_id: str, agent_id: str, *, event: AuditEvent) -> bool:
        if self._agents.pop((group_id, agent_id), None) is None:
            return False
        self.events.append(event)
        return True
