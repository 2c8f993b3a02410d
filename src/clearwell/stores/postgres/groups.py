"""System prompts, personas and digest schedules. Operators write them; the context builder reads them as an agent."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from psycopg.rows import DictRow

from clearwell.ports import GroupStore
from clearwell.records import KEEP, Agent, AuditEvent, Group, GroupChange, Keep, Prompts
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rows import event_params


class PostgresGroups(GroupStore):
    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, group_id: str) -> Group | None:
        rows = await self._database.run(Role.AGENT, group_id, query("get_group"), {"group_id": group_id})
        return Group(**rows[0]) if rows else None

    async def all(self, among: AbstractSet[str] | None) -> Sequence[Group]:
        params = {"among": None if among is None else sorted(among)}
        rows = await self._database.run(Role.OPERATOR, None, query("list_groups"), params)
        return [Group(**row) for row in rows]

    async def exists(self, group_id: str) -> bool:
        (row,) = await self._database.run(Role.OPERATOR, group_id, query("group_exists"), {"group_id": group_id})
        return bool(row["found"])

    async def change(self, group_id: str, change: GroupChange, *, event: AuditEvent) -> None:
        params = {
            "group_id": group_id,
            "at": event.at,
            "changed": list(change.changed),
            "system_prompt": _column_value(change.system_prompt) or "",
            "digest_cron": _column_value(change.digest_cron),
            "digest_zone": _column_value(change.digest_zone),
        }
        statements = [(query("change_group"), params), (query("add_event"), event_params(event, self._database.signer))]
        await self._database.run_all(Role.OPERATOR, group_id, statements)

    async def prompts(self, group_id: str, agent_id: str | None) -> Prompts:
        params = {"group_id": group_id, "agent_id": agent_id}
        (row,) = await self._database.run(Role.AGENT, group_id, query("get_prompts"), params)
        return Prompts(system_prompt=row["system_prompt"] or "", persona=row["persona"] or "")

    async def agent(self, group_id: str, agent_id: str) -> Agent | None:
        found = await self._agents(group_id, agent_id)
        return found[0] if found else None

    async def agents(self, group_id: str) -> Sequence[Agent]:
        return await self._agents(group_id, None)

    async def agent_names(self, group_id: str) -> frozenset[str]:
        rows = await self._database.run(Role.AGENT, group_id, query("list_agent_names"), {"group_id": group_id})
        return frozenset(row["agent_id"] for row in rows)

    async def _agents(self, group_id: str, agent_id: str | None) -> list[Agent]:
        params = {"group_id": group_id, "agent_id": agent_id}
        rows: list[DictRow] = await self._database.run(Role.AGENT, group_id, query("get_agents"), params)
        return [Agent(**row) for row in rows]

    async def put_agent(self, group_id: str, agent_id: str, persona: str, *, event: AuditEvent) -> None:
        params = {"group_id": group_id, "agent_id": agent_id, "persona": persona, "at": event.at}
        statements = [(query("put_agent"), params), (query("add_event"), event_params(event, self._database.signer))]
        await self._database.run_all(Role.OPERATOR, group_id, statements)

    async def remove_agent(self, group_id: str, agent_id: str, *, event: AuditEvent) -> bool:
        async with self._database.transaction(Role.OPERATOR, group_id) as transaction:
            params = {"group_id": group_id, "agent_id": agent_id}
            (removed,) = await transaction.run([(query("remove_agent"), params)])
            if removed[0]["rowcount"]:
                await transaction.run([(query("add_event"), event_params(event, self._database.signer))])
            return bool(removed[0]["rowcount"])


def _column_value(value: str | Keep | None) -> str | None:
    return None if value is KEEP else value
