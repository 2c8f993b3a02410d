"""Run the application in this process, and speak to it as different callers."""

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx
import psycopg
from fastapi import FastAPI

from clearwell.adapters.http import create_app
from clearwell.app import Clearwell
from clearwell.records import ApiKey, Principal, Right
from clearwell.servers import Servers
from clearwell.settings import Settings

OWN = "http://localhost:8080"
LONG = "评审发现：支付网关在并发超过五百时出现超时，建议上线前扩容并补充压测报告。"
PROBLEM = "application/problem+json"
STORED = """
SELECT 'quarantine_logs', count(*) FROM quarantine_logs
UNION ALL SELECT 'promotions', count(*) FROM promotions
UNION ALL SELECT 'memories', count(*) FROM memories
"""


def servers_of(settings: Settings) -> Servers:
    assert settings.database_url is not None
    assert settings.redis_url is not None
    return Servers(
        database_url=settings.database_url.get_secret_value(),
        redis_url=settings.redis_url.get_secret_value(),
        embedded=(),
    )


@asynccontextmanager
async def served(settings: Settings) -> AsyncIterator[FastAPI]:
    app = create_app(settings, servers_of(settings))
    async with app.router.lifespan_context(app):
        yield app


def client_of(app: FastAPI, base_url: str = OWN, **headers: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=base_url, headers=headers, timeout=30)


def new_group() -> str:
    return f"grp-{uuid4()}"


class Api:
    """An application with callers by key."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "Api":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @property
    def clearwell(self) -> Clearwell:
        running: Clearwell = self.app.state.clearwell
        return running

    async def client(self, base_url: str = OWN, **headers: str) -> httpx.AsyncClient:
        return await self._stack.enter_async_context(client_of(self.app, base_url, **headers))

    async def key(
        self, *rights: Right, groups: Iterable[str] | None = None, agent_id: str | None = None
    ) -> tuple[ApiKey, str]:
        covered = None if groups is None else frozenset(groups)
        return await self.clearwell.keys.create(
            name="test", rights=frozenset(rights), groups=covered, agent_id=agent_id, by=Principal.local("test")
        )

    async def caller(
        self, *rights: Right, groups: Iterable[str] | None = None, agent_id: str | None = None, **headers: str
    ) -> httpx.AsyncClient:
        _, secret = await self.key(*rights, groups=groups, agent_id=agent_id)
        return await self.client(Authorization=f"Bearer {secret}", **headers)

    async def stored(self) -> dict[str, int]:
        """How many rows there are of everything that a request can store, past row-level security."""
        assert self.clearwell.settings.database_url is not None
        url = self.clearwell.settings.database_url.get_secret_value()
        async with await psycopg.AsyncConnection.connect(url) as connection:
            rows = await (await connection.execute(STORED)).fetchall()
        return {str(table): int(number) for table, number in rows}


def require_problem(response: httpx.Response, status: int, code: str | None = None) -> dict[str, Any]:
    """The problem that the response must be."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == PROBLEM
    problem: dict[str, Any] = response.json()
    assert problem["status"] == status
    assert problem["title"]
    assert problem["detail"]
    if code is not None:
        assert problem["type"] == f"urn:clearwell:problem:{code}", problem
    return problem
