"""Errors as problem JSON (RFC 9457): a stable type, and a detail in the caller's language.

The ``type`` is the error's code, the same in every version. What a part that is down said about itself stays in
the log: addresses and the like are no caller's business.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog
from pydantic_core import to_json
from starlette.requests import HTTPConnection
from starlette.responses import Response

from clearwell.adapters.http.language import language_of
from clearwell.errors import (
    ClearwellError,
    Conflict,
    DatabaseUnavailable,
    EmbedderUnavailable,
    IdempotencyMismatch,
    InvalidInput,
    NotAllowed,
    NotFound,
    StillRunning,
    TooLarge,
    Unauthenticated,
    Unavailable,
    WorkingMemoryUnavailable,
)
from clearwell.messages import Language, say

log = structlog.get_logger(__name__)

TYPE = "urn:clearwell:problem:"
MEDIA_TYPE = "application/problem+json"
SHOWN_ERRORS = 20
"""How many of a body's errors are listed."""
SHOWN_CHARS = 200
"""How much of what the caller wrote is said back."""


class Malformed(ClearwellError):
    """The request cannot be read."""


class WrongContentType(ClearwellError):
    """The body is not of the type that is read here."""


class Refused(ClearwellError):
    """What the framework itself refuses: no such route, a wrong method."""

    def __init__(self, code: str, status: int, headers: Mapping[str, str] | None = None, **params: object) -> None:
        super().__init__(code, **params)
        self.status = status
        self.headers = dict(headers or {})


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that is wrong with a body or a query."""

    code: str
    field: str
    limit: object = None

    def render(self, language: Language) -> dict[str, object]:
        found: dict[str, object] = {"field": self.field, "code": self.code}
        if self.limit is not None:
            found["limit"] = self.limit
        return {**found, "detail": say(self.code, language, field=self.field, limit=self.limit)}


class WrongStructure(InvalidInput):
    """A body or a query does not have the form that its route needs. Nothing of it was done."""

    def __init__(self, flaws: Sequence[Flaw]) -> None:
        super().__init__(flaws[0].code, field=flaws[0].field, limit=flaws[0].limit)
        self.flaws = flaws


STATUS: Sequence[tuple[type[ClearwellError], int]] = (
    (Malformed, 400),
    (WrongContentType, 415),
    (TooLarge, 413),
    (IdempotencyMismatch, 422),
    (InvalidInput, 422),
    (Unauthenticated, 401),
    (NotAllowed, 403),
    (NotFound, 404),
    (Conflict, 409),
    (StillRunning, 409),
    (Unavailable, 503),
)

TITLED = frozenset({400, 401, 403, 404, 405, 409, 413, 415, 422, 500, 503})

CONFLICTS: Mapping[str, str] = {
    "idempotency_running": "http_title_running",
    "insight_stale": "http_title_changed",
    "insight_moving": "http_title_changed",
    "retract_changed": "http_title_changed",
    "insight_decided": "http_title_decided",
    "insight_merged": "http_title_decided",
    "undo_nothing": "http_title_undo",
    "undo_of_undo": "http_title_undo",
    "undo_twice": "http_title_undo",
    "undo_later_first": "http_title_undo",
    "undo_superseding_first": "http_title_undo",
    "undo_tombstoned": "http_title_undo",
    "promotion_rejected": "http_title_refused_before",
    "promotion_forgotten": "http_title_refused_before",
    "supersedes_withdrawn": "http_title_withdrawn",
    "promoted_withdrawn": "http_title_withdrawn",
    "retract_nothing": "http_title_nothing",
}
"""The title of each conflict that has one of its own."""

QUIET: Sequence[tuple[type[Unavailable], str]] = (
    (DatabaseUnavailable, "http_database_unavailable"),
    (WorkingMemoryUnavailable, "http_working_unavailable"),
    (EmbedderUnavailable, "http_embedder_unavailable"),
    (Unavailable, "http_unavailable"),
)


def status_of(error: ClearwellError) -> int:
    if isinstance(error, Refused):
        return error.status
    return next((status for kind, status in STATUS if isinstance(error, kind)), 500)


def problem_of(error: ClearwellError, language: Language) -> dict[str, object]:
    """The error as an object: the body of an answer, or one result of a batch."""
    status = status_of(error)
    code = "http_failed" if status == 500 else error.code
    problem: dict[str, object] = {
        "type": TYPE + code,
        "title": say(CONFLICTS.get(code, f"http_title_{status if status in TITLED else 400}"), language),
        "status": status,
        "detail": _detail(error, status, language),
    }
    if isinstance(error, InvalidInput):
        problem["field"] = error.field
        if error.limit is not None:
            problem["limit"] = error.limit
    if isinstance(error, Conflict) and error.current:
        problem["current"] = error.current
    if isinstance(error, WrongStructure):
        problem["errors"] = [flaw.render(language) for flaw in error.flaws[:SHOWN_ERRORS]]
    return problem


def _detail(error: ClearwellError, status: int, language: Language) -> str:
    if status == 500:
        return say("http_failed", language)
    for kind, code in QUIET:
        if isinstance(error, kind):
            return say(code, language)
    return error.text(language)


def answer_to(request: HTTPConnection, error: ClearwellError) -> Response:
    """The problem as the answer to a request."""
    language = language_of(request)
    problem = problem_of(error, language)
    if isinstance(error, Unavailable):
        log.warning("a part is unavailable", code=error.code, reason=str(error), route=request.scope["path"])
    elif problem["status"] == 500:
        log.error("request failed", code=error.code, reason=str(error), route=request.scope["path"])
    return problem_answer(problem, status_of(error), language, _headers(error))


def problem_answer(
    problem: Mapping[str, object], status: int, language: Language, headers: Mapping[str, str] | None = None
) -> Response:
    standing = {
        "Content-Language": language,
        "Vary": "Accept-Language",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(to_json(problem), status, {**standing, **(headers or {})}, MEDIA_TYPE)


def _headers(error: ClearwellError) -> dict[str, str]:
    match error:
        case Unauthenticated():
            return {"WWW-Authenticate": "Bearer"}
        case StillRunning():
            return {"Retry-After": "1"}
        case Unavailable():
            return {"Retry-After": "5"}
        case Refused():
            return error.headers
        case _:
            return {}


def shown(text: str) -> str:
    """Something that a caller wrote, as it can be said back: valid Unicode, and not too long."""
    printable = text[:SHOWN_CHARS].encode("utf-8", "backslashreplace").decode()
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in printable)
