"""The reviewer's side of quarantine."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from clearwell.ports import QuarantineFilter
from clearwell.records import QuarantineRow, SeenAgain
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rows import quarantine_row_of, verdicts_of


class PostgresQuarantine:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, group_id: str, log_id: UUID) -> QuarantineRow | None:
        rows = await self._page(group_id, QuarantineFilter(), {"id": log_id, "before": None, "limit": 1})
        if not rows:
            return None
        params = {"group_id": group_id, "id": log_id}
        seen = await self._database.run(Role.REVIEWER, group_id, query("sightings"), params)
        again = tuple(
            SeenAgain(log_id=row["log_id"], agent_id=row["agent_id"], session_id=row["session_id"], at=row["at"])
            for row in seen
        )
        return replace(rows[0], sightings=again)

    async def page(
        self, group_id: str, *, where: QuarantineFilter, before: UUID | None = None, limit: int = 50
    ) -> Sequence[QuarantineRow]:
        return await self._page(group_id, where, {"id": None, "before": before, "limit": limit})

    async def _page(self, group_id: str, where: QuarantineFilter, place: dict[str, Any]) -> Sequence[QuarantineRow]:
        params = {
            "group_id": group_id,
            "session_id": where.session_id,
            "agent_id": where.agent_id,
            "node_type": where.node_type,
            "admission": where.admission,
            "since": where.since,
            "until": where.until,
            **place,
        }
        rows = await self._database.run(Role.REVIEWER, group_id, query("quarantine_rows"), params)
        judged = {"group_id": group_id, "ids": [row["id"] for row in rows]}
        verdicts = verdicts_of(await self._database.run(Role.REVIEWER, group_id, query("receipts"), judged))
        return [quarantine_row_of(row, verdicts.get(row["id"], ())) for row in rows]
