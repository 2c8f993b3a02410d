"""A database as the first release left it: its schema, its rows, and the statements of programs that still run."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID, uuid4

import psycopg
from pgvector import HalfVector
from pgvector.psycopg import register_vector_async

from clearwell.ports import Embedder
from clearwell.stores.postgres import migrate

FIRST_RELEASE = 5
"""The number of its last migration."""
GROUP, BUSY_GROUP = "harbour", "lock"
AT = datetime(2026, 1, 5, 8, tzinfo=UTC)
PENDING, ADMITTED, REFUSED, STRAY = (UUID(int=number) for number in range(1, 5))
OUTPUTS = {
    PENDING: ("The crane on pier 4 was inspected by Holm on Monday and may lift 12 tonnes again.", "pending"),
    ADMITTED: ("The night shift at the lock counts 14 boats on average since the new timetable.", "admitted"),
    REFUSED: ("Maybe.", "refused"),
}
KEPT, REPLACED, PRIVATE = (UUID(int=number) for number in range(11, 14))
MEMORIES = {
    KEPT: ("The harbour office keeps the blue ledger in the iron cabinet.", None, None),
    REPLACED: ("The harbour office keeps the blue ledger in the cellar.", None, AT),
    PRIVATE: ("The pilot prefers messages before seven in the morning.", "pilot", None),
}
CAPTURE = """
    WITH kept AS (
        INSERT INTO quarantine_logs (group_id, id, session_id, node_id, node_type, agent_id, content, raw_metadata,
            partial, occurred_at, created_at, captured_by, idempotency_key, request_hash)
        VALUES (%(group_id)s, %(id)s, 's1', 'n1', 'llm', 'a1', %(content)s, '{}', false, %(at)s, %(at)s, 'bot',
            %(key)s, NULL)
        ON CONFLICT DO NOTHING
        RETURNING group_id, id
    )
    INSERT INTO admissions (group_id, log_id, state, next_try_at, settled_at)
    SELECT group_id, id, %(state)s, %(at)s, %(settled_at)s FROM kept
"""
READ = "SELECT id, content FROM memories WHERE group_id = %(group_id)s AND valid_to IS NULL ORDER BY id"
PROMOTE = """
    INSERT INTO promotions (group_id, id, memory_id, scope, agent_id, origin, content, metadata, decided_by, decided_at)
    VALUES (%(group_id)s, %(id)s, %(id)s, %(scope)s, %(agent_id)s, 'typed', %(content)s, '{"room": 7}', 'ann', %(at)s)
"""
ADD_CHUNK = """
    INSERT INTO memories (group_id, id, chunk_no, promotion_id, scope, agent_id, content, embedding, embedding_model,
        metadata, promoted_at, valid_to)
    VALUES (%(group_id)s, %(id)s, 0, %(id)s, %(scope)s, %(agent_id)s, %(content)s, %(embedding)s, %(model)s,
        '{"room": 7}', %(at)s, %(valid_to)s)
"""
ADD_VERDICT = """
    INSERT INTO ingress_verdicts (group_id, log_id, at, position, "check", outcome, value, threshold, reason)
    VALUES (%(group_id)s, %(id)s, %(at)s, 0, 'length', 'fail', '6', 20, 'verdict_length')
"""
REST = """
    INSERT INTO groups (group_id, system_prompt, created_at) VALUES (%(group_id)s, 'Answer as the harbour.', %(at)s);
    INSERT INTO agents (group_id, agent_id, persona, created_at) VALUES (%(group_id)s, 'pilot', 'A pilot.', %(at)s);
    INSERT INTO audit_events (id, group_id, at, actor, action, subject)
        VALUES (%(id)s, %(group_id)s, %(at)s, 'ann', 'promote', 'memory');
    INSERT INTO api_keys (id, name, secret_hash, rights, groups, created_at)
        VALUES (%(id)s, 'ann', 'x', '{review}', NULL, %(at)s)
"""


async def fill(url: str, embedder: Embedder) -> None:
    """Apply the migrations of the first release and store rows of every kind."""
    await migrate(url, up_to=FIRST_RELEASE)
    async with await psycopg.AsyncConnection.connect(url) as owner:
        await register_vector_async(owner)
        for log_id, (content, state) in OUTPUTS.items():
            await owner.execute(CAPTURE, _output(GROUP, log_id, content, state))
        await owner.execute(CAPTURE, _output("unassigned", STRAY, "Nobody knows whose output this is.", "refused"))
        await owner.execute(ADD_VERDICT, {"group_id": GROUP, "id": REFUSED, "at": AT})
        vectors = await embedder.embed([content for content, _, _ in MEMORIES.values()])
        model = {"model": embedder.model, "dimensions": len(vectors[0]), "at": AT}
        await owner.execute("INSERT INTO embedding_models VALUES (%(model)s, %(dimensions)s, %(at)s)", model)
        for (memory_id, (content, agent, valid_to)), vector in zip(MEMORIES.items(), vectors, strict=True):
            row = {
                "group_id": GROUP,
                "id": memory_id,
                "content": content,
                "agent_id": agent,
                "scope": "group" if agent is None else "agent",
                "valid_to": valid_to,
                "model": embedder.model,
                "at": AT,
            }
            await owner.execute(PROMOTE, row)
            await owner.execute(ADD_CHUNK, {**row, "embedding": HalfVector(list(vector))})
        async with psycopg.AsyncClientCursor(owner) as cursor:  # several statements at once
            await cursor.execute(REST, {"group_id": GROUP, "id": UUID(int=99), "at": AT})


def _output(group_id: str, log_id: UUID, content: str, state: str) -> dict[str, object]:
    settled = None if state == "pending" else AT
    key = str(log_id)
    return {
        "group_id": group_id,
        "id": log_id,
        "content": content,
        "state": state,
        "at": AT,
        "settled_at": settled,
        "key": key,
    }


@dataclass
class OldPrograms:
    """Programs of the first release that capture and read all the time."""

    url: str
    captured: list[UUID] = field(default_factory=list)
    reads: int = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        ended = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(2):
                tasks.create_task(self._capture(ended))
                tasks.create_task(self._read(ended))
            try:
                yield
            finally:
                ended.set()

    async def _capture(self, ended: asyncio.Event) -> None:
        async with await psycopg.AsyncConnection.connect(self.url) as connection:
            while not ended.is_set():
                row = _output(
                    BUSY_GROUP, uuid4(), f"Boat {len(self.captured)} passed the lock at noon today.", "pending"
                )
                await self._run(connection, "clearwell_agent", CAPTURE, row)
                self.captured.append(row["id"])  # type: ignore[arg-type]

    async def _read(self, ended: asyncio.Event) -> None:
        expected = [(KEPT, MEMORIES[KEPT][0]), (PRIVATE, MEMORIES[PRIVATE][0])]
        async with await psycopg.AsyncConnection.connect(self.url) as connection:
            while not ended.is_set():
                assert await self._run(connection, "clearwell_agent", READ, {"group_id": GROUP}) == expected
                self.reads += 1

    async def _run(
        self, connection: psycopg.AsyncConnection, role: str, statement: str, row: dict[str, object]
    ) -> Sequence[object]:
        async with connection.transaction():
            enter = "SELECT set_config('role', %s, true), set_config('clearwell.group', %s, true)"
            await connection.execute(enter, (role, row["group_id"]))
            cursor = await connection.execute(statement.encode(), row)
            return [] if cursor.description is None else await cursor.fetchall()
