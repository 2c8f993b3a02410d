"""Errors as answers: the problem of ``clearwell.views.problems`` with its status and headers."""

from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from starlette.requests import HTTPConnection
from starlette.responses import Response

from clearwell.adapters.http.fields import MANY, ONE
from clearwell.adapters.http.language import language_of
from clearwell.errors import (
    ClearwellError,
    InvalidInput,
    RequestInProgress,
    TooManyRequests,
    Unauthenticated,
    Unavailable,
)
from clearwell.messages import Language
from clearwell.views.flaws import invalid_structure
from clearwell.views.flaws import make_printable as make_printable  # for the other modules of this adapter
from clearwell.views.problems import FAILED, ProblemView

log = structlog.get_logger(__name__)

MEDIA_TYPE = "application/problem+json"


class HttpRefusal(ClearwellError):
    """A request that HTTP itself refuses: no such route, a wrong method, an unreadable body."""

    def __init__(self, code: str, status: int, headers: Mapping[str, str] | None = None, **params: object) -> None:
        super().__init__(code, **params)
        self.status = status
        self.headers = dict(headers or {})


class Malformed(HttpRefusal):
    """The request cannot be read."""

    def __init__(self, code: str, **params: object) -> None:
        super().__init__(code, 400, None, **params)


class WrongContentType(HttpRefusal):
    """The body has a content type that is not supported."""

    def __init__(self, code: str, **params: object) -> None:
        super().__init__(code, 415, None, **params)


class NotReady(HttpRefusal):
    """Components that are needed to serve do not respond."""

    def __init__(self, parts: list[str]) -> None:
        super().__init__("http_not_ready", 503, {"Retry-After": "5"}, parts=", ".join(parts))
        self.parts = parts


def answer_to(request: HTTPConnection, error: ClearwellError) -> Response:
    """The problem as the answer to a request."""
    language = language_of(request)
    status = error.status if isinstance(error, HttpRefusal) else None
    degraded = error.parts if isinstance(error, NotReady) else None
    problem = ProblemView.from_error(error, language, status=status, degraded=degraded)
    log_problem(request, error, problem)
    return _response(problem, language, _headers(error))


def log_problem(request: HTTPConnection, error: ClearwellError, problem: ProblemView) -> None:
    """Log an error that is not the caller's: a component that does not respond, or a failure."""
    route = request.scope["path"]
    if isinstance(error, Unavailable) and not isinstance(error, TooManyRequests):
        log.warning("component unavailable", code=error.code, reason=str(error), route=route)
    elif problem.status == FAILED:
        log.error("request failed", code=error.code, reason=str(error), route=route)


def failure(request: HTTPConnection) -> Response:
    """The answer to an unexpected error."""
    language = language_of(request)
    return _response(ProblemView.from_error(ClearwellError("http_failed"), language), language, {})


def _response(problem: ProblemView, language: Language, headers: Mapping[str, str]) -> Response:
    standing = {
        "Content-Language": language,
        "Vary": "Accept-Language",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(problem.model_dump_json(), problem.status, {**standing, **headers}, MEDIA_TYPE)


def _headers(error: ClearwellError) -> Mapping[str, str]:
    match error:
        case Unauthenticated():
            return {"WWW-Authenticate": "Bearer"}
        case RequestInProgress():
            return {"Retry-After": "1"}
        case TooManyRequests():
            return {"Retry-After": str(error.retry_after)}
        case Unavailable():
            return {"Retry-After": "5"}
        case HttpRefusal():
            return error.headers
        case _:
            return {}


def invalid_request(errors: Sequence[Mapping[str, Any]]) -> InvalidInput:
    """What FastAPI found wrong with a request. It puts "body", "query" or "path" before the place of each error."""
    return invalid_structure([{**error, "loc": _strip_form(error["loc"][1:])} for error in errors])


def _strip_form(place: Sequence[int | str]) -> Sequence[int | str]:
    """The location of an error without the tag that tells a single body from a batch."""
    return place[1:] if place and place[0] in {ONE, MANY} else place
