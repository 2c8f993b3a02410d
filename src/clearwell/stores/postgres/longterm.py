"""Long-term memory, as it is searched."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow

from clearwell.errors import ModelsMoved
from clearwell.ports import SearchQuery
from clearwell.records import Found, Memory
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.exchange import Statement
from clearwell.stores.postgres.large import LargeGroups, search_by_index
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rows import memory_of, to_column
from clearwell.stores.postgres.searching import asked_params, found_of, where_params

SPARE_CHUNKS, MORE = 3, 4
"""So many chunks more than memories are read at first, and so many times as many where that was too few."""


class PostgresLongTerm:
    """What retrieval and the duplicate check are given: search, and nothing else."""

    def __init__(self, database: Database, role: Role = Role.AGENT, *, large: LargeGroups | None = None) -> None:
        self._database = database
        self._role = role
        self._large = large

    async def search(self, query: SearchQuery) -> list[Found]:
        if query.limit == 0:
            return []
        wanted = query.limit + SPARE_CHUNKS
        while True:
            chunks = await self._nearest(query, wanted)
            best = best_chunks(chunks, query.limit)
            if len(best) == query.limit or len(chunks) < wanted:
                found = [found_of(row, query) for row in best]
                return [one for one in found if query.embedding is not None or one.words > 0]
            wanted *= MORE

    async def _nearest(self, wanted: SearchQuery, limit: int) -> list[DictRow]:
        params = {
            "group_id": wanted.group_id,
            "embedding": None if wanted.embedding is None else to_column(wanted.embedding),
            "model": wanted.model,
            "agent_id": wanted.agent_id,
            "limit": limit,
        }
        (planned,), rows = await self._database.run_all(self._role, wanted.group_id, self._statements(wanted, params))
        if wanted.move is not None and wanted.embedding is not None and planned["move"] != wanted.move:
            raise ModelsMoved("models_moved")
        return rows

    def _statements(self, wanted: SearchQuery, params: dict[str, Any]) -> list[Statement]:
        """How to plan, and the search: exact, or by the group's own index where it has one."""
        indexed = None if self._large is None else self._large.dimensions_for(wanted, params["limit"])
        if wanted.asked is None and wanted.where.everything:
            if indexed is not None:
                return search_by_index("search_large", params, indexed)
            return [(query("last_move"), {}), (query("search"), params)]
        params |= asked_params(wanted, params["limit"]) | where_params(wanted.where)
        if indexed is not None:
            return search_by_index("search_large_with_words", params, indexed)
        return [(query("plan_by_group"), {}), (query("search_with_words"), params)]

    async def get(self, group_id: str, ids: Sequence[UUID], *, agent_id: str | None = None) -> Sequence[Memory]:
        params = {"group_id": group_id, "ids": list(ids), "agent_id": agent_id}
        return [memory_of(row) for row in await self._database.run(self._role, group_id, query("get_memories"), params)]

    async def ping(self) -> None:
        await self._database.ping()


def best_chunks(chunks: Sequence[DictRow], limit: int) -> list[DictRow]:
    """The best chunk of each memory, in the order given."""
    best: dict[UUID, DictRow] = {}
    for chunk in chunks:
        best.setdefault(chunk["id"], chunk)
    return list(best.values())[:limit]
