"""Conversion between rows and the records of insights."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from itertools import groupby
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from clearwell.records import (
    Admission,
    Contradiction,
    Insight,
    InsightBeforeMerge,
    InsightSide,
    InsightSource,
    InsightState,
    Layer,
    Note,
    Sentence,
    Support,
    Writer,
    stated_confidence,
)
from clearwell.stores.postgres.rows import from_column, to_column


def new_insight_params(insight: Insight, place: int) -> Mapping[str, Any]:
    return {
        **_params(insight),
        "digest_id": insight.digest_id,
        "position": place,
        "score": insight.score,
        "at": insight.created_at,
        "sentences": Jsonb([_sentence_json(one) for one in insight.sentences]),
        "notes": Jsonb([{"code": one.code, "params": dict(one.params)} for one in insight.notes]),
    }


def changed_insight_params(insight: Insight) -> Mapping[str, Any]:
    return {
        **_params(insight),
        "version": insight.version,
        "state": insight.state,
        "snoozed_until": insight.snoozed_until,
        "merged_into": insight.merged_into,
        "changed_at": insight.changed_at,
    }


def _params(insight: Insight) -> dict[str, Any]:
    return {
        "group_id": insight.group_id,
        "id": insight.id,
        "summary": insight.summary,
        "written_by": insight.written_by,
        "flags": list(insight.flags),
        "contradictions": Jsonb([_contradiction_json(one) for one in insight.contradictions]),
        "support": Jsonb(asdict(insight.support)),
        "sides": Jsonb([_side_json(one) for one in insight.sides]),
        "model": insight.embedding_model,
        "embedding": None if insight.embedding is None else to_column(insight.embedding),
    }


def insights_of(rows: Sequence[DictRow], sources: Sequence[DictRow]) -> list[Insight]:
    """Return the insights with their sources, which are ordered by insight."""
    by_insight = {key: list(found) for key, found in groupby(sources, key=lambda row: row["insight_id"])}
    return [_insight_of(row, [_source_of(one) for one in by_insight.get(row["id"], ())]) for row in rows]


def before_json(before: InsightBeforeMerge) -> dict[str, Any]:
    return {
        "flags": list(before.flags),
        "contradictions": [_contradiction_json(one) for one in before.contradictions],
        "support": asdict(before.support),
        "sides": [_side_json(one) for one in before.sides],
    }


def before_of(stored: Mapping[str, Any]) -> InsightBeforeMerge:
    return InsightBeforeMerge(
        flags=tuple(stored["flags"]),
        contradictions=tuple(_contradiction_of(one) for one in stored["contradictions"]),
        support=Support(**stored["support"]),
        sides=tuple(_side_of(one) for one in stored.get("sides", ())),
    )


def _insight_of(row: DictRow, sources: Sequence[InsightSource]) -> Insight:
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
        support=_support_of(row["support"]),
        score=row["score"],
        created_at=row["created_at"],
        changed_at=row["changed_at"],
        snoozed_until=row["snoozed_until"],
        merged_into=row["merged_into"],
        embedding=from_column(row["embedding"]),
        embedding_model=row["model"],
        sentences=tuple(
            Sentence(text=one["text"], sources=tuple(UUID(source) for source in one["sources"]))
            for one in row["sentences"]
        ),
        notes=tuple(Note(code=one["code"], params=one["params"]) for one in row["notes"]),
        sides=tuple(_side_of(one) for one in row["sides"]),
    )


def _source_of(row: DictRow) -> InsightSource:
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
        number=row["number"],
        span=None if row["span_start"] is None else (row["span_start"], row["span_end"]),
        side=row["side"],
        captured_by=row["captured_by"],
        cut=row["cut"],
    )


def _support_of(stored: Mapping[str, Any]) -> Support:
    return Support(**{one.name: int(stored.get(one.name, 0)) for one in fields(Support)})


def _side_json(one: InsightSide) -> dict[str, Any]:
    return {
        "statement": one.statement,
        "log_ids": [str(log_id) for log_id in one.log_ids],
        "support": asdict(one.support),
    }


def _side_of(stored: Mapping[str, Any]) -> InsightSide:
    return InsightSide(
        statement=stored["statement"],
        log_ids=tuple(UUID(log_id) for log_id in stored["log_ids"]),
        support=_support_of(stored["support"]),
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
