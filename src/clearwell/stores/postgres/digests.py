"""Digests: what reviewers request and read, and the runs of the worker."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from clearwell.ports import FAR_AHEAD, AddDueResult, DigestAttempt, DigestRuns, DigestStore, OpenDigest, Schedule
from clearwell.records import AuditEvent, Digest, DigestStatus, Insight, Metadata
from clearwell.stores.postgres.connection import SqlStatement
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.insight_rows import insights_of, new_insight_params
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rows import event_params, verdicts_of

SOURCE_CHARS = 4000
"""How many characters of a source are shown with an insight. The whole row can be read by its id."""


class PostgresDigests(DigestStore):
    """Requests and reads digests, in the reviewer's role."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def request(self, digest: Digest, *, event: AuditEvent) -> Digest:
        group = {"group_id": digest.group_id}
        async with self._database.transaction(Role.REVIEWER, digest.group_id) as transaction:
            added, found = await transaction.run([_make_insert(digest), (query("open_digest"), group)])
            if added[0]["rowcount"]:
                await transaction.run([(query("add_event"), event_params(event, self._database.signer))])
        # Without a row the open one has ended between the two statements: what it made is the answer to now.
        return _make_digest(found[0]) if found else (await self.page(digest.group_id, limit=1))[0]

    async def get(self, group_id: str, digest_id: UUID) -> Digest | None:
        keys = {"group_id": group_id, "id": digest_id}
        insights = {"group_id": group_id, "digest_id": digest_id}
        statements = [(query("get_digest"), keys), (query("insights_of_digest"), insights)]
        rows, found = await self._database.run_all(Role.REVIEWER, group_id, statements)
        if not rows:
            return None
        return _make_digest(rows[0], await self._add_sources(group_id, found))

    async def page(self, group_id: str, *, before: UUID | None = None, limit: int = 50) -> Sequence[Digest]:
        params = {"group_id": group_id, "before": before, "limit": limit}
        rows = await self._database.run(Role.REVIEWER, group_id, query("list_digests"), params)
        return [_make_digest(row) for row in rows]

    async def find_group(self, digest_id: UUID) -> str | None:
        statements: list[SqlStatement] = [
            (query("name_digest"), {"id": str(digest_id)}),
            (query("group_of_digest"), {"id": digest_id}),
        ]
        _, rows = await self._database.run_all(Role.REVIEWER, None, statements)
        return str(rows[0]["group_id"]) if rows else None

    async def _add_sources(self, group_id: str, rows: Sequence[DictRow]) -> list[Insight]:
        """Return insights with the beginnings of their sources and the verdicts of the ingress pipeline on each."""
        params = {"group_id": group_id, "ids": [row["id"] for row in rows], "chars": SOURCE_CHARS}
        sources = await self._database.run(Role.REVIEWER, group_id, query("insight_sources"), params)
        judged = {"group_id": group_id, "ids": [row["log_id"] for row in sources]}
        verdicts = verdicts_of(await self._database.run(Role.REVIEWER, group_id, query("receipts"), judged))
        return [
            replace(one, sources=tuple(replace(each, verdicts=verdicts.get(each.log_id, ())) for each in one.sources))
            for one in insights_of(rows, sources)
        ]


class PostgresDigestRuns(DigestRuns):
    """Runs digests, in the worker's role, which cannot decide anything."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_schedules(self) -> Sequence[Schedule]:
        rows = await self._database.run(Role.WORKER, None, query("digest_schedules"))
        return [
            Schedule(
                group_id=row["group_id"],
                since=row["since"],
                cron=row["digest_cron"],
                zone=row["digest_zone"],
            )
            for row in rows
        ]

    async def add_due(self, digest: Digest, *, event: AuditEvent) -> AddDueResult:
        tick = {"group_id": digest.group_id, "due_at": digest.due_at}
        async with self._database.transaction(Role.WORKER, digest.group_id) as transaction:
            added, had = await transaction.run([_make_insert(digest), (query("digest_of_tick"), tick)])
            if not added[0]["rowcount"]:
                return AddDueResult.ALREADY_ADDED if had else AddDueResult.BUSY
            await transaction.run([(query("add_event"), event_params(event, self._database.signer))])
            return AddDueResult.ADDED

    async def find_due(self, *, at: datetime) -> Sequence[OpenDigest]:
        rows = await self._database.run(Role.WORKER, None, query("due_digests"), {"at": at, "ahead": at + FAR_AHEAD})
        return [OpenDigest(group_id=row["group_id"], digest_id=row["id"]) for row in rows]

    async def claim(self, group_id: str, digest_id: UUID, *, at: datetime, until: datetime) -> Digest | None:
        params = {"group_id": group_id, "id": digest_id, "at": at, "until": until, "ahead": at + FAR_AHEAD}
        rows = await self._database.run(Role.WORKER, group_id, query("claim_digest"), params)
        return _make_digest(rows[0]) if rows else None

    async def renew(self, attempt: DigestAttempt, *, until: datetime) -> bool:
        return await self._change(attempt, "renew_digest", until=until)

    async def release(self, attempt: DigestAttempt) -> bool:
        return await self._change(attempt, "release_digest")

    async def report(self, attempt: DigestAttempt, *, progress: float, note: str, params: Metadata) -> bool:
        return await self._change(attempt, "tell_digest", progress=progress, note=note, params=Jsonb(dict(params)))

    async def postpone(self, attempt: DigestAttempt, *, again: datetime, note: str, params: Metadata) -> bool:
        return await self._change(attempt, "put_off_digest", again=again, note=note, params=Jsonb(dict(params)))

    async def fail(
        self, attempt: DigestAttempt, *, at: datetime, note: str, params: Metadata, event: AuditEvent
    ) -> bool:
        end = _make_end(attempt, status=DigestStatus.FAILED, at=at, note=note, params=params, report={})
        return await self._end(attempt, end, [], event)

    async def finish(
        self,
        attempt: DigestAttempt,
        digest: Digest,
        insights: Sequence[Insight],
        *,
        considered: Sequence[UUID],
        replaced: Mapping[UUID, UUID],
        event: AuditEvent,
    ) -> bool:
        end = _make_end(
            attempt,
            status=DigestStatus.DONE,
            at=digest.finished_at,
            note=digest.note,
            params=digest.note_params,
            report=digest.report,
        )
        # Insights before rows, each in one order, so that a reviewer who decides at the same time waits and never
        # deadlocks.
        merged = [
            (query("replace_insight"), {"group_id": attempt.group_id, "id": old, "by": new, "at": digest.finished_at})
            for old, new in sorted(replaced.items())
        ]
        marks = {"group_id": attempt.group_id, "ids": sorted(considered)}
        kept = [statement for place, one in enumerate(insights) for statement in _make_insight_statements(one, place)]
        return await self._end(attempt, end, [*merged, (query("mark_considered"), marks), *kept], event)

    async def _end(
        self, attempt: DigestAttempt, end: SqlStatement, more: Sequence[SqlStatement], event: AuditEvent
    ) -> bool:
        async with self._database.transaction(Role.WORKER, attempt.group_id) as transaction:
            (ended,) = await transaction.run([end])
            if ended[0]["rowcount"]:
                await transaction.run([*more, (query("add_event"), event_params(event, self._database.signer))])
            return bool(ended[0]["rowcount"])

    async def _change(self, attempt: DigestAttempt, name: str, **values: object) -> bool:
        rows = await self._database.run(Role.WORKER, attempt.group_id, query(name), {**_keys(attempt), **values})
        return bool(rows[0]["rowcount"])


def _make_insert(digest: Digest) -> SqlStatement:
    return query("add_digest"), {
        "group_id": digest.group_id,
        "id": digest.id,
        "due_at": digest.due_at,
        "requested_by": digest.requested_by,
        "created_at": digest.created_at,
    }


def _keys(attempt: DigestAttempt) -> dict[str, Any]:
    return {"group_id": attempt.group_id, "id": attempt.digest_id, "attempt": attempt.number}


def _make_end(
    attempt: DigestAttempt,
    *,
    status: DigestStatus,
    at: datetime | None,
    note: str | None,
    params: Metadata,
    report: Metadata,
) -> SqlStatement:
    return query("end_digest"), {
        **_keys(attempt),
        "status": status,
        "progress": 1.0 if status is DigestStatus.DONE else 0.0,
        "at": at,
        "note": note,
        "params": Jsonb(dict(params)),
        "report": Jsonb(dict(report)),
    }


def _make_insight_statements(insight: Insight, place: int) -> list[SqlStatement]:
    keys = {"group_id": insight.group_id, "insight_id": insight.id}
    ids = [source.log_id for source in insight.sources]
    sources = {
        **keys,
        "log_ids": ids,
        "positions": list(range(len(ids))),
        "statements": [source.statement for source in insight.sources],
        "numbers": [source.number for source in insight.sources],
        "starts": [None if source.span is None else source.span[0] for source in insight.sources],
        "ends": [None if source.span is None else source.span[1] for source in insight.sources],
        "sides": [source.side for source in insight.sources],
    }
    return [
        (query("add_insight"), new_insight_params(insight, place)),
        (query("add_insight_sources"), sources),
    ]


def _make_digest(row: DictRow, insights: Sequence[Insight] = ()) -> Digest:
    return Digest(
        id=row["id"],
        group_id=row["group_id"],
        status=DigestStatus(row["status"]),
        requested_by=row["requested_by"],
        created_at=row["created_at"],
        due_at=row["due_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        attempts=row["attempts"],
        progress=row["progress"],
        note=row["note"],
        note_params=row["note_params"],
        report=row["report"],
        insights=tuple(insights),
    )
