"""Search in long-term memory: the parameters of the statements, and the records made from their rows."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from clearwell.errors import ReembeddingStarted
from clearwell.ports import Fusion, LongTermSearch, QueryTerms, SearchQuery
from clearwell.records import FoundChunk, Memory, Parts, PromotedPart
from clearwell.stores.postgres.connection import SqlStatement
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.group_indexes import IndexedGroups, search_by_index
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rows import memory_of, to_column

SPARE_CHUNKS, GROWTH = 3, 4
"""How many more chunks than memories are read at first, and by which factor if those are of too few memories."""
NO_WORDS = QueryTerms(weights={}, spoken="")
NO_CONFLICTS: Final[Mapping[UUID, Sequence[UUID]]] = {}
BY_VECTOR = Fusion(dense=1.0, lexical=0.0, author=0.0, neighbour=0.0, answer=0.0, session=0.0)


class PostgresLongTerm(LongTermSearch):
    """The search that retrieval and the duplicate check use. It can change nothing."""

    def __init__(self, database: Database, role: Role = Role.AGENT, *, indexed: IndexedGroups | None = None) -> None:
        self._database = database
        self._role = role
        self._indexed = indexed

    async def search(self, query: SearchQuery) -> list[FoundChunk]:
        if query.limit == 0:
            return []
        limit = query.limit + SPARE_CHUNKS
        while True:
            if query.terms is None and query.where.everything:
                reembedding, chunks = await self._search_by_vector(query, limit)
            else:
                reembedding, chunks = await self._search_with_words(query, limit)
            if query.reembedding is not None and query.embedding is not None and reembedding != query.reembedding:
                raise ReembeddingStarted("models_moved")
            best = best_chunks(chunks, query.limit)
            if len(best) == query.limit or len(chunks) < limit:
                conflicts = await self._find_conflicts(query, best)
                found = [read_found(row, query, conflicts) for row in best]
                return [chunk for chunk in found if query.embedding is not None or chunk.words > 0]
            limit *= GROWTH

    async def search_nearest(self, queries: Sequence[SearchQuery]) -> list[list[FoundChunk]]:
        if not queries:
            return []
        first, limits = queries[0], [one.limit + SPARE_CHUNKS for one in queries]
        params = [vector_params(one, limit) for one, limit in zip(queries, limits, strict=True)]
        statements: list[SqlStatement] = [(query("last_reembedding_number"), {})]
        entry = "enter"
        if (indexed := self._find_index(first, max(limits))) is None:
            entry = "enter_for_scan"
            statements += [(query("search"), each) for each in params]
        else:
            plans = [search_by_index("search_large", each, indexed) for each in params]
            statements = [plans[0][0], *(statement for _, statement in plans)]
        (planned,), *answers = await self._database.run_all(self._role, first.group_id, statements, entry=entry)
        if first.reembedding not in (None, planned["reembedding"]):
            raise ReembeddingStarted("models_moved")
        return [
            [read_found(row, one) for row in best_chunks(rows, one.limit)]
            for one, rows in zip(queries, answers, strict=True)
        ]

    async def _search_by_vector(self, wanted: SearchQuery, limit: int) -> tuple[int, list[DictRow]]:
        """Return the number of the last re-embedding and the nearest chunks."""
        params = vector_params(wanted, limit)
        statements: list[SqlStatement] = [(query("last_reembedding_number"), {}), (query("search"), params)]
        if (indexed := self._find_index(wanted, limit)) is not None:
            statements = search_by_index("search_large", params, indexed)
        (planned,), rows = await self._database.run_all(self._role, wanted.group_id, statements)
        return planned["reembedding"], rows

    async def _search_with_words(self, wanted: SearchQuery, limit: int) -> tuple[int, list[DictRow]]:
        """As ``_search_by_vector``. An exact search is a single statement whose rows contain the number."""
        params = vector_params(wanted, limit) | word_params(wanted, limit)
        if (indexed := self._find_index(wanted, limit)) is not None:
            statements = search_by_index("search_large_with_words", params, indexed)
            (planned,), rows = await self._database.run_all(self._role, wanted.group_id, statements)
            return planned["reembedding"], rows
        statement = (query("search_with_words"), params)
        if wanted.embedding is None or not wanted.where.everything:
            statement = (query("search_with_filters"), params | filter_params(wanted))
        (rows,) = await self._database.run_all(self._role, wanted.group_id, [statement], entry="enter_for_scan")
        if rows or wanted.reembedding is None:
            return (rows[0]["reembedding"] if rows else 0), rows
        (planned,) = await self._database.run(self._role, wanted.group_id, query("last_reembedding_number"))
        return planned["reembedding"], rows

    async def _find_conflicts(self, wanted: SearchQuery, best: Sequence[DictRow]) -> Mapping[UUID, Sequence[UUID]]:
        """The valid memories that each memory contradicts. The database is asked only if there are such memories."""
        disputed = [row["id"] for row in best if row.get("disputed")]
        if not disputed or wanted.terms is None:
            return {}
        params = {"group_id": wanted.group_id, "ids": disputed, "agent_id": wanted.agent_id}
        rows = await self._database.run(self._role, wanted.group_id, query("conflicts_of_memories"), params)
        return {row["memory_id"]: row["others"] for row in rows}

    def _find_index(self, wanted: SearchQuery, limit: int) -> int | None:
        """The dimensions of the group's vector index, if this search can use it."""
        return None if self._indexed is None else self._indexed.find_dimensions(wanted, limit)

    async def find_promoted(self, group_id: str, log_ids: Sequence[UUID], *, agent_id: str | None) -> set[PromotedPart]:
        params = {"group_id": group_id, "ids": list(log_ids), "agent_id": agent_id}
        rows = await self._database.run(self._role, group_id, query("find_promoted"), params)
        return {
            PromotedPart(row["log_id"], None if row["span_start"] is None else (row["span_start"], row["span_end"]))
            for row in rows
        }

    async def get(self, group_id: str, ids: Sequence[UUID], *, agent_id: str | None = None) -> Sequence[Memory]:
        params = {"group_id": group_id, "ids": list(ids), "agent_id": agent_id}
        return [memory_of(row) for row in await self._database.run(self._role, group_id, query("get_memories"), params)]

    async def ping(self) -> None:
        await self._database.ping()


def vector_params(wanted: SearchQuery, limit: int) -> dict[str, Any]:
    """The parameters of every search."""
    return {
        "group_id": wanted.group_id,
        "embedding": None if wanted.embedding is None else to_column(wanted.embedding),
        "model": wanted.model,
        "agent_id": wanted.agent_id,
        "limit": limit,
    }


def word_params(wanted: SearchQuery, limit: int) -> dict[str, Any]:
    asked, fusion = (NO_WORDS, BY_VECTOR) if wanted.terms is None else (wanted.terms, wanted.fusion)
    return {
        "dimensions": list(asked.weights),
        "weights": [float(weight) for weight in asked.weights.values()],
        "spoken": asked.spoken,
        "dense": float(fusion.dense),
        "lexical": float(fusion.lexical),
        "author": float(fusion.author),
        "neighbour": float(fusion.neighbour),
        "answer": float(fusion.answer),
        "session": float(fusion.session),
        "pool": max(fusion.pool, limit),
    }


def filter_params(wanted: SearchQuery) -> dict[str, Any]:
    where = wanted.where
    conditions = [
        {"path": list(one.path), "operator": one.operator.value, "value": one.value} for one in where.conditions
    ]
    return {
        "by_words": wanted.embedding is None,
        "since": where.since,
        "until": where.until,
        "session_id": where.session_id,
        "as_of": where.as_of,
        "still_valid": where.still_valid,
        "scope": where.scope,
        "conditions": Jsonb(conditions),
    }


def read_found(
    row: DictRow, wanted: SearchQuery, conflicts: Mapping[UUID, Sequence[UUID]] = NO_CONFLICTS
) -> FoundChunk:
    memory, similarity = memory_of(row), row["similarity"]
    if wanted.terms is None:
        return FoundChunk(memory=memory, similarity=similarity, origin_id=row.get("origin_id"))
    return FoundChunk(
        memory=memory,
        similarity=similarity,
        words=row["words"],
        rank=row["rank"],
        parts=parts_of(row, wanted.fusion) if wanted.explain else None,
        origin_id=row["origin_id"],
        conflicts_with=tuple(conflicts.get(memory.id, ())),
        superseded=row["superseded"],
    )


def parts_of(row: DictRow, fusion: Fusion) -> Parts:
    return Parts(
        dense=fusion.dense * (row["similarity"] or 0.0),
        lexical=fusion.lexical * row["words"],
        author=row["named"],
        neighbour=row["neighbour"] if row["placed"] else 0.0,
        answer=row["answer"] if row["placed"] else 0.0,
        session=row["session"] if row["placed"] else 0.0,
    )


def best_chunks(chunks: Sequence[DictRow], limit: int) -> list[DictRow]:
    """Return the best chunk of each memory, in the given order."""
    best: dict[UUID, DictRow] = {}
    for chunk in chunks:
        best.setdefault(chunk["id"], chunk)
    return list(best.values())[:limit]
