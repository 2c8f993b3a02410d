"""The application: what runs with it, its routes, and how its errors are said."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from clearwell.adapters.http import docs, flaws, openapi
from clearwell.adapters.http.callers import require_closed_or_local
from clearwell.adapters.http.edge import Edge
from clearwell.adapters.http.problems import Refused, answer_to, shown
from clearwell.adapters.http.routes import (
    captures,
    context,
    digests,
    groups,
    health,
    ingress,
    insights,
    memory,
    metrics,
    provenance,
    quarantine,
    tombstones,
    working,
)
from clearwell.app import open_clearwell
from clearwell.errors import ClearwellError
from clearwell.ports import Embedder
from clearwell.servers import Servers, running_servers
from clearwell.settings import Settings
from clearwell.version import __version__
from clearwell.worker import worker

DESCRIPTION = """Everything an agent says is kept, what passes the filter is usable at once and marked as unverified, \
and nothing becomes knowledge until a person promotes it."""


def create_app(
    settings: Settings | None = None, servers: Servers | None = None, embedder: Embedder | None = None
) -> FastAPI:
    """The API on these servers. Without arguments: by the environment, starting bundled servers where none is named.

    Refuses to start (``ConfigurationError``) where it would listen beyond this machine and no key was ever made.
    """
    app = FastAPI(
        title="Clearwell",
        summary="Three-tier memory for agents",
        description=DESCRIPTION,
        version=__version__,
        lifespan=_lifespan(settings or Settings(), servers, embedder),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    # What agents ask for comes first: the routes are tried one after the other.
    for module in (
        captures,
        memory,
        ingress,
        insights,
        provenance,
        working,
        context,
        quarantine,
        tombstones,
        digests,
        groups,
        health,
        metrics,
        docs,
    ):
        app.include_router(module.router)
    app.openapi = lambda: openapi.complete(app)  # type: ignore[method-assign]
    app.add_exception_handler(ClearwellError, _clearwell_error)
    app.add_exception_handler(RequestValidationError, _wrong_parameters)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_middleware(Edge)
    return app


def _lifespan(
    settings: Settings, servers: Servers | None, embedder: Embedder | None
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            used = servers
            if used is None:
                used = await stack.enter_async_context(running_servers(settings))
            clearwell = await stack.enter_async_context(open_clearwell(settings, used, embedder=embedder))
            await require_closed_or_local(clearwell)
            await stack.enter_async_context(worker(clearwell))
            app.state.clearwell = clearwell
            yield

    return lifespan


async def _clearwell_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ClearwellError)  # noqa: S101 - registered for it
    return answer_to(request, error)


async def _wrong_parameters(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for it
    return answer_to(request, flaws.of_parameters(error.errors()))


async def _http_error(request: Request, error: Exception) -> Response:
    """What the framework refuses by itself."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for it
    headers = dict(error.headers or {})
    if error.status_code == 404:
        return answer_to(request, Refused("http_no_route", 404, path=shown(request.scope["path"])))
    if error.status_code == 405:
        allowed = headers.get("Allow", "")
        return answer_to(request, Refused("http_wrong_method", 405, headers, method=request.method, allowed=allowed))
    return answer_to(request, Refused("http_refused", error.status_code, headers))
