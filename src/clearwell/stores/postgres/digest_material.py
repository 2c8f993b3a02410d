"""The input of a digest: quarantine rows with their vectors, and what they are compared with."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow

from clearwell.ports import CandidateFilter, DigestMaterial, KnownVector, RejectedVector
from clearwell.records import Admission, DigestCandidate, Vector, stated_confidence
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rows import from_column, to_column

READ_CHARS = 100_000
"""How much of a text is read, so that one page of candidates stays small in memory."""


class PostgresDigestMaterial(DigestMaterial):
    def __init__(self, database: Database) -> None:
        self._database = database

    async def unsettled(self, group_id: str) -> int:
        rows = await self._run(group_id, "unsettled_rows")
        return int(rows[0]["rows"])

    async def count(self, where: CandidateFilter) -> int:
        rows = await self._run(where.group_id, "count_digest_candidates", most_considered=where.most_considered)
        return int(rows[0]["rows"])

    async def holds_rows(self, group_id: str) -> bool:
        return bool((await self._run(group_id, "group_holds_rows"))[0]["held"])

    async def candidates(self, where: CandidateFilter, *, after: UUID | None, limit: int) -> Sequence[DigestCandidate]:
        params = {
            "group_id": where.group_id,
            "model": where.model,
            "without_types": list(where.without_types),
            "most_considered": where.most_considered,
            "after": after,
            "limit": limit,
            "chars": READ_CHARS,
        }
        statements = [(query("plan_by_id"), {}), (query("digest_candidates"), params)]
        _, rows = await self._database.run_all(Role.WORKER, where.group_id, statements)
        return [_candidate_of(row) for row in rows]

    async def add_vectors(self, group_id: str, model: str, vectors: Mapping[UUID, Vector]) -> None:
        embeddings = [to_column(vector) for vector in vectors.values()]
        await self._run(group_id, "add_quarantine_vectors", model=model, ids=list(vectors), embeddings=embeddings)

    async def verified(self, group_id: str, model: str) -> Sequence[KnownVector]:
        return _known(await self._run(group_id, "verified_texts", model=model))

    async def undecided(self, group_id: str, model: str) -> Sequence[KnownVector]:
        return _known(await self._run(group_id, "undecided_insights", model=model))

    async def rejected(self, group_id: str, model: str) -> Sequence[RejectedVector]:
        rows = await self._run(group_id, "rejected_vectors", model=model)
        return [
            RejectedVector(reason=row["reason"], at=row["made_at"], embedding=vector)
            for row in rows
            if (vector := from_column(row["embedding"])) is not None
        ]

    async def decided(self, group_id: str) -> Mapping[str, tuple[int, int]]:
        rows = await self._run(group_id, "statistics_by_agent")
        return {row["by"]: (row["promoted"], row["rejected"]) for row in rows if row["by"] is not None}

    async def refused_values(self, group_id: str) -> frozenset[bytes]:
        return frozenset(bytes(row["value_hash"]) for row in await self._run(group_id, "refused_values"))

    async def _run(self, group_id: str, name: str, **params: Any) -> list[DictRow]:
        return await self._database.run(Role.WORKER, group_id, query(name), {"group_id": group_id, **params})


def _known(rows: Sequence[DictRow]) -> list[KnownVector]:
    return [
        KnownVector(id=row["id"], content=row["content"], embedding=vector)
        for row in rows
        if (vector := from_column(row["embedding"])) is not None
    ]


def _candidate_of(row: DictRow) -> DigestCandidate:
    return DigestCandidate(
        log_id=row["id"],
        content=row["content"],
        agent_id=row["agent_id"],
        session_id=row["session_id"],
        node_id=row["node_id"],
        node_type=row["node_type"],
        occurred_at=row["occurred_at"],
        confidence=stated_confidence(row),
        admission=Admission(row["state"]),
        flags=tuple(row["flags"]),
        considered=row["considered"],
        embedding=from_column(row["embedding"]),
    )
