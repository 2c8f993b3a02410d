"""The statements of outputs, written with the admission of an output or later by the worker."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from uuid import UUID

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from clearwell.ports import DueOutput, OutdatedOutput, SegmentedOutput, StatementStore
from clearwell.records import Capture, Segment, SegmentKind, Statement
from clearwell.stores.postgres.connection import SqlStatement
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rows import capture_of, from_column, to_column
from clearwell.vocabulary import RULES


class PostgresStatements(StatementStore):
    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, group_id: str, outputs: Sequence[SegmentedOutput]) -> None:
        if outputs:
            await self._database.run_all(Role.WORKER, group_id, list(put_statements(group_id, outputs)))

    async def read(self, group_id: str, log_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[Statement]]:
        params = {"group_id": group_id, "ids": list(log_ids)}
        return statements_of(await self._database.run(Role.WORKER, group_id, query("statements"), params))

    async def find_outdated(
        self, *, version: int, model: str, limit: int, segmenter: str = RULES
    ) -> Sequence[OutdatedOutput]:
        params = {"version": version, "model": model, "segmenter": segmenter, "limit": limit}
        rows = await self._database.run(Role.WORKER, None, query("outdated_segmentations"), params)
        return [OutdatedOutput(**row) for row in rows]

    async def find_due(self, *, now: datetime, limit: int) -> Sequence[DueOutput]:
        params = {"now": now, "limit": limit}
        rows = await self._database.run(Role.WORKER, None, query("due_segmentations"), params)
        return [DueOutput(**row) for row in rows]

    async def lease(self, group_id: str, log_id: UUID, *, now: datetime, until: datetime) -> bool:
        params = {"group_id": group_id, "log_id": log_id, "now": now, "until": until}
        (changed,) = await self._database.run(Role.WORKER, group_id, query("lease_segmentation"), params)
        return bool(changed["rowcount"])

    async def postpone(self, group_id: str, log_id: UUID, *, problem: str, due_at: datetime | None) -> None:
        params = {"group_id": group_id, "log_id": log_id, "problem": problem, "due_at": due_at}
        await self._database.run(Role.WORKER, group_id, query("postpone_segmentation"), params)

    async def find_admitted(self, group_id: str, log_ids: Sequence[UUID]) -> AbstractSet[UUID]:
        params = {"group_id": group_id, "ids": list(log_ids)}
        return {
            row["log_id"] for row in await self._database.run(Role.WORKER, group_id, query("admitted_among"), params)
        }

    async def read_outputs(self, group_id: str, log_ids: Sequence[UUID]) -> Sequence[Capture]:
        params = {"group_id": group_id, "ids": list(log_ids)}
        rows = await self._database.run(Role.WORKER, group_id, query("settled_outputs"), params)
        return [capture_of(row) for row in rows]


def put_statements(group_id: str, outputs: Sequence[SegmentedOutput]) -> Iterator[SqlStatement]:
    """SQL that replaces the statements of outputs.

    The first statement locks the outputs, so that two processes that segment the same one do not meet.
    """
    noted = [
        {
            "log_id": str(one.log_id),
            "version": one.version,
            "model": one.model,
            "segmenter": one.segmenter,
            "due_at": None if one.due_at is None else one.due_at.isoformat(),
        }
        for one in outputs
    ]
    yield query("note_segmentations"), {"group_id": group_id, "outputs": Jsonb(noted)}
    yield query("remove_statements"), {"group_id": group_id, "ids": [one.log_id for one in outputs]}
    statements = [statement for one in outputs for statement in one.statements]
    if statements:
        params = {
            "group_id": group_id,
            "statements": Jsonb([_statement_params(one) for one in statements]),
            "embeddings": [None if one.embedding is None else to_column(one.embedding) for one in statements],
        }
        yield query("add_statements"), params


def _statement_params(statement: Statement) -> dict[str, object]:
    segment = statement.segment
    return {
        "log_id": str(statement.log_id),
        "number": statement.number,
        "span_start": segment.start,
        "span_end": segment.end,
        "kind": segment.kind,
        "headings": list(segment.headings),
        "lead_in": segment.lead_in,
        "model": statement.embedding_model,
    }


def statements_of(rows: Sequence[DictRow]) -> dict[UUID, list[Statement]]:
    """The rows of the query ``statements`` by output. One row without a number is an output without segments."""
    found: dict[UUID, list[Statement]] = {}
    for row in rows:
        of_output = found.setdefault(row["log_id"], [])
        if row["number"] is not None:
            of_output.append(statement_of(row))
    return found


def statement_of(row: DictRow) -> Statement:
    return Statement(
        log_id=row["log_id"],
        number=row["number"],
        segment=Segment(
            start=row["span_start"],
            end=row["span_end"],
            kind=SegmentKind(row["kind"]),
            headings=tuple(row["headings"]),
            lead_in=row["lead_in"],
        ),
        embedding=from_column(row["embedding"]),
        embedding_model=row["model"],
    )
