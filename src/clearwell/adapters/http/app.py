"""The application: its routes, what runs with it, how its errors are answered, and its outermost layer."""

import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clearwell.adapters.http import docs, openapi
from clearwell.adapters.http.api import (
    archive,
    audit,
    captures,
    context,
    decisions,
    digests,
    entries,
    erasure,
    events,
    factcheck,
    groups,
    health,
    ids,
    insights,
    installation,
    memory,
    outputs,
    provenance,
    statistics,
)
from clearwell.adapters.http.callers import require_closed_or_local
from clearwell.adapters.http.console import ROUTERS as CONSOLE
from clearwell.adapters.http.console.request import show_problem, wants_page
from clearwell.adapters.http.demo import DemoRunner
from clearwell.adapters.http.mcp_endpoint import McpEndpoint, make_mcp_server
from clearwell.adapters.http.problems import HttpRefusal, answer_to, failure, invalid_request
from clearwell.app import open_clearwell
from clearwell.errors import ClearwellError
from clearwell.ports import Clock, Embedder
from clearwell.servers import Servers, running_servers
from clearwell.settings import Settings
from clearwell.version import __version__
from clearwell.views.flaws import make_printable
from clearwell.worker import worker

log = structlog.get_logger(__name__)

DESCRIPTION = """Every output of an agent is kept. An output that passes the ingress pipeline can be retrieved at \
once, marked as unverified. Nothing becomes knowledge until a person promotes it."""


def create_app(
    settings: Settings | None = None,
    servers: Servers | None = None,
    embedder: Embedder | None = None,
    *,
    sweeps: bool = True,
    clock: Clock | None = None,
) -> FastAPI:
    """The API and the console on these servers.

    Without arguments: by the environment, starting bundled servers where none is named.
    Without ``sweeps`` another process does the duties of the worker that processes share.
    ``clock`` replaces that of the system.
    Refuses to start (``ConfigurationError``) where it would listen beyond this machine and no key was ever made.
    """
    app = FastAPI(
        title="Clearwell",
        summary="Three-tier memory for agents",
        description=DESCRIPTION,
        version=__version__,
        lifespan=_lifespan(settings or Settings(), servers, embedder, sweeps=sweeps, clock=clock),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    # What agents ask for comes first: the routes are tried one after the other.
    for module in (
        memory,
        captures,
        context,
        factcheck,
        insights,
        outputs,
        provenance,
        decisions,
        statistics,
        entries,
        digests,
        groups,
        events,
        audit,
        archive,
        erasure,
        ids,
        installation,
    ):
        app.include_router(module.router)
    for router in (health.router, health.metrics_router, docs.router, *CONSOLE):
        app.include_router(router)
    app.router.routes.append(Route("/mcp", McpEndpoint(), include_in_schema=False))
    app.openapi = lambda: openapi.complete(app)  # type: ignore[method-assign]
    app.add_exception_handler(ClearwellError, _clearwell_error)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_middleware(Edge)
    return app


def _lifespan(
    settings: Settings, servers: Servers | None, embedder: Embedder | None, *, sweeps: bool, clock: Clock | None
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            used = servers
            if used is None:
                used = await stack.enter_async_context(running_servers(settings))
            clearwell = await stack.enter_async_context(open_clearwell(settings, used, embedder=embedder, clock=clock))
            await require_closed_or_local(clearwell)
            await stack.enter_async_context(worker(clearwell, sweeps=sweeps))
            app.state.clearwell = clearwell
            app.state.mcp = make_mcp_server(max_body_bytes=settings.max_body_bytes)
            if app.state.mcp is not None:
                await stack.enter_async_context(app.state.mcp.run())
            app.state.demo = DemoRunner(settings, used)
            stack.push_async_callback(app.state.demo.close)
            yield

    return lifespan


async def _clearwell_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ClearwellError)  # noqa: S101 - registered for it
    return answer_to(request, error)


async def _invalid_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for it
    return answer_to(request, invalid_request(error.errors()))


async def _http_error(request: Request, error: Exception) -> Response:
    """What the framework refuses by itself."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for it
    refusal = _describe(request, error)
    return show_problem(request, refusal) if wants_page(request) else answer_to(request, refusal)


def _describe(request: Request, error: HTTPException) -> HttpRefusal:
    headers = dict(error.headers or {})
    if error.status_code == 404:
        code = "console_no_page" if wants_page(request) else "http_no_route"
        return HttpRefusal(code, 404, path=make_printable(request.scope["path"]))
    if error.status_code == 405:
        allowed = headers.get("Allow", "")
        return HttpRefusal("http_wrong_method", 405, headers, method=request.method, allowed=allowed)
    return HttpRefusal("http_refused", error.status_code, headers)


class Edge:
    """The outermost layer: an unexpected error becomes a 500, and HEAD is GET without a body.

    Pure ASGI: nothing is buffered, and a request costs one function call.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def send_and_note(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            if scope["method"] == "HEAD":
                await self._app({**scope, "method": "GET"}, receive, _drop_body(send_and_note))
            else:
                await self._app(scope, receive, send_and_note)
        except Exception as error:
            # Plain text: a renderer that shows local variables would put memory content in the log.
            log.error(
                "request failed", route=scope["path"], error=type(error).__name__, exception=traceback.format_exc()
            )
            if started:
                raise
            request = Request(scope, receive)
            failed = ClearwellError("http_failed")
            answer = show_problem(request, failed) if wants_page(request) else failure(request)
            await answer(scope, receive, send)


def _drop_body(send: Send) -> Send:
    """Send the head alone, and end the answer with the first part of the body: a stream of events has no last one."""
    ended = False

    async def send_head(message: Message) -> None:
        nonlocal ended
        if message["type"] != "http.response.body":
            await send(message)
        elif not ended:
            ended = True
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    return send_head
