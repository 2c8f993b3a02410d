"""Conversion between rows and the records of decisions and promotions."""

from collections.abc import Sequence
from typing import Any

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from clearwell.records import Action, Decision, Memory, NewMemory, Origin, Promotion, PromotionState, Scope, Writer
from clearwell.stores.postgres.insight_rows import before_json, before_of
from clearwell.stores.postgres.rows import to_column


def decision_of(row: DictRow) -> Decision:
    return Decision(
        id=row["id"],
        group_id=row["group_id"],
        action=Action(row["action"]),
        by=row["decided_by"],
        at=row["decided_at"],
        insight_id=row["insight_id"],
        promotion_id=row["promotion_id"],
        memory_id=row["memory_id"],
        tombstone_id=row["tombstone_id"],
        supersedes=row["supersedes"],
        origin_id=row["origin_id"],
        others=tuple(row["others"]),
        undoes=row["undoes"],
        already=row["already"],
        until=row["until"],
        reason=row["reason"],
        text_before=row["text_before"],
        text_after=row["text_after"],
        writer_before=None if row["writer_before"] is None else Writer(row["writer_before"]),
        before=None if row["before"] is None else before_of(row["before"]),
    )


def decision_params(decision: Decision) -> dict[str, Any]:
    return {
        "group_id": decision.group_id,
        "id": decision.id,
        "action": decision.action,
        "insight_id": decision.insight_id,
        "promotion_id": decision.promotion_id,
        "memory_id": decision.memory_id,
        "tombstone_id": decision.tombstone_id,
        "supersedes": decision.supersedes,
        "origin_id": decision.origin_id,
        "others": list(decision.others),
        "undoes": decision.undoes,
        "already": decision.already,
        "until": decision.until,
        "reason": decision.reason,
        "text_before": decision.text_before,
        "text_after": decision.text_after,
        "writer_before": decision.writer_before,
        "before": None if decision.before is None else Jsonb(before_json(decision.before)),
        "by": decision.by,
        "at": decision.at,
    }


def promotion_state_of(row: DictRow) -> PromotionState:
    text = NewMemory(
        content=row["content"],
        session_id=row["session_id"],
        author=row["author"],
        occurred_at=row["occurred_at"],
        agent_id=row["agent_id"],
        metadata=row["metadata"],
        origin=Origin(row["origin"]),
        origin_id=row["origin_id"],
        supersedes=row["supersedes"],
    )
    promotion = Promotion(
        id=row["id"],
        memory_id=row["memory_id"],
        group_id=row["group_id"],
        decided_by=row["decided_by"],
        decided_at=row["decided_at"],
        text=text,
        chunks=row["chunks"],
        supersedes=row["supersedes"],
        fingerprint=None if row["fingerprint"] is None else bytes(row["fingerprint"]),
    )
    return PromotionState(
        promotion=promotion,
        chunks=row["chunks"],
        valid_to=row["valid_to"],
        waiting=row["waiting"],
        problem=row["problem"],
    )


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
