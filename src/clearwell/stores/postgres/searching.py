"""Between a search and the statement that runs it."""

from typing import Any

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from clearwell.ports import Asked, Fusion, SearchQuery
from clearwell.records import Found, Parts, Where
from clearwell.stores.postgres.rows import memory_of

NO_WORDS = Asked(weights={}, spoken="")
BY_VECTOR = Fusion(dense=1.0, lexical=0.0, author=0.0, beside=0.0, answer=0.0, session=0.0)


def asked_params(wanted: SearchQuery, limit: int) -> dict[str, Any]:
    asked, fusion = (NO_WORDS, BY_VECTOR) if wanted.asked is None else (wanted.asked, wanted.fusion)
    return {
        "by_words": wanted.embedding is None,
        "dimensions": list(asked.weights),
        "weights": [float(weight) for weight in asked.weights.values()],
        "spoken": asked.spoken,
        "dense": float(fusion.dense),
        "lexical": float(fusion.lexical),
        "author": float(fusion.author),
        "beside": float(fusion.beside),
        "answer": float(fusion.answer),
        "session": float(fusion.session),
        "pool": max(fusion.pool, limit),
    }


def where_params(where: Where) -> dict[str, Any]:
    conditions = [
        {"path": list(one.path), "operator": one.operator.value, "value": one.value} for one in where.conditions
    ]
    return {
        "everything": where.everything,
        "since": where.since,
        "until": where.until,
        "session_id": where.session_id,
        "as_of": where.as_of,
        "scope": where.scope,
        "conditions": Jsonb(conditions),
    }


def found_of(row: DictRow, wanted: SearchQuery) -> Found:
    memory, similarity = memory_of(row), row["similarity"]
    if wanted.asked is None:
        return Found(memory=memory, similarity=similarity, origin_id=row.get("origin_id"))
    fusion = wanted.fusion
    parts = Parts(
        dense=fusion.dense * (similarity or 0.0),
        lexical=fusion.lexical * row["words"],
        author=row["named"],
        beside=row["beside"] if row["placed"] else 0.0,
        answer=row["answer"] if row["placed"] else 0.0,
        session=row["session"] if row["placed"] else 0.0,
    )
    return Found(
        memory=memory,
        similarity=similarity,
        words=row["words"],
        rank=row["rank"],
        parts=parts,
        origin_id=row["origin_id"],
    )
