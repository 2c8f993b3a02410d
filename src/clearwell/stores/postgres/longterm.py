"""Long-term memory: exact search for everyone, promotion for reviewers."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from clearwell.errors import ModelsMoved, StillRunning
from clearwell.ports import Claim, Lexicon, SearchQuery
from clearwell.records import AuditEvent, Found, Json, Memory, Promotion, Scope
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.exchange import Statement
from clearwell.stores.postgres.idempotency import claim_params
from clearwell.stores.postgres.large import LargeGroups, search_by_index
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rows import memory_of, to_column
from clearwell.stores.postgres.searching import asked_params, found_of, where_params
from clearwell.stores.postgres.words import Words

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
            found = best_chunks(chunks, query.limit)
            if len(found) == query.limit or len(chunks) < wanted:
                return [one for one in found if query.embedding is not None or one.words > 0]
            wanted *= MORE

    async def _nearest(self, wanted: SearchQuery, limit: int) -> list[Found]:
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
        return [found_of(row, wanted) for row in rows]

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


def best_chunks(chunks: Sequence[Found], limit: int) -> list[Found]:
    """The best chunk of each memory, in the order given."""
    best = {chunk.memory.id: chunk for chunk in reversed(chunks)}
    order = dict.fromkeys(chunk.memory.id for chunk in chunks)
    return [best[memory_id] for memory_id in order][:limit]


class PostgresPromotions:
    """The reviewer's side: a decision, its chunks, its event and its answer in one transaction."""

    def __init__(self, database: Database, lexicon: Lexicon) -> None:
        self._database = database
        self._lexicon = lexicon

    async def add(
        self,
        group_id: str,
        promotions: Sequence[tuple[Promotion, Sequence[Memory]]],
        *,
        events: Sequence[AuditEvent],
        claim: Claim | None = None,
        answer: Json = None,
    ) -> None:
        statements: list[Statement] = [(query("note_embedding_model"), model) for model in _models(promotions)]
        statements += [(query("add_promotion"), _promotion_params(promotion)) for promotion, _ in promotions]
        added = [(query("add_event"), event_params(event)) for event in events]
        async with self._database.transaction(Role.REVIEWER, group_id) as transaction:
            words = Words(self._lexicon, group_id, [chunk for _, chunks in promotions for chunk in chunks])
            ends = await transaction.run(words.asked())
            statements += [(query("add_memory"), _memory_params(chunk) | more) for chunk, more in words.placed(ends)]
            statements += [*words.changed(), *added]
            if claim is None:
                await transaction.run(statements)
                return
            params = {**claim_params(claim.request), "token": claim.token, "answer": Jsonb(answer)}
            *_, completed = await transaction.run([*statements, (query("complete_claim"), params)])
            if completed[0]["rowcount"] != 1:
                raise StillRunning("idempotency_running", key=claim.request.key)

    async def models(self) -> dict[str, int]:
        rows = await self._database.run(Role.REVIEWER, None, query("embedding_models"))
        return {row["model"]: row["dimensions"] for row in rows}


def _models(promotions: Sequence[tuple[Promotion, Sequence[Memory]]]) -> list[dict[str, Any]]:
    used = {
        chunk.embedding_model: {
            "model": chunk.embedding_model,
            "dimensions": len(chunk.embedding),
            "at": chunk.created_at,
        }
        for _, chunks in promotions
        for chunk in chunks
        if chunk.embedding is not None
    }
    return list(used.values())


def event_params(event: AuditEvent) -> dict[str, Any]:
    return {
        "id": event.id,
        "group_id": event.group_id,
        "at": event.at,
        "actor": event.actor,
        "action": event.action,
        "subject": event.subject,
        "detail": Jsonb(dict(event.detail)),
    }


def _promotion_params(promotion: Promotion) -> dict[str, Any]:
    text = promotion.text
    return {
        "group_id": promotion.group_id,
        "id": promotion.id,
        "memory_id": promotion.memory_id,
        "scope": Scope.GROUP if text.agent_id is None else Scope.AGENT,
        "agent_id": text.agent_id,
        "origin": text.origin,
        "origin_id": text.origin_id,
        "content": text.content,
        "session_id": text.session_id,
        "author": text.author,
        "occurred_at": text.occurred_at,
        "metadata": Jsonb(dict(text.metadata)),
        "decided_by": promotion.decided_by,
        "decided_at": promotion.decided_at,
    }


def _memory_params(chunk: Memory) -> dict[str, Any]:
    return {
        "group_id": chunk.group_id,
        "id": chunk.id,
        "chunk_no": chunk.chunk_no,
        "promotion_id": chunk.promotion_id,
        "scope": chunk.scope,
        "agent_id": chunk.agent_id,
        "content": chunk.content,
        "embedding": None if chunk.embedding is None else to_column(chunk.embedding),
        "embedding_model": chunk.embedding_model,
        "session_id": chunk.session_id,
        "author": chunk.author,
        "occurred_at": chunk.occurred_at,
        "metadata": Jsonb(dict(chunk.metadata)),
        "promoted_at": chunk.promoted_at,
    }
