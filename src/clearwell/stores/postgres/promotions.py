"""What is stored of a promotion and of its chunks."""

from collections.abc import Sequence
from typing import Any

from psycopg.types.json import Jsonb

from clearwell.records import Memory, Promotion, Scope
from clearwell.stores.postgres.rows import to_column


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
