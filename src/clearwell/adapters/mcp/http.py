"""The server over streamable HTTP, mounted by the API, which identifies the caller of each request.

Nothing is kept between two requests, so that any process can answer any of them, and the rights of a key are those at
the time of the request.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, get_args
from urllib.parse import parse_qs

from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Receive, Scope, Send

from clearwell.adapters.mcp.caller import Caller, Defaults, ToolMemory
from clearwell.adapters.mcp.server import MemoryServer, create_server
from clearwell.messages import Language

CALLER = "clearwell.mcp.caller"
CHECKED_BEFORE = TransportSecuritySettings(enable_dns_rebinding_protection=False)
"""The API has checked Host and Origin, by its own rules."""


class McpApplication:
    """One server for each language, as an ASGI application."""

    def __init__(self, *, max_body_bytes: int) -> None:
        self._servers = {language: create_server(language, _find_caller) for language in get_args(Language)}
        for server in self._servers.values():
            server.streamable_http_app(
                json_response=True,
                stateless_http=True,
                max_request_body_size=max_body_bytes,
                transport_security=CHECKED_BEFORE,
            )

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Answer requests until the block ends, which may be in another task. An instance runs once."""
        ready, ended = asyncio.Event(), asyncio.Event()
        running = asyncio.create_task(self._run_managers(ready, ended), name="mcp")
        try:
            await asyncio.wait([running, starting := asyncio.create_task(ready.wait())], return_when="FIRST_COMPLETED")
            starting.cancel()
            yield
        finally:
            ended.set()
            await running

    async def _run_managers(self, ready: asyncio.Event, ended: asyncio.Event) -> None:
        """Run the session managers in one task: their cancel scopes have to be left where they were entered."""
        async with AsyncExitStack() as stack:
            for server in self._servers.values():
                await stack.enter_async_context(server.session_manager.run())
            ready.set()
            await ended.wait()

    async def answer(
        self, scope: Scope, receive: Receive, send: Send, *, memory: ToolMemory, language: Language, url: str
    ) -> None:
        """Answer one request of the caller whose memory this is. Its address may name a group, agent and session."""
        caller = Caller(memory=memory, defaults=_read_defaults(scope), url=url)
        server: MemoryServer = self._servers[language]
        await server.session_manager.handle_request({**scope, CALLER: caller}, receive, send)


async def _find_caller(context: Context[None, Any]) -> Caller:
    request = context.request_context.request
    caller = None if request is None else request.scope.get(CALLER)
    if not isinstance(caller, Caller):
        raise TypeError("a request that did not come through the API")
    return caller


def _read_defaults(scope: Scope) -> Defaults:
    named = parse_qs(scope["query_string"].decode("latin-1"))
    group, agent, session = (named.get(name, [None])[0] for name in ("group", "agent", "session"))
    return Defaults(group=group, agent=agent, session=session)
