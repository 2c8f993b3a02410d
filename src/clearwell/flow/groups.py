"""Group profiles: the system prompt and digest schedule of a group, and the personas of its agents.

Administrators write them; callers that may read the group can read them.
"""

from collections.abc import Sequence
from dataclasses import replace

from clearwell.errors import NotFound
from clearwell.flow import limits
from clearwell.flow.access.permissions import require_in_group, require_right, resolve_agent
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.digest.cron import require_cron, require_zone
from clearwell.flow.digest.schedule import find_next_tick, resolve_schedule
from clearwell.flow.idempotency import run_once
from clearwell.ports import Clock, GroupStore, IdempotencyStore, Ids
from clearwell.records import (
    Agent,
    Group,
    GroupChange,
    IdempotencyKey,
    Json,
    Principal,
    Right,
)
from clearwell.settings import Settings
from clearwell.vocabulary import AuditAction


class GroupProfiles:
    """Reads and changes the profiles of groups and agents, with permission checks and audit events."""

    def __init__(
        self, groups: GroupStore, idempotency: IdempotencyStore, clock: Clock, ids: Ids, settings: Settings
    ) -> None:
        self._groups = groups
        self._idempotency = idempotency
        self._clock = clock
        self._audit_events = AuditEvents(clock, ids)
        self._settings = settings

    async def get_group(self, group_id: str, *, by: Principal) -> Group:
        """The group's profile; an empty one if nobody has written it."""
        require_in_group(by, group_id, Right.READ, Right.ADMIN)
        return await self._read(group_id)

    async def list_groups(self, *, by: Principal) -> Sequence[Group]:
        """The groups that the caller covers and that have a profile, outputs or memories."""
        require_right(by, Right.READ, Right.REVIEW, Right.ADMIN)
        return [self._schedule(group) for group in await self._groups.all(by.groups)]

    async def change_group(
        self, group_id: str, change: GroupChange, *, by: Principal, request: IdempotencyKey | None = None
    ) -> Group:
        """Change a group's profile; returns the new one. Raises InvalidInput."""
        require_in_group(by, group_id, Right.ADMIN)
        checked = self._check_change(change)

        async def act() -> Json:
            event = self._audit_events.make(
                AuditAction.CHANGE_GROUP, f"group {group_id}", group_id, by=by.name, changed=list(checked.changed)
            )
            await self._groups.change(group_id, checked, event=event)
            return True

        await run_once(self._idempotency, request, act)
        return await self._read(group_id)

    async def get_agent(self, group_id: str, agent_id: str, *, by: Principal) -> Agent:
        """One agent. A key that is bound to an agent can read only that one. Raises NotFound."""
        require_in_group(by, group_id, Right.READ, Right.ADMIN)
        limits.require_id(agent_id, "agent_id")
        resolve_agent(by, agent_id)
        agent = await self._groups.agent(group_id, agent_id)
        if agent is None:
            raise NotFound("agent_not_found", agent=agent_id, group=group_id)
        return agent

    async def list_agents(self, group_id: str, *, by: Principal) -> Sequence[Agent]:
        """The agents that the caller may read."""
        require_in_group(by, group_id, Right.READ, Right.ADMIN)
        agents = await self._groups.agents(group_id)
        return [agent for agent in agents if by.agent_id in (None, agent.agent_id)]

    async def put_agent(
        self, group_id: str, agent_id: str, persona: str, *, by: Principal, request: IdempotencyKey | None = None
    ) -> Agent:
        """Write an agent's persona; returns the agent. Raises InvalidInput."""
        require_in_group(by, group_id, Right.ADMIN)
        limits.require_id(agent_id, "agent_id")
        self._require_prompt(persona, "persona")

        async def act() -> Json:
            event = self._audit_events.make(AuditAction.PUT_AGENT, f"agent {agent_id}", group_id, by=by.name)
            await self._groups.put_agent(group_id, agent_id, persona, event=event)
            return True

        await run_once(self._idempotency, request, act)
        return await self.get_agent(group_id, agent_id, by=by)

    async def remove_agent(
        self, group_id: str, agent_id: str, *, by: Principal, request: IdempotencyKey | None = None
    ) -> None:
        """Remove an agent's persona. Its outputs and memories stay. Raises NotFound."""
        require_in_group(by, group_id, Right.ADMIN)
        limits.require_id(agent_id, "agent_id")

        async def act() -> Json:
            event = self._audit_events.make(AuditAction.REMOVE_AGENT, f"agent {agent_id}", group_id, by=by.name)
            if not await self._groups.remove_agent(group_id, agent_id, event=event):
                raise NotFound("agent_not_found", agent=agent_id, group=group_id)
            return True

        await run_once(self._idempotency, request, act)

    async def _read(self, group_id: str) -> Group:
        return self._schedule(await self._groups.get(group_id) or Group(group_id=group_id))

    def _schedule(self, group: Group) -> Group:
        """The group with the time of its next digest."""
        cron, zone = resolve_schedule(group.digest_cron, group.digest_zone, self._settings)
        return replace(group, next_digest_at=find_next_tick(cron, zone, self._clock.now()))

    def _check_change(self, change: GroupChange) -> GroupChange:
        prompt, cron, zone = change.system_prompt, change.digest_cron, change.digest_zone
        if isinstance(prompt, str):
            self._require_prompt(prompt, "system_prompt")
        return GroupChange(
            system_prompt=prompt,
            digest_cron=require_cron(cron) if isinstance(cron, str) else cron,
            digest_zone=require_zone(zone) if isinstance(zone, str) else zone,
        )

    def _require_prompt(self, text: str, field: str) -> None:
        """Require that a prompt is empty, or text that can be stored."""
        if text:
            limits.require_prompt(text, field, max_bytes=self._settings.max_prompt_bytes)
