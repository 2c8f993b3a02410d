"""Promotion: a decision, its chunks, its event and its answer in one transaction."""

from collections.abc import Sequence
from typing import Any

from psycopg.types.json import Jsonb

from clearwell.errors import StillRunning
from clearwell.ports import Claim, Lexicon
from clearwell.records import AuditEvent, Json, Memory, Promotion, Scope
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.exchange import Statement
from clearwell.stores.postgres.idempotency import claim_params
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rows import event_params, to_column
from clearwell.stores.postgres.words import Words


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
        statements: list[Statement] = [(query("note_embedding_model"), model) for model in models_of(promotions)]
        statements += [(query("add_promotion"), promotion_params(promotion)) for promotion, _ in promotions]
        added = [(query("add_event"), event_params(event)) for event in events]
        async with self._database.transaction(Role.REVIEWER, group_id) as transaction:
            words = Words(self._lexicon, group_id, [chunk for _, chunks in promotions for chunk in chunks])
            ends = await transaction.run(words.asked())
            statements += [(query("add_memory"), memory_params(chunk) | more) for chunk, more in words.placed(ends)]
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


def models_of(promotions: Sequence[tuple[Promotion, Sequence[Memory]]]) -> list[dict[str, Any]]:
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


def promotion_params(promotion: Promotion) -> dict[str, Any]:
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
        "supersedes": promotion.supersedes,
        "fingerprint": promotion.fingerprint,
        "decided_by": promotion.decided_by,
        "decided_at": promotion.decided_at,
    }


def memory_params(chunk: Memory) -> dict[str, Any]:
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
