"""Between rows of the database and the records of decisions."""

from typing import Any

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from clearwell.records import Action, Decision, NewMemory, Origin, Promotion, PromotionState, Writer
from clearwell.stores.postgres.insights import before_json, before_of


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
