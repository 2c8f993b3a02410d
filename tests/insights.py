"""Insights for tests, as a digest would make them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

import psycopg
import uuid_utils.compat
from psycopg.types.json import Jsonb

from clearwell.app import Clearwell
from clearwell.records import NewCapture, Principal, Writer

PERSON = Principal.local("ann")


async def put_insight(
    clearwell: Clearwell,
    group_id: str,
    summary: str,
    said: Sequence[NewCapture | UUID] = (),
    *,
    flags: Sequence[str] = (),
    written_by: Writer = Writer.EXTRACTIVE,
    digest_id: UUID | None = None,
    position: int = 0,
) -> UUID:
    """A pending insight that rests on these outputs, which are captured first where they are not yet."""
    sources = [
        one if isinstance(one, UUID) else (await clearwell.memory.acting_as(PERSON).capture(one, wait=True)).id
        for one in said
    ]
    assert clearwell.settings.database_url is not None
    digest_id = digest_id or uuid_utils.compat.uuid7()
    insight_id, now = uuid_utils.compat.uuid7(), datetime.now(UTC)
    url = clearwell.settings.database_url.get_secret_value()
    async with await psycopg.AsyncConnection.connect(url) as owner:
        await owner.execute(
            "INSERT INTO digests (group_id, id, status, requested_by, created_at) VALUES (%s, %s, 'done', 'test', %s) "
            "ON CONFLICT DO NOTHING",
            (group_id, digest_id, now),
        )
        await owner.execute(
            """INSERT INTO insights (group_id, id, digest_id, position, summary, written_by, flags, support, created_at,
                changed_at) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)""",
            (
                group_id,
                insight_id,
                digest_id,
                position,
                summary,
                written_by,
                list(flags),
                Jsonb({"agents": 1, "sessions": 1, "days": 1, "rows": len(sources)}),
                now,
                now,
            ),
        )
        for position, log_id in enumerate(sources):
            await owner.execute(
                "INSERT INTO insight_sources (group_id, insight_id, log_id, position) VALUES (%s, %s, %s, %s)",
                (group_id, insight_id, log_id, position),
            )
            await owner.execute(
                "INSERT INTO digest_marks (group_id, log_id, considered) VALUES (%s, %s, 1) ON CONFLICT DO NOTHING",
                (group_id, log_id),
            )
    return insight_id


async def rows(clearwell: Clearwell, statement: str, *params: object) -> list[tuple[object, ...]]:
    """What the database holds, past row-level security."""
    assert clearwell.settings.database_url is not None
    url = clearwell.settings.database_url.get_secret_value()
    async with await psycopg.AsyncConnection.connect(url) as owner:
        return await (await owner.execute(statement.encode(), params)).fetchall()
