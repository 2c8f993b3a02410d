"""Between rows of the database and the records of review."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from clearwell.records import (
    Action,
    Admission,
    Contradiction,
    Decision,
    Insight,
    InsightSource,
    InsightState,
    Layer,
    NewMemory,
    Origin,
    Promotion,
    PromotionState,
    Support,
    Writer,
)
from clearwell.stores.postgres.rows import from_column, to_column


def insight_of(row: DictRow, sources: Sequence[DictRow]) -> Insight:
    return Insight(
        id=row["id"],
        group_id=row["group_id"],
        digest_id=row["digest_id"],
        version=row["version"],
        state=InsightState(row["state"]),
        summary=row["summary"],
        written_by=Writer(row["written_by"]),
        sources=tuple(_source_of(one) for one in sources),
        contradictions=tuple(_contradiction_of(one) for one in row["contradictions"]),
        flags=tuple(row["flags"]),
        support=Support(**{name: int(row["support"].get(name, 0)) for name in ("agents", "sessions", "days", "rows")}),
        score=row["score"],
        created_at=row["created_at"],
        changed_at=row["changed_at"],
        snoozed_until=row["snoozed_until"],
        merged_into=row["merged_into"],
        embedding=from_column(row["embedding"]),
        embedding_model=row["model"],
    )


def insights_of(rows: Sequence[DictRow], sources: Sequence[DictRow]) -> list[Insight]:
    by_insight = {key: list(found) for key, found in groupby(sources, key=lambda row: row["insight_id"])}
    return [insight_of(row, by_insight.get(row["id"], [])) for row in rows]


def _source_of(row: DictRow) -> InsightSource:
    return InsightSource(
        log_id=row["log_id"],
        agent_id=row["agent_id"],
        session_id=row["session_id"],
        node_id=row["node_id"],
        node_type=row["node_type"],
        occurred_at=row["occurred_at"],
        confidence=stated_confidence(row["raw_metadata"]),
        admission=Admission(row["admission"]),
        content=row["content"],
        flags=tuple(row["flags"]),
        statement=row["statement"],
    )


def stated_confidence(metadata: Mapping[str, Any]) -> float | None:
    """What the agent stated, where it is a number from 0 to 1."""
    stated = metadata.get("confidence", metadata.get("confidence_score"))
    if isinstance(stated, bool) or not isinstance(stated, int | float) or not 0 <= stated <= 1:
        return None
    return float(stated)


def _contradiction_of(one: Mapping[str, Any]) -> Contradiction:
    return Contradiction(
        of=UUID(str(one["of"])),
        against=UUID(str(one["against"])),
        layer=Layer(one["layer"]),
        reason=str(one["reason"]),
        params=dict(one.get("params") or {}),
    )


def insight_params(insight: Insight) -> dict[str, Any]:
    support = insight.support
    return {
        "group_id": insight.group_id,
        "id": insight.id,
        "version": insight.version,
        "state": insight.state,
        "summary": insight.summary,
        "written_by": insight.written_by,
        "flags": list(insight.flags),
        "support": Jsonb(
            {"agents": support.agents, "sessions": support.sessions, "days": support.days, "rows": support.rows}
        ),
        "model": insight.embedding_model,
        "embedding": None if insight.embedding is None else to_column(insight.embedding),
        "snoozed_until": insight.snoozed_until,
        "merged_into": insight.merged_into,
        "changed_at": insight.changed_at,
    }


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
        others=tuple(row["others"]),
        undoes=row["undoes"],
        already=row["already"],
        until=row["until"],
        reason=row["reason"],
        text_before=row["text_before"],
        text_after=row["text_after"],
        writer_before=None if row["writer_before"] is None else Writer(row["writer_before"]),
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
        "others": list(decision.others),
        "undoes": decision.undoes,
        "already": decision.already,
        "until": decision.until,
        "reason": decision.reason,
        "text_before": decision.text_before,
        "text_after": decision.text_after,
        "writer_before": decision.writer_before,
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
