"""The input of a digest: quarantine rows with their statements, and what they are compared with."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow

from clearwell.ports import CandidateFilter, DigestMaterial, KnownVector, RejectedVector, UndecidedVector
from clearwell.records import Admission, DigestRow, Statement, stated_confidence
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rows import from_column
from clearwell.stores.postgres.statements import statement_of

MAX_UNDECIDED = 200
"""How many insights without a decision, the newest, have their rows. Nobody reviews more than that at once."""
READ_CHARS = 100_000
"""How much of a text is read, so that one page of candidates stays small in memory."""


class PostgresDigestMaterial(DigestMaterial):
    def __init__(self, database: Database) -> None:
        self._database = database

    async def count_unsettled(self, group_id: str) -> int:
        rows = await self._run(group_id, "unsettled_rows")
        return int(rows[0]["rows"])

    async def count_rows(self, where: CandidateFilter) -> int:
        rows = await self._run(where.group_id, "count_digest_candidates", most_considered=where.most_considered)
        return int(rows[0]["rows"])

    async def has_rows(self, group_id: str) -> bool:
        return bool((await self._run(group_id, "group_holds_rows"))[0]["held"])

    async def list_rows(self, where: CandidateFilter, *, after: UUID | None, limit: int) -> Sequence[DigestRow]:
        params = {
            "group_id": where.group_id,
            "without_types": list(where.without_types),
            "most_considered": where.most_considered,
            "after": after,
            "limit": limit,
            "chars": READ_CHARS,
        }
        queries = [(query("plan_by_id"), {}), (query("digest_rows"), params)]
        _, rows = await self._database.run_all(Role.WORKER, where.group_id, queries)
        ids = [row["id"] for row in rows]
        said = await self._run(where.group_id, "digest_statements", ids=ids, model=where.model)
        statements: dict[UUID, list[Statement]] = {}
        for one in said:
            statements.setdefault(one["log_id"], []).append(statement_of(one))
        return [_row_of(row, statements.get(row["id"], ())) for row in rows]

    async def read_contents(self, group_id: str, log_ids: Sequence[UUID]) -> Mapping[UUID, str]:
        rows = await self._run(group_id, "contents", ids=list(log_ids))
        return {row["id"]: row["content"] for row in rows}

    async def list_verified(self, group_id: str, model: str) -> Sequence[KnownVector]:
        return _known(await self._run(group_id, "verified_texts", model=model))

    async def list_undecided(self, group_id: str, model: str) -> Sequence[UndecidedVector]:
        insights = await self._run(group_id, "undecided_insights", model=model)
        ids = [row["id"] for row in insights[-MAX_UNDECIDED:]]
        rows = await self._run(group_id, "sources_of_insights", ids=ids, chars=READ_CHARS)
        statements: dict[tuple[UUID, UUID], list[Statement]] = {}
        for one in await self._run(group_id, "statements_of_insights", ids=ids, model=model):
            statements.setdefault((one["insight_id"], one["log_id"]), []).append(statement_of(one))
        sources: dict[UUID, list[DigestRow]] = {}
        for row in rows:
            found = statements.get((row["insight_id"], row["id"]), ())
            sources.setdefault(row["insight_id"], []).append(_row_of(row, found))
        return [
            UndecidedVector(
                id=row["id"],
                content=row["content"],
                embedding=vector,
                has_sides=row["has_sides"],
                rows=tuple(sources.get(row["id"], ())),
            )
            for row in insights
            if (vector := from_column(row["embedding"])) is not None
        ]

    async def list_rejected(self, group_id: str, model: str) -> Sequence[RejectedVector]:
        rows = await self._run(group_id, "rejected_vectors", model=model)
        return [
            RejectedVector(reason=row["reason"], at=row["made_at"], embedding=vector)
            for row in rows
            if (vector := from_column(row["embedding"])) is not None
        ]

    async def count_decisions(self, group_id: str) -> Mapping[str, tuple[int, int]]:
        rows = await self._run(group_id, "statistics_by_agent")
        return {row["by"]: (row["promoted"], row["rejected"]) for row in rows if row["by"] is not None}

    async def list_refused_values(self, group_id: str) -> frozenset[bytes]:
        return frozenset(bytes(row["value_hash"]) for row in await self._run(group_id, "refused_values"))

    async def _run(self, group_id: str, name: str, **params: Any) -> list[DictRow]:
        return await self._database.run(Role.WORKER, group_id, query(name), {"group_id": group_id, **params})


def _known(rows: Sequence[DictRow]) -> list[KnownVector]:
    return [
        KnownVector(id=row["id"], content=row["content"], embedding=vector)
        for row in rows
        if (vector := from_column(row["embedding"])) is not None
    ]


def _row_of(row: DictRow, statements: Sequence[Statement]) -> DigestRow:
    return DigestRow(
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
        statements=tuple(statements),
        captured_by=row["captured_by"],
    )
