"""Quarantine: the rows that agents add, and the rows that reviewers read."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from clearwell.errors import IdempotencyMismatch
from clearwell.ports import CaptureStore, QuarantineFilter, QuarantineStore, StoredCapture
from clearwell.records import Admission, Capture, IdempotencyKey, QuarantinePage, QuarantineRow, SightingRow, Verdict
from clearwell.stores.postgres.connection import Params, SqlStatement
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rows import quarantine_row_of, verdict_params, verdicts_of
from clearwell.stores.postgres.statements import statements_of

SWEEP_AFTER = timedelta(seconds=2)
"""Until then a new row is left to the process that captured it, and the sweep ignores it."""
WINDOW = 10_000
"""So that a page takes as long with a million outputs as with these."""
LAST_MS = 253_402_300_799_000
"""The end of the year 9999, the last moment that Python can name."""


class PostgresCaptures(CaptureStore):
    """The side of agents: they add rows and read none."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self,
        captures: Sequence[Capture],
        *,
        keys: Sequence[IdempotencyKey | None] = (),
        settled: Sequence[Verdict] = (),
    ) -> list[StoredCapture]:
        group_id, keys = captures[0].group_id, keys or [None] * len(captures)
        statements = [
            (query("capture"), capture_params(capture, key=key, settled=bool(settled)))
            for capture, key in zip(captures, keys, strict=True)
        ]
        if settled:
            statements += [
                (query("add_verdict_if_kept"), verdict_params(capture.group_id, capture.id, verdict, position))
                for capture in captures
                for position, verdict in enumerate(settled)
            ]
        if not any(keys):
            await self._database.run_all(Role.AGENT, group_id, statements)
            return [StoredCapture(id=capture.id, replayed=False) for capture in captures]
        return await self._add_once(captures, keys, statements)

    async def _add_once(
        self, captures: Sequence[Capture], keys: Sequence[IdempotencyKey | None], statements: Sequence[SqlStatement]
    ) -> list[StoredCapture]:
        """Add the rows, or return those that earlier attempts with the same keys added."""
        group_id = captures[0].group_id
        stored_keys = {_stored_key(key): key for key in keys if key is not None}
        params = {"group_id": group_id, "captured_by": captures[0].captured_by, "keys": list(stored_keys)}
        async with self._database.transaction(Role.AGENT, group_id) as transaction:
            *_, rows = await transaction.run([*statements, (query("captured_before"), params)])
            for row in rows:
                key = stored_keys[row["idempotency_key"]]
                if bytes(row["request_hash"]) != key.request_hash:
                    raise IdempotencyMismatch("idempotency_mismatch", field="Idempotency-Key", key=key.key)
        ids = {row["idempotency_key"]: row["id"] for row in rows}
        stored = [
            capture.id if key is None else ids[_stored_key(key)] for key, capture in zip(keys, captures, strict=True)
        ]
        return [
            StoredCapture(id=log_id, replayed=log_id != capture.id)
            for log_id, capture in zip(stored, captures, strict=True)
        ]


def _stored_key(key: IdempotencyKey) -> str:
    return f"{key.route} {key.key}"


def capture_params(capture: Capture, *, key: IdempotencyKey | None, settled: bool) -> Params:
    params: dict[str, Any] = {
        "group_id": capture.group_id,
        "id": capture.id,
        "session_id": capture.session_id,
        "node_id": capture.node_id,
        "node_type": capture.node_type,
        "agent_id": capture.agent_id,
        "content": capture.content,
        "metadata": Jsonb(dict(capture.metadata)),
        "partial": capture.partial,
        "occurred_at": capture.occurred_at,
        "created_at": capture.created_at,
        "captured_by": capture.captured_by,
        "idempotency_key": None if key is None else _stored_key(key),
        "request_hash": None if key is None else key.request_hash,
        "state": Admission.REFUSED if settled else Admission.PENDING,
        "settled_at": capture.created_at if settled else None,
        "next_try_at": capture.created_at + SWEEP_AFTER,
    }
    return params


class PostgresQuarantine(QuarantineStore):
    """The side of reviewers: they read rows. One page compares up to ``window`` outputs with its filters."""

    def __init__(self, database: Database, *, window: int = WINDOW) -> None:
        self._database = database
        self._window = window

    async def get(self, group_id: str, log_id: UUID) -> QuarantineRow | None:
        found = await self._database.run(
            Role.REVIEWER, group_id, query("quarantine_row"), {"group_id": group_id, "id": log_id}
        )
        rows = await self._with_verdicts(group_id, found)
        if not rows:
            return None
        params = {"group_id": group_id, "id": log_id, "ids": [log_id]}
        statements: list[SqlStatement] = [(query("sightings"), params), (query("statements"), params)]
        seen, segmented = await self._database.run_all(Role.REVIEWER, group_id, statements)
        again = tuple(
            SightingRow(log_id=row["log_id"], agent_id=row["agent_id"], session_id=row["session_id"], at=row["at"])
            for row in seen
        )
        if not segmented:
            return replace(rows[0], sightings=again)
        return replace(
            rows[0],
            sightings=again,
            statements=tuple(statements_of(segmented)[log_id]),
            segmented_by=segmented[0]["segmenter"],
            segmenter_problem=segmented[0]["problem"],
        )

    async def find(self, group_id: str, log_ids: Sequence[UUID]) -> Mapping[UUID, QuarantineRow]:
        return {row.capture.id: row for row in await find_rows(self._database, group_id, log_ids)}

    async def page(
        self, group_id: str, *, where: QuarantineFilter, before: UUID | None = None, limit: int = 50
    ) -> QuarantinePage:
        params = {
            "group_id": group_id,
            "session_id": where.session_id,
            "agent_id": where.agent_id,
            "node_type": where.node_type,
            "words": where.words,
            "admission": where.admission,
            "flag": where.flag,
            "since": where.since,
            "until": where.until,
            "proposed": where.proposed,
            "ids": None if where.ids is None else list(where.ids),
            "before": before,
            "before_at": None if before is None else await self._find_time(group_id, before),
            "window": max(self._window, limit + 1),
            "limit": limit + 1,
        }
        found = await self._list(group_id, "quarantine_rows", params)
        rows = await self._with_verdicts(group_id, found[:limit])
        if len(found) > limit:
            return QuarantinePage(rows=tuple(rows), next=found[limit - 1]["id"])
        ends = await self._list(group_id, "end_of_window", params)
        return QuarantinePage(rows=tuple(rows), next=ends[0]["id"] if ends else None)

    async def _find_time(self, group_id: str, log_id: UUID) -> datetime:
        """When an output was captured. If it is gone by now, the time in its id counts."""
        params = {"group_id": group_id, "id": log_id}
        rows = await self._database.run(Role.REVIEWER, group_id, query("captured_at"), params)
        return rows[0]["created_at"] if rows else time_of(log_id)

    async def _list(self, group_id: str, name: str, params: Params) -> list[DictRow]:
        statements: list[SqlStatement] = [(query(name), params)]
        (rows,) = await self._database.run_all(Role.REVIEWER, group_id, statements, entry="enter_to_list")
        return rows

    async def _with_verdicts(self, group_id: str, rows: Sequence[DictRow]) -> list[QuarantineRow]:
        if not rows:
            return []
        judged = {"group_id": group_id, "ids": [row["id"] for row in rows]}
        verdicts = verdicts_of(await self._database.run(Role.REVIEWER, group_id, query("receipts"), judged))
        return [quarantine_row_of(row, verdicts.get(row["id"], ())) for row in rows]


def time_of(log_id: UUID) -> datetime:
    """The time in an id of version 7."""
    return datetime.fromtimestamp(min(log_id.int >> 80, LAST_MS) / 1000, UTC)


async def find_rows(database: Database, group_id: str, log_ids: Sequence[UUID]) -> list[QuarantineRow]:
    """The rows that exist among these, by id, with their verdicts."""
    params = {"group_id": group_id, "ids": list(log_ids)}
    statements: list[SqlStatement] = [(query("rows_by_id"), params), (query("receipts"), params)]
    rows, judged = await database.run_all(Role.REVIEWER, group_id, statements)
    verdicts = verdicts_of(judged)
    return [quarantine_row_of(row, verdicts.get(row["id"], ())) for row in rows]
