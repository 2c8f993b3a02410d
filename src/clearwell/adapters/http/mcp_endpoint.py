"""The MCP server at /mcp: the access rules of the API, and every caller is an agent.

The server itself is another adapter, named by an import string, and needs an extra that may not be installed.
"""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope, Send
from uvicorn.importer import ImportFromStringError, import_from_string

from clearwell.adapters.http.callers import identify, read_turn_key
from clearwell.adapters.http.language import language_of
from clearwell.adapters.http.problems import HttpRefusal
from clearwell.adapters.http.request import get_program
from clearwell.app import Clearwell
from clearwell.errors import NotAllowed, Unauthenticated
from clearwell.messages import Language, is_language
from clearwell.service import MemoryManager

MCP_APPLICATION = "clearwell.adapters.mcp.http:McpApplication"
NOT_IMPLEMENTED = 501


class McpServer(Protocol):
    """The server, which answers a request with the memory of its caller."""

    def run(self) -> AbstractAsyncContextManager[None]:
        """Answer requests until the block ends."""
        ...

    async def answer(
        self, scope: Scope, receive: Receive, send: Send, *, memory: MemoryManager, language: Language, url: str
    ) -> None:
        """Answer one request."""
        ...


def make_mcp_server(*, max_body_bytes: int) -> McpServer | None:
    """Make the server, or None if the extra is not installed."""
    try:
        server: McpServer = import_from_string(MCP_APPLICATION)(max_body_bytes=max_body_bytes)
    except (ImportError, ImportFromStringError):
        return None
    return server


class McpEndpoint:
    """Answers /mcp. Each request is complete by itself: there is no stream to open with GET and no session to end."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = HTTPConnection(scope)
        clearwell = get_program(request)
        async with clearwell.turns.take(read_turn_key(request)):
            await self._answer(request, clearwell, receive, send)

    async def _answer(self, request: HTTPConnection, clearwell: Clearwell, receive: Receive, send: Send) -> None:
        scope = request.scope
        try:
            caller = await identify(request, clearwell, as_agent=True)
        except (Unauthenticated, NotAllowed) as refusal:
            clearwell.gate.record_stranger(refusal)
            raise
        server: McpServer | None = getattr(request.app.state, "mcp", None)
        if server is None:
            raise HttpRefusal("mcp_not_installed", NOT_IMPLEMENTED)
        if scope["method"] != "POST":
            allowed = "POST"
            raise HttpRefusal("http_wrong_method", 405, {"Allow": allowed}, method=scope["method"], allowed=allowed)
        memory = clearwell.memory.acting_as(caller)
        url = f"{request.url.scheme}://{request.url.netloc}"
        await server.answer(scope, receive, send, memory=memory, language=_choose_language(request), url=url)


def _choose_language(request: HTTPConnection) -> Language:
    """The language that the address names, since few clients can send Accept-Language."""
    language = request.query_params.get("language")
    return language if is_language(language) else language_of(request)
