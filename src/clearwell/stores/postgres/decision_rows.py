"""Conversion between rows and the records of decisions and promotions."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from clearwell.records import Action, Decision, Memory, NewMemory, Origin, Promotion, PromotionState, Scope, Writer
from clearwell.stores.postgres.insight_rows import before_json, before_of
from clearwell.stores.postgres.rows import to_column


def decisions_params(decisions: Sequence[Decision]) -> dict[str, Any]:
    return {"decisions": Jsonb([_decision_json(one) for one in decisions])}


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
        side_sources=None if row["side_sources"] is None else tuple(row["side_sources"]),
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


def _decision_json(decision: Decision) -> dict[str, Any]:
    return {
        "id": str(decision.id),
        "action": decision.action,
        "insight_id": _id_json(decision.insight_id),
        "promotion_id": _id_json(decision.promotion_id),
        "memory_id": _id_json(decision.memory_id),
        "tombstone_id": _id_json(decision.tombstone_id),
        "supersedes": _id_json(decision.supersedes),
        "origin_id": _id_json(decision.origin_id),
        "side_sources": None if decision.side_sources is None else [str(one) for one in decision.side_sources],
        "others": [str(one) for one in decision.others],
        "undoes": _id_json(decision.undoes),
        "already": decision.already,
        "until": _time_json(decision.until),
        "reason": decision.reason,
        "text_before": decision.text_before,
        "text_after": decision.text_after,
        "writer_before": decision.writer_before,
        "before": None if decision.before is None else before_json(decision.before),
        "decided_by": decision.by,
        "decided_at": _time_json(decision.at),
    }


def models_of(chunks: Iterable[Memory]) -> list[dict[str, Any]]:
    """The embedding models of chunks, each once."""
    used = {
        chunk.embedding_model: {
            "model": chunk.embedding_model,
            "dimensions": len(chunk.embedding),
            "at": chunk.created_at,
        }
        for chunk in chunks
        if chunk.embedding is not None
    }
    return list(used.values())


def promotions_params(promotions: Sequence[Promotion]) -> dict[str, Any]:
    return {"promotions": Jsonb([_promotion_json(one) for one in promotions])}


def chunks_params(placed: Sequence[tuple[Memory, dict[str, Any]]]) -> dict[str, Any]:
    """The parameters of chunks with their positions and terms."""
    return {
        "chunks": Jsonb([_chunk_json(chunk, more) for chunk, more in placed]),
        "embeddings": [None if chunk.embedding is None else to_column(chunk.embedding) for chunk, _ in placed],
        "lexemes": [more["lexemes"] for _, more in placed],
    }


def _promotion_json(promotion: Promotion) -> dict[str, Any]:
    text = promotion.text
    return {
        "id": str(promotion.id),
        "memory_id": str(promotion.memory_id),
        "scope": Scope.GROUP if text.agent_id is None else Scope.AGENT,
        "agent_id": text.agent_id,
        "origin": text.origin,
        "origin_id": _id_json(text.origin_id),
        "content": text.content,
        "session_id": text.session_id,
        "author": text.author,
        "occurred_at": _time_json(text.occurred_at),
        "metadata": dict(text.metadata),
        "flags": list(text.flags),
        "supersedes": _id_json(promotion.supersedes),
        "fingerprint": None if promotion.fingerprint is None else f"\\x{promotion.fingerprint.hex()}",
        "decided_by": promotion.decided_by,
        "decided_at": _time_json(promotion.decided_at),
    }


def _chunk_json(chunk: Memory, more: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": str(chunk.id),
        "chunk_no": chunk.chunk_no,
        "promotion_id": str(chunk.promotion_id),
        "scope": chunk.scope,
        "agent_id": chunk.agent_id,
        "content": chunk.content,
        "embedding_model": chunk.embedding_model,
        "session_id": chunk.session_id,
        "author": chunk.author,
        "occurred_at": _time_json(chunk.occurred_at),
        "metadata": dict(chunk.metadata),
        "flags": list(chunk.flags),
        "promoted_at": _time_json(chunk.promoted_at),
        "valid_to": _time_json(chunk.valid_to),
        "position": more["position"],
        "tokenizer_version": more["tokenizer_version"],
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
        flags=tuple(row["flags"]),
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
        import_id=row["import_id"],
    )
    return PromotionState(
        promotion=promotion,
        chunks=row["chunks"],
        valid_to=row["valid_to"],
        waiting=row["waiting"],
        problem=row["problem"],
    )


def _id_json(value: UUID | None) -> str | None:
    return None if value is None else str(value)


def _time_json(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()
