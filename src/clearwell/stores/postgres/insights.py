"""Between rows of insights and records."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from clearwell.records import (
    Admission,
    Contradiction,
    Insight,
    InsightSource,
    InsightState,
    Layer,
    Note,
    Sentence,
    Support,
    Verdict,
    Writer,
)
from clearwell.stores.postgres.rows import stated_confidence, to_column


def insight_params(insight: Insight, place: int) -> Mapping[str, Any]:
    support = insight.support
    return {
        "group_id": insight.group_id,
        "id": insight.id,
        "digest_id": insight.digest_id,
        "position": place,
        "summary": insight.summary,
        "written_by": insight.written_by,
        "flags": list(insight.flags),
        "contradictions": Jsonb([_contradiction_json(one) for one in insight.contradictions]),
        "support": Jsonb(
            {"agents": support.agents, "sessions": support.sessions, "days": support.days, "rows": support.rows}
        ),
        "score": insight.score,
        "model": insight.embedding_model,
        "embedding": None if insight.embedding is None else to_column(insight.embedding),
        "at": insight.created_at,
        "sentences": Jsonb([_sentence_json(one) for one in insight.sentences]),
        "notes": Jsonb([{"code": one.code, "params": dict(one.params)} for one in insight.notes]),
    }


def insight_of(row: DictRow, sources: Sequence[InsightSource]) -> Insight:
    return Insight(
        id=row["id"],
        group_id=row["group_id"],
        digest_id=row["digest_id"],
        version=row["version"],
        state=InsightState(row["state"]),
        summary=row["summary"],
        written_by=Writer(row["written_by"]),
        sources=tuple(sources),
        contradictions=tuple(_contradiction_of(one) for one in row["contradictions"]),
        flags=tuple(row["flags"]),
        support=Support(**row["support"]),
        score=row["score"],
        created_at=row["created_at"],
        changed_at=row["changed_at"],
        snoozed_until=row["snoozed_until"],
        merged_into=row["merged_into"],
        embedding_model=row["model"],
        sentences=tuple(
            Sentence(text=one["text"], sources=tuple(UUID(source) for source in one["sources"]))
            for one in row["sentences"]
        ),
        notes=tuple(Note(code=one["code"], params=one["params"]) for one in row["notes"]),
    )


def source_of(row: DictRow, verdicts: Sequence[Verdict] = ()) -> InsightSource:
    return InsightSource(
        log_id=row["log_id"],
        agent_id=row["agent_id"],
        session_id=row["session_id"],
        node_id=row["node_id"],
        node_type=row["node_type"],
        occurred_at=row["occurred_at"],
        confidence=stated_confidence(row),
        admission=Admission(row["state"]),
        content=row["content"],
        flags=tuple(row["flags"]),
        statement=row["statement"],
        verdicts=tuple(verdicts),
        cut=row["cut"],
    )


def _sentence_json(one: Sentence) -> dict[str, Any]:
    return {"text": one.text, "sources": [str(source) for source in one.sources]}


def _contradiction_json(one: Contradiction) -> dict[str, Any]:
    return {
        "of": str(one.of),
        "against": str(one.against),
        "layer": one.layer,
        "reason": one.reason,
        "params": dict(one.params),
    }


def _contradiction_of(one: Mapping[str, Any]) -> Contradiction:
    return Contradiction(
        of=UUID(one["of"]),
        against=UUID(one["against"]),
        layer=Layer(one["layer"]),
        reason=one["reason"],
        params=one["params"],
    )
