"""A server on a port of its own, and the streams of events that it sends, as they are on the wire."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from clearwell.adapters.http import create_app
from clearwell.settings import Settings
from tests.integration.http.serving import servers_of

SECONDS = 30


@dataclass(frozen=True)
class Message:
    """One message of a stream: its fields by name."""

    fields: Mapping[str, str]

    @property
    def type(self) -> str:
        return self.fields["event"]

    @property
    def id(self) -> str | None:
        return self.fields.get("id")

    @property
    def view(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.fields["data"])
        return found

    @property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = self.view["data"]
        return found


class Stream:
    """The messages of one connection."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self._lines = answer.aiter_lines()

    async def next(self) -> Message:
        """The next message. Raises StopAsyncIteration at the end of the stream."""
        fields: dict[str, str] = {}
        async with asyncio.timeout(SECONDS):
            while True:
                line = await anext(self._lines)
                if line:
                    name, _, value = line.partition(": ")
                    fields[name] = value
                elif "event" in fields:
                    return Message(fields)
                else:
                    fields.clear()

    async def take(self, count: int) -> list[Message]:
        return [await self.next() for _ in range(count)]

    async def types(self, count: int) -> list[str]:
        return [message.type for message in await self.take(count)]

    async def has_ended(self) -> bool:
        """Whether the stream ends, after any messages that are still to come."""
        try:
            while True:
                await self.next()
        except (StopAsyncIteration, httpx.HTTPError):
            return True


@dataclass
class EventServer:
    """A running server."""

    url: str
    app: FastAPI
    server: uvicorn.Server

    @asynccontextmanager
    async def stream(self, group_id: str, *, after: str | None = None, **headers: str) -> AsyncIterator[Stream]:
        parameters = {"group_id": group_id} if after is None else {"group_id": group_id, "after": after}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        async with (
            httpx.AsyncClient(base_url=self.url, trust_env=False, timeout=SECONDS) as client,
            client.stream("GET", "/api/v1/events", params=parameters, headers=named) as answer,
        ):
            assert answer.status_code == 200, await answer.aread()
            yield Stream(answer)

    async def get(self, path: str, authorization: str | None = None, **parameters: str) -> httpx.Response:
        headers = {} if authorization is None else {"Authorization": authorization}
        async with httpx.AsyncClient(base_url=self.url, trust_env=False, timeout=SECONDS) as client:
            return await client.get(path, params=parameters, headers=headers)

    async def capture(self, group_id: str, content: str, **headers: str) -> dict[str, Any]:
        """Capture an output and wait for its admission."""
        async with httpx.AsyncClient(base_url=self.url, trust_env=False, timeout=SECONDS) as client:
            body = {"group_id": group_id, "content": content, "session_id": "s1", "agent_id": "a1"}
            answer = await client.post("/api/v1/captures", params={"wait": "true"}, json=body, headers=headers)
            assert answer.is_success, answer.text
            found: dict[str, Any] = answer.json()
            return found


@asynccontextmanager
async def event_server(settings: Settings, *, port: int = 0) -> AsyncIterator[EventServer]:
    """Serve until the block ends. Then the streams are ended first, as ``clearwell serve`` does."""
    listening = socket.create_server(("127.0.0.1", port))
    app = create_app(settings, servers_of(settings))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    task = asyncio.create_task(server.serve(sockets=[listening]))
    async with asyncio.timeout(SECONDS):
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0)
    try:
        yield EventServer(f"http://127.0.0.1:{listening.getsockname()[1]}", app, server)
    finally:
        app.state.clearwell.feed.close()
        server.should_exit = True
        await task
