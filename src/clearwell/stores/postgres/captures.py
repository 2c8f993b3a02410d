"""The agent's side of quarantine: it adds rows and reads none."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from psycopg.types.json import Jsonb

from clearwell.errors import IdempotencyMismatch
from clearwell.ports import Stored
from clearwell.records import Admission, Capture, IdempotencyKey, Verdict
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.exchange import Params, Statement
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rows import verdict_params

SWEEP_AFTER = timedelta(seconds=2)
"""Until then a new row is left to the process that captured it."""


class PostgresCaptures:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self, captures: Sequence[Capture], *, request: IdempotencyKey | None = None, settled: Sequence[Verdict] = ()
    ) -> list[Stored]:
        group_id = captures[0].group_id
        statements = [
            (
                query("capture"),
                capture_params(capture, key=_item_key(request, number), request=request, settled=bool(settled)),
            )
            for number, capture in enumerate(captures)
        ]
        if settled:
            statements += [
                (query("add_verdict_if_kept"), verdict_params(capture.group_id, capture.id, verdict, position))
                for capture in captures
                for position, verdict in enumerate(settled)
            ]
        if request is None:
            await self._database.run_all(Role.AGENT, group_id, statements)
            return [Stored(id=capture.id, replayed=False) for capture in captures]
        return await self._add_once(captures, request, statements)

    async def _add_once(
        self, captures: Sequence[Capture], request: IdempotencyKey, statements: Sequence[Statement]
    ) -> list[Stored]:
        """Add the rows, or find those that an earlier try of the request added."""
        group_id = captures[0].group_id
        keys = [_item_key(request, number) for number in range(len(captures))]
        params = {"group_id": group_id, "captured_by": request.principal, "keys": keys}
        async with self._database.transaction(Role.AGENT, group_id) as transaction:
            *_, rows = await transaction.run([*statements, (query("captured_before"), params)])
            if any(bytes(row["request_hash"]) != request.request_hash for row in rows):
                raise IdempotencyMismatch("idempotency_mismatch", field="Idempotency-Key", key=request.key)
        ids = {row["idempotency_key"]: row["id"] for row in rows}
        return [
            Stored(id=ids[key], replayed=ids[key] != capture.id) for key, capture in zip(keys, captures, strict=True)
        ]


def _item_key(request: IdempotencyKey | None, number: int) -> str | None:
    return None if request is None else f"{request.route} {number} {request.key}"


def capture_params(capture: Capture, *, key: str | None, request: IdempotencyKey | None, settled: bool) -> Params:
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
        "idempotency_key": key,
        "request_hash": None if request is None else request.request_hash,
        "state": Admission.REFUSED if settled else Admission.PENDING,
        "settled_at": capture.created_at if settled else None,
        "next_try_at": capture.created_at + SWEEP_AFTER,
    }
    return params
