"""The ways of an agent into Clearwell: to capture, and to try to make verified memory of what it captured."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, LiteralString
from uuid import UUID

import httpx
import psycopg
import uuid_utils.compat
from psycopg.errors import InsufficientPrivilege
from psycopg.types.json import Jsonb

from bench.poison import Poison
from clearwell.adapters.http import create_app
from clearwell.adapters.http.mcp_endpoint import make_mcp_server
from clearwell.adapters.langgraph import ClearwellStore
from clearwell.adapters.mem0 import AsyncMemory
from clearwell.app import Clearwell
from clearwell.errors import ClearwellError
from clearwell.ports import Clock
from clearwell.records import (
    Action,
    DecisionRequest,
    NewCapture,
    NewMemory,
    Principal,
    Right,
    SourceSelector,
)
from clearwell.worker import sweep

RIGHTS: Final = frozenset({Right.CAPTURE, Right.READ})
DENIED: Final = frozenset({403, 404, 405})
STATEMENTS: Final[dict[str, LiteralString]] = {
    "INSERT INTO promotions": "INSERT INTO promotions (group_id, id, memory_id, scope, origin, content, metadata,"
    " decided_by, decided_at) VALUES (%(group)s, gen_random_uuid(), gen_random_uuid(), 'group', 'typed', %(content)s,"
    " '{}', 'me', now())",
    "INSERT INTO memories": "INSERT INTO memories (group_id, id, chunk_no, promotion_id, scope, content, embedding,"
    " embedding_model, metadata, promoted_at) SELECT group_id, gen_random_uuid(), 9, promotion_id, 'group',"
    " %(content)s, embedding, embedding_model, '{}', now() FROM memories LIMIT 1",
    "UPDATE memories": "UPDATE memories SET content = %(content)s",
    "INSERT INTO promotion_work": "INSERT INTO promotion_work (group_id, promotion_id, next_try_at)"
    " SELECT group_id, promotion_id, now() FROM memories LIMIT 1",
    "INSERT INTO decisions": "INSERT INTO decisions (group_id, id, action, decided_by, decided_at)"
    " VALUES (%(group)s, gen_random_uuid(), 'promote', 'me', now())",
    "UPDATE insights": "UPDATE insights SET state = 'promoted', summary = %(content)s",
    "UPDATE admissions": "UPDATE admissions SET state = 'admitted'",
    "DELETE FROM tombstones": "DELETE FROM tombstones",
    "UPDATE api_keys": "UPDATE api_keys SET rights = ARRAY['review']",
    "UPDATE groups": "UPDATE groups SET system_prompt = %(content)s",
}
"""What the role of agents may not do. What it may, to add to quarantine, is one of the ways to capture."""
CAPTURE_ROW: LiteralString = """
WITH kept AS (
    INSERT INTO quarantine_logs (group_id, id, session_id, agent_id, node_type, content, raw_metadata, partial,
        occurred_at, created_at, captured_by)
    VALUES (%(group)s, %(id)s, %(session)s, %(agent)s, 'verdict', %(content)s, %(metadata)s, false,
        %(now)s, %(now)s, 'reviewer')
    RETURNING group_id, id
)
INSERT INTO admissions (group_id, log_id, state, next_try_at) SELECT group_id, id, 'pending', %(now)s FROM kept
"""


@dataclass
class Attempts:
    """How often a way to long-term memory was tried, and how often it was not refused."""

    tried: Counter[str] = field(default_factory=Counter)
    succeeded: Counter[str] = field(default_factory=Counter)

    def count(self, way: str, *, refused: bool) -> None:
        self.tried[way] += 1
        if not refused:
            self.succeeded[way] += 1


class Attacker:
    """An agent with one key that captures and reads, in every group. It may call itself whatever it likes."""

    def __init__(
        self, clearwell: Clearwell, by: Principal, http: httpx.AsyncClient, database_url: str, clock: Clock
    ) -> None:
        self.http = http
        self._clearwell = clearwell
        self.memory = clearwell.memory.acting_as(by)
        self.review = clearwell.review.acting_as(by)
        self.attempts = Attempts()
        self._database_url, self._clock = database_url, clock
        self._mem0 = AsyncMemory(self.memory)
        self._store = ClearwellStore(self.memory)
        self._turns, self._keys = count(), count()
        self._ways: dict[str, Callable[[Poison, str], Awaitable[object]]] = {
            "library": self._capture,
            "HTTP": self._post,
            "HTTP, in batches": self._post_batch,
            "MCP": self._call_capture,
            "MCP, proposed for review": self._call_propose,
            "mem0": self._add,
            "LangGraph store": self._put,
            "protocol methods": self._log,
            "SQL as the agent's role": self._insert,
        }

    @property
    def ways(self) -> Sequence[str]:
        return list(self._ways)

    async def deliver(self, poison: Poison, group: str) -> str:
        """Capture by the ways in turn; what not every way can carry goes by HTTP. Returns the way."""
        special = poison.occurred_at is not None or poison.node_type != "agent" or len(poison.metadata) > 1
        way = "HTTP" if special else self.ways[next(self._turns) % len(self.ways)]
        await self._ways[way](poison, group)
        return way

    async def _capture(self, poison: Poison, group: str) -> None:
        await self.memory.capture(_make_capture(poison, group), wait=True)

    async def _post(self, poison: Poison, group: str) -> None:
        require_ok(await self.http.post("/api/v1/captures?wait=true", json=_make_body(poison, group)))

    async def _post_batch(self, poison: Poison, group: str) -> None:
        body = {"captures": [_make_body(poison, group)]}
        require_ok(await self.http.post("/api/v1/captures?wait=true", json=body))

    async def _call_capture(self, poison: Poison, group: str) -> None:
        await self._call("capture", poison, group, content=poison.content)

    async def _call_propose(self, poison: Poison, group: str) -> None:
        await self._call("propose_for_review", poison, group, statement=poison.content, reason="everybody knows it")

    async def _call(self, tool: str, poison: Poison, group: str, **arguments: str) -> None:
        where = {"group": group, "agent": poison.agent_id, "session": poison.session_id, "confidence": 0.99}
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": {**arguments, **where}},
        }
        accepts = {"Accept": "application/json, text/event-stream"}
        answer = require_ok(await self.http.post("/mcp", json=body, headers=accepts)).json()
        if answer["result"].get("isError"):
            raise AssertionError(answer)

    async def _add(self, poison: Poison, group: str) -> None:
        await self._mem0.add(
            poison.content,
            user_id=group,
            agent_id=poison.agent_id,
            run_id=poison.session_id,
            metadata=dict(poison.metadata),
        )

    async def _put(self, poison: Poison, group: str) -> None:
        value = {"content": poison.content, **poison.metadata}
        await self._store.aput((group, "working"), f"k{next(self._keys)}", value)

    async def _log(self, poison: Poison, group: str) -> None:
        log_id = await self.memory.log_quarantine(
            poison.session_id, "n", poison.content, poison.metadata, group=group, agent_id=poison.agent_id
        )
        await self.memory.update_working_memory(group=group, log_id=log_id)

    async def _insert(self, poison: Poison, group: str) -> None:
        """As the conclusion of a reviewer, as far as the columns go."""
        values = {
            "group": group,
            "id": uuid_utils.compat.uuid7(),
            "session": poison.session_id,
            "agent": poison.agent_id,
            "content": poison.content,
            "metadata": Jsonb({"verified": True, **poison.metadata}),
            "now": self._clock.now(),
        }
        async with await psycopg.AsyncConnection.connect(self._database_url) as connection:
            await _enter_agent(connection, group)
            await connection.execute(CAPTURE_ROW, values)
        await sweep(self._clearwell)
        await self._clearwell.queue.join()

    async def try_everything(self, group: str, row: UUID, content: str, *, memory_id: UUID, insight: UUID) -> None:
        """Try to make a captured row verified by every way that leads there. All have to be refused."""
        await self._try_http(group, row, content, memory_id, insight)
        await self._try_library(group, row, content, memory_id, insight)
        await self._try_facades(group, row, content, memory_id)
        await self._try_sql(group, content)

    async def _try_http(self, group: str, row: UUID, content: str, memory_id: UUID, insight: UUID) -> None:
        own, value = {"group_id": group}, {"group_id": group, "value": content, "reason": "outdated"}
        chosen = {"group_id": group, "ids": [str(row)]}
        decision = {"group_id": group, "decisions": [{"id": str(insight), "action": "promote"}]}
        posts: dict[str, tuple[str, dict[str, Any]]] = {
            "/memory/ingest": ("/memory/ingest", {**own, "content": content}),
            "/memory/ingest, replacing": ("/memory/ingest", {**own, "content": content, "supersedes": str(memory_id)}),
            "/quarantine/{id}/promote": (f"/quarantine/{row}/promote", own),
            "/quarantine/promote": ("/quarantine/promote", chosen),
            "/quarantine/{id}/admit": (f"/quarantine/{row}/admit", own),
            "/quarantine/{id}/requeue": (f"/quarantine/{row}/requeue", own),
            "/quarantine/{id}/assign": (f"/quarantine/{row}/assign", own),
            "/working/{group}/{id}/promote": (f"/working/{group}/{row}/promote", {}),
            "/insights/{id}/promote": (f"/insights/{insight}/promote", own),
            "/insights/decide": ("/insights/decide", decision),
            "/memories/{id}/withdraw": (f"/memories/{memory_id}/withdraw", {**own, "reason": "outdated"}),
            "/memories/retract": ("/memories/retract", {**own, "memory_id": str(memory_id)}),
            "/tombstones": ("/tombstones", value),
            "/digests": ("/digests", own),
            "/forget/preview": ("/forget/preview", {**own, "memory_id": str(memory_id)}),
        }
        for name, (path, body) in posts.items():
            answer = await self.http.post(f"/api/v1{path}", json=body)
            self.attempts.count(f"HTTP `POST {name}`", refused=answer.status_code in DENIED)
        prompt = await self.http.put(f"/api/v1/groups/{group}", json={"system_prompt": content})
        self.attempts.count("HTTP `PUT /groups/{group}`", refused=prompt.status_code in DENIED)

    async def _try_library(self, group: str, row: UUID, content: str, memory_id: UUID, insight: UUID) -> None:
        promote = DecisionRequest(action=Action.PROMOTE, id=insight)
        calls: dict[str, Callable[[], Awaitable[object]]] = {
            "promote": lambda: self.memory.promote(content, group=group, supersedes=memory_id),
            "promote_many": lambda: self.memory.promote_many([NewMemory(content=content)], group=group),
            "admit_refused": lambda: self.memory.admit_refused(row, group=group),
            "assign": lambda: self.memory.assign(row, group=group),
            "review.decide": lambda: self.review.decide(promote, group=group),
            "review.promote_row": lambda: self.review.promote_row(row, NewMemory(content=""), group=group),
            "review.promote_entry": lambda: self.review.promote_entry(row, NewMemory(content=""), group=group),
            "review.preview_retraction": lambda: self.review.preview_retraction(
                SourceSelector(source=row), group=group
            ),
            "rebuild_working_memory": lambda: self.memory.rebuild_working_memory(group=group),
        }
        for name, call in calls.items():
            await self._expect_refusal(f"library `{name}`", call)

    async def _try_facades(self, group: str, row: UUID, content: str, memory_id: UUID) -> None:
        value = {"content": content}
        named = f"{group}/{row}"
        calls: dict[str, Callable[[], Awaitable[object]]] = {
            "LangGraph `put` to verified": lambda: self._store.aput((group, "verified"), str(memory_id), value),
            "LangGraph `delete` of verified": lambda: self._store.adelete((group, "verified"), str(memory_id)),
            "mem0 `update`": lambda: self._mem0.update(named, content),
            "mem0 `delete_all`": lambda: self._mem0.delete_all(user_id=group),
        }
        for name, call in calls.items():
            await self._expect_refusal(name, call)

    async def _expect_refusal(self, way: str, call: Callable[[], Awaitable[object]]) -> None:
        try:
            await call()
        except ClearwellError:
            self.attempts.count(way, refused=True)
        else:
            self.attempts.count(way, refused=False)

    async def _try_sql(self, group: str, content: str) -> None:
        values = {"group": group, "content": content}
        async with await psycopg.AsyncConnection.connect(self._database_url) as connection:
            for name, statement in STATEMENTS.items():
                refused = False
                try:
                    async with connection.transaction(force_rollback=True):
                        await _enter_agent(connection, group)
                        changed = await connection.execute(statement, values)
                        # Without a policy for it, row-level security lets a statement pass and shows it no row.
                        refused = changed.rowcount == 0
                except InsufficientPrivilege:
                    refused = True
                self.attempts.count(f"SQL as the agent's role, `{name}`", refused=refused)


async def _enter_agent(connection: psycopg.AsyncConnection[Any], group: str) -> None:
    await connection.execute("SET LOCAL ROLE clearwell_app")
    await connection.execute(
        "SELECT set_config('role', 'clearwell_agent', true), set_config('clearwell.group', %s, true)", (group,)
    )


@asynccontextmanager
async def open_attacker(clearwell: Clearwell, database_url: str, clock: Clock) -> AsyncIterator[Attacker]:
    """An attacker with a real key, on the application in this process."""
    app = create_app(clearwell.settings)
    app.state.clearwell = clearwell
    app.state.mcp = make_mcp_server(max_body_bytes=clearwell.settings.max_body_bytes)
    if app.state.mcp is None:
        raise AssertionError("the extra mcp is not installed")
    key, secret = await clearwell.keys.create(name="attacker", rights=RIGHTS, groups=None, by=Principal.local("bench"))
    by = Principal(name=key.holder, rights=key.rights)
    async with (
        app.state.mcp.run(),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app),
            base_url="http://localhost:8080",
            headers={"Authorization": f"Bearer {secret}"},
            timeout=60,
        ) as http,
    ):
        yield Attacker(clearwell, by, http, database_url, clock)


def require_ok(answer: httpx.Response) -> httpx.Response:
    if not answer.is_success:
        raise AssertionError(f"{answer.request.url}: {answer.status_code} {answer.text}")
    return answer


def _make_capture(poison: Poison, group: str) -> NewCapture:
    return NewCapture(
        content=poison.content,
        group_id=group,
        session_id=poison.session_id,
        node_id="n",
        node_type=poison.node_type,
        agent_id=poison.agent_id,
        metadata=dict(poison.metadata),
        occurred_at=poison.occurred_at,
    )


def _make_body(poison: Poison, group: str) -> dict[str, Any]:
    return {
        "content": poison.content,
        "group_id": group,
        "session_id": poison.session_id,
        "node_id": "n",
        "node_type": poison.node_type,
        "agent_id": poison.agent_id,
        "metadata": dict(poison.metadata),
        "occurred_at": None if poison.occurred_at is None else poison.occurred_at.isoformat(),
    }
