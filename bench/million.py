"""A group with a million outputs in quarantine, and everything else in proportion, filled inside of PostgreSQL."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
from psycopg.rows import dict_row

from bench.ground import memory as make_memory
from bench.ground import promote, vectors
from clearwell.app import Clearwell
from clearwell.records import WorkingEntry
from clearwell.text.segments import SEGMENTER_VERSION

STATEMENTS = Path(__file__).parent / "million.sql"
MEMORIES_PER_OUTPUT = 0.01
BATCH = 500


async def fill_million(clearwell: Clearwell, url: str, group: str, *, rows: int = 1_000_000) -> None:
    """Fill one group. Nothing of it is due for background work, which would disturb what is measured."""
    model = clearwell.embedder.model
    made = [make_memory(group, vector, model) for vector in vectors(int(rows * MEMORIES_PER_OUTPUT), seed=1)]
    for start in range(0, len(made), BATCH):
        await promote(clearwell, group, made[start : start + BATCH])
    params = {"group": group, "rows": rows, "model": model, "version": SEGMENTER_VERSION}
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("SET synchronous_commit = off")
        for statement in _read_statements():
            owner.execute(statement, params if "%(" in statement else None)
        owner.execute("DROP TABLE bench_outputs")
        owner.execute("DROP FUNCTION bench_id")
        owner.execute("VACUUM ANALYZE")
    await _fill_working_memory(clearwell, url, group)


async def _fill_working_memory(clearwell: Clearwell, url: str, group: str) -> None:
    """The newest admitted outputs, as many as working memory holds."""
    size, model, now = clearwell.settings.working_size, clearwell.embedder.model, datetime.now(UTC)
    with psycopg.connect(url, row_factory=dict_row) as owner:
        newest = owner.execute(
            "SELECT q.id, q.content, q.agent_id, q.session_id FROM quarantine_logs q"
            " JOIN admissions a ON a.group_id = q.group_id AND a.log_id = q.id"
            " WHERE q.group_id = %s AND a.state = 'admitted' ORDER BY q.id DESC LIMIT %s",
            (group, size),
        ).fetchall()
    for row, vector in zip(reversed(newest), vectors(size, seed=2), strict=True):
        entry = WorkingEntry(
            **row,
            group_id=group,
            created_at=now,
            expires_at=now + timedelta(hours=20),
            embedding=vector,
            embedding_model=model,
        )
        await clearwell.stores.working.push(entry)


def _read_statements() -> list[str]:
    """The statements of the file, without their comments, in its order."""
    parts = re.split(r"^-- name: \w+$", STATEMENTS.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return [re.sub(r"^--.*$", "", part, flags=re.MULTILINE).strip() for part in parts]
