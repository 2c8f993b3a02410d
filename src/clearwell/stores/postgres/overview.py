"""Counts for the operator. It reads numbers, names of groups and reasons, never content, and cannot write.

The working roles see one group at a time, on purpose. Counts over all groups are made with the login of
``DATABASE_URL`` itself, as migrations are, and only if row-level security does not hide the rows from it:
a count of the visible rows would be wrong.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import psycopg
from psycopg.rows import DictRow, dict_row

from clearwell.records import Admission, Reembedding
from clearwell.stores.postgres.connection import Params, open_connection
from clearwell.stores.postgres.database import Role, translate_errors, translate_refused_rights
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.reembeddings import reembedding_of
from clearwell.stores.postgres.schema import migrations


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """The version of the server and of its schema. ``schema`` is None if there is none."""

    version: str
    pgvector: str | None
    schema: int | None
    newest_schema: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    valid: int
    revoked: int
    reviewers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionBacklog:
    rows: int
    oldest: datetime | None
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The totals of all groups. ``groups`` says for each group whether it has long-term memory."""

    admissions: Mapping[Admission, int]
    pending: AdmissionBacklog
    memories: int
    chunks: int
    groups: Mapping[str, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    check: str
    reason: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IngressSummary:
    """What the ingress pipeline decided since a moment, and why it refused."""

    admissions: Mapping[Admission, int]
    refusals: Sequence[Refusal]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFailures:
    """Rows that are refused because the judge never answered, and the newest of them."""

    rows: int
    group_id: str
    log_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeBacklog:
    """The rows that wait for the judge, and those refused because it did not answer."""

    waiting: int
    failures: JudgeFailures | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingPromotions:
    """Promotions that wait for the same reason, and the oldest of them."""

    problem: str | None
    rows: int
    oldest: datetime
    group_id: str
    memory_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class LostMemories:
    """Memories in force without chunks, and memories whose chunks are not what was promoted.

    Each with in how many groups, and one of these groups.
    """

    memories: int
    groups: int
    group_id: str | None
    changed: int
    changed_groups: int
    changed_group_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutdatedTerms:
    """In how many groups the terms of chunks are missing, outdated or miscounted, and one of these groups."""

    groups: int
    group_id: str | None


class Overview:
    """One read-only connection with the login of the database's address."""

    def __init__(self, connection: psycopg.AsyncConnection[DictRow]) -> None:
        self._connection = connection

    async def read_server(self) -> ServerFacts:
        row = await self._fetch_row("overview_server")
        applied = await self._fetch_rows("schema_versions") if row["has_schema"] else []
        return ServerFacts(
            version=row["server"].split()[0],
            pgvector=row["pgvector"],
            schema=applied[-1]["version"] if applied else None,
            newest_schema=migrations()[-1].version,
        )

    async def sees_all(self) -> bool:
        """Whether this login sees the rows of every group."""
        return bool((await self._fetch_row("overview_sees_all"))["sees_all"])

    async def read_keys(self) -> Keys:
        async with self._enter_role(Role.OPERATOR):
            return Keys(**await self._fetch_row("overview_keys"))

    async def read_models(self) -> dict[str, int]:
        """The models of the stored vectors, with their dimensions."""
        async with self._enter_role(Role.REVIEWER):
            return {row["model"]: row["dimensions"] for row in await self._fetch_rows("embedding_models")}

    async def read_last_reembedding(self) -> Reembedding | None:
        """The last re-embedding: the models before it are still recorded, but no longer in use."""
        async with self._enter_role(Role.REVIEWER):
            rows = await self._fetch_rows("last_reembedding")
        return reembedding_of(rows[0]) if rows else None

    async def read_counts(self) -> Counts:
        memories = await self._fetch_row("overview_memories")
        return Counts(
            admissions=_by_state(await self._fetch_rows("overview_admissions")),
            pending=AdmissionBacklog(**await self._fetch_row("overview_pending")),
            memories=memories["memories"],
            chunks=memories["chunks"],
            groups={row["group_id"]: row["has_memories"] for row in await self._fetch_rows("overview_groups")},
        )

    async def read_ingress_summary(self, *, since: datetime) -> IngressSummary:
        return await self._read_ingress_summary({"since": since, "group_id": None})

    async def read_ingress_summary_in(self, group_id: str, *, since: datetime) -> IngressSummary:
        """The same for one group, in the role of a reviewer, which every login of Clearwell can enter."""
        async with self._enter_role(Role.REVIEWER, group_id):
            return await self._read_ingress_summary({"since": since, "group_id": group_id})

    async def read_judge_backlog(self, *, since: datetime) -> JudgeBacklog:
        return await self._read_judge_backlog({"since": since, "group_id": None})

    async def read_judge_backlog_in(self, group_id: str, *, since: datetime) -> JudgeBacklog:
        async with self._enter_role(Role.REVIEWER, group_id):
            return await self._read_judge_backlog({"since": since, "group_id": group_id})

    async def read_waiting(self) -> list[WaitingPromotions]:
        return await self._read_waiting({"group_id": None})

    async def read_waiting_in(self, group_id: str) -> list[WaitingPromotions]:
        async with self._enter_role(Role.REVIEWER, group_id):
            return await self._read_waiting({"group_id": group_id})

    async def _read_waiting(self, params: Params) -> list[WaitingPromotions]:
        return [WaitingPromotions(**row) for row in await self._fetch_rows("overview_waiting", params)]

    async def read_lost_memories(self) -> LostMemories:
        return await self._read_lost_memories(None)

    async def read_lost_memories_in(self, group_id: str) -> LostMemories:
        async with self._enter_role(Role.REVIEWER, group_id):
            return await self._read_lost_memories(group_id)

    async def read_outdated_terms(self, tokenizer_version: int) -> OutdatedTerms:
        return await self._read_outdated_terms(None, tokenizer_version)

    async def read_outdated_terms_in(self, group_id: str, tokenizer_version: int) -> OutdatedTerms:
        async with self._enter_role(Role.REVIEWER, group_id):
            return await self._read_outdated_terms(group_id, tokenizer_version)

    async def _read_lost_memories(self, group_id: str | None) -> LostMemories:
        params = {"group_id": group_id, "ids": None, "after": None, "limit": None}
        return LostMemories(**await self._fetch_row("overview_lost", params))

    async def _read_outdated_terms(self, group_id: str | None, tokenizer_version: int) -> OutdatedTerms:
        params = {"group_id": group_id, "tokenizer_version": tokenizer_version}
        return OutdatedTerms(**await self._fetch_row("outdated_terms", params))

    async def read_memories_in(self, group_id: str) -> dict[str, int]:
        """How many memories a group has, by the model of their vectors."""
        async with self._enter_role(Role.REVIEWER, group_id):
            rows = await self._fetch_rows("overview_group_memories", {"group_id": group_id})
        return {row["embedding_model"]: row["memories"] for row in rows}

    async def _read_judge_backlog(self, params: Params) -> JudgeBacklog:
        waiting = (await self._fetch_row("overview_judge_waiting", params))["rows"]
        failures = await self._fetch_rows("overview_judge_gave_up", params)
        return JudgeBacklog(waiting=waiting, failures=JudgeFailures(**failures[0]) if failures else None)

    async def _read_ingress_summary(self, params: Params) -> IngressSummary:
        return IngressSummary(
            admissions=_by_state(await self._fetch_rows("overview_settled", params)),
            refusals=[Refusal(**row) for row in await self._fetch_rows("overview_refusals", params)],
        )

    @asynccontextmanager
    async def _enter_role(self, role: Role, group_id: str = "") -> AsyncIterator[None]:
        await self._fetch_rows("enter", {"role": role, "group_id": group_id})
        yield
        await self._fetch_rows("leave")

    async def _fetch_rows(self, name: str, params: Params | None = None) -> list[DictRow]:
        return await (await self._connection.execute(query(name), params or {})).fetchall()

    async def _fetch_row(self, name: str, params: Params | None = None) -> DictRow:
        (row,) = await self._fetch_rows(name, params)
        return row


@asynccontextmanager
async def open_overview(url: str, *, connect_seconds: float, statement_seconds: float) -> AsyncIterator[Overview]:
    """Open a read-only transaction and yield the overview."""
    seconds = max(2, int(connect_seconds))
    with translate_errors(), translate_refused_rights():
        async with open_connection(url, row_factory=dict_row, connect_timeout=seconds) as connection:
            await connection.set_read_only(True)
            await connection.execute(query("overview_limit"), {"milliseconds": str(int(statement_seconds * 1000))})
            yield Overview(connection)


def _by_state(rows: Sequence[DictRow]) -> dict[Admission, int]:
    counted = {row["state"]: row["rows"] for row in rows}
    return {state: counted.get(state, 0) for state in Admission}
