"""What a group and its agents are told. An administrator writes it; who may read the group reads it."""

from collections.abc import Sequence

from clearwell.errors import NotFound
from clearwell.flow import limits
from clearwell.flow.access.permissions import require_in_group, require_right, resolve_agent
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.digest.cron import require_cron, require_zone
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


class GroupProfiles:
    def __init__(
        self, groups: GroupStore, idempotency: IdempotencyStore, clock: Clock, ids: Ids, settings: Settings
    ) -> None:
        self._groups = groups
        self._idempotency = idempotency
        self._audit_events = AuditEvents(clock, ids)
        self._settings = settings

    async def group(self, group_id: str, *, by: Principal) -> Group:
        """The group as it was described, or with nothing said about it."""
        require_in_group(by, group_id, Right.READ, Right.ADMIN)
        return await self._groups.get(group_id) or Group(group_id=group_id)

    async def all(self, *, by: Principal) -> Sequence[Group]:
        require_right(by, Right.READ, Right.REVIEW, Right.ADMIN)
        return await self._groups.all(by.groups)

    async def change(
        self, group_id: str, change: GroupChange, *, by: Principal, request: IdempotencyKey | None = None
    ) -> Group:
        require_in_group(by, group_id, Right.ADMIN)
        checked = self._checked(change)

        async def act() -> Json:
            event = self._audit_events.make(
                "change group", f"group {group_id}", group_id, by=by.name, changed=list(checked.changed)
            )
            await self._groups.change(group_id, checked, event=event)
            return True

        await run_once(self._idempotency, request, act)
        return await self._groups.get(group_id) or Group(group_id=group_id)

    async def agent(self, group_id: str, agent_id: str, *, by: Principal) -> Agent:
        """One agent. A key that is bound to an agent reads no other's."""
        require_in_group(by, group_id, Right.READ, Right.ADMIN)
        limits.require_id(agent_id, "agent_id")
        resolve_agent(by, agent_id)
        found = await self._groups.agent(group_id, agent_id)
        if found is None:
            raise NotFound("agent_not_found", agent=agent_id, group=group_id)
        return found

    async def agents(self, group_id: str, *, by: Principal) -> Sequence[Agent]:
        require_in_group(by, group_id, Right.READ, Right.ADMIN)
        found = await self._groups.agents(group_id)
        return [one for one in found if by.agent_id in (None, one.agent_id)]

    async def put_agent(
        self, group_id: str, agent_id: str, persona: str, *, by: Principal, request: IdempotencyKey | None = None
    ) -> Agent:
        require_in_group(by, group_id, Right.ADMIN)
        limits.require_id(agent_id, "agent_id")
        self._require_prompt(persona, "persona")

        async def act() -> Json:
            event = self._audit_events.make("put agent", f"agent {agent_id}", group_id, by=by.name)
            await self._groups.put_agent(group_id, agent_id, persona, event=event)
            return True

        await run_once(self._idempotency, request, act)
        return await self.agent(group_id, agent_id, by=by)

    async def remove_agent(
        self, group_id: str, agent_id: str, *, by: Principal, request: IdempotencyKey | None = None
    ) -> None:
        """Forget who an agent is to be. What it said and learnt stays."""
        require_in_group(by, group_id, Right.ADMIN)
        limits.require_id(agent_id, "agent_id")

        async def act() -> Json:
            event = self._audit_events.make("remove agent", f"agent {agent_id}", group_id, by=by.name)
            if not await self._groups.remove_agent(group_id, agent_id, event=event):
                raise NotFound("agent_not_found", agent=agent_id, group=group_id)
            return True

        await run_once(self._idempotency, request, act)

    def _checked(self, change: GroupChange) -> GroupChange:
        prompt, cron, zone = change.system_prompt, change.digest_cron, change.digest_zone
        if isinstance(prompt, str):
            self._require_prompt(prompt, "system_prompt")
        return GroupChange(
            system_prompt=prompt,
            digest_cron=require_cron(cron) if isinstance(cron, str) else cron,
            digest_zone=require_zone(zone) if isinstance(zone, str) else zone,
        )

    def _require_prompt(self, text: str, field: str) -> None:
        """A prompt may be empty; one that is not must be text that can be stored."""
        if text:
            limits.require_prompt(text, field, max_bytes=self._settings.max_prompt_bytes)
