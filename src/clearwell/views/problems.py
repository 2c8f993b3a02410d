"""Errors as problems (RFC 9457): a stable type, and title and detail in the language of the reader.

The ``type`` is the error's code and the same in every version. What a part that is down said about itself is not shown:
addresses and the like are for the log.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from pydantic import Field

from clearwell.errors import (
    ClearwellError,
    Conflict,
    DatabaseUnavailable,
    EmbedderUnavailable,
    Flaw,
    IdempotencyMismatch,
    InvalidInput,
    NotAllowed,
    NotFound,
    RequestInProgress,
    TooLarge,
    TooManyRequests,
    Unauthenticated,
    Unavailable,
    WorkingMemoryUnavailable,
    WrongStructure,
)
from clearwell.messages import Language, say
from clearwell.views.view import View, is_absent

TYPE_PREFIX = "urn:clearwell:problem:"
FAILED = 500
MAX_FLAWS = 20
"""How many flaws of a request are listed."""

STATUSES: Sequence[tuple[type[ClearwellError], int]] = (
    (TooLarge, 413),
    (IdempotencyMismatch, 422),
    (InvalidInput, 422),
    (Unauthenticated, 401),
    (NotAllowed, 403),
    (NotFound, 404),
    (Conflict, 409),
    (RequestInProgress, 409),
    (TooManyRequests, 429),
    (Unavailable, 503),
)
"""The first that fits counts."""

TITLED_STATUSES = frozenset({400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429, 500, 501, 503})

CONFLICT_TITLES: Mapping[str, str] = {
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
    "undo_forgotten": "http_title_undo",
    "undo_forgotten_insight": "http_title_undo",
    "memory_forgotten": "http_title_forgotten",
    "promotion_rejected": "http_title_refused_before",
    "promotion_forgotten": "http_title_refused_before",
    "promotion_unacknowledged": "http_title_unacknowledged",
    "supersedes_withdrawn": "http_title_withdrawn",
    "promoted_withdrawn": "http_title_withdrawn",
    "retract_nothing": "http_title_nothing",
}
"""The title of each conflict that has one of its own."""

UNAVAILABLE_DETAILS: Sequence[tuple[type[Unavailable], str]] = (
    (DatabaseUnavailable, "http_database_unavailable"),
    (WorkingMemoryUnavailable, "http_working_unavailable"),
    (EmbedderUnavailable, "http_embedder_unavailable"),
    (Unavailable, "http_unavailable"),
)


class FlawView(View):
    """One error of a request."""

    field: str
    code: str
    limit: Any = Field(None, exclude_if=is_absent, description="the limit that was exceeded")
    detail: str

    @classmethod
    def from_record(cls, flaw: Flaw, language: Language) -> Self:
        return cls.read(flaw, detail=flaw.text(language))


class ProblemView(View):
    """What went wrong (RFC 9457). The type is stable; title and detail follow Accept-Language."""

    type: str = Field(examples=["urn:clearwell:problem:text_blank"])
    title: str
    status: int
    detail: str = Field(examples=["content is empty or blank.", "content 为空或只有空白。"])
    field: str | None = Field(None, exclude_if=is_absent, description="the invalid field")
    limit: Any = Field(None, exclude_if=is_absent, description="the limit that was exceeded")
    current: dict[str, Any] | None = Field(
        None, exclude_if=is_absent, description="the current state, if that is the reason"
    )
    errors: list[FlawView] | None = Field(None, exclude_if=is_absent, description="all errors of the structure")
    degraded: list[str] | None = Field(None, exclude_if=is_absent, description="the components that do not respond")

    @classmethod
    def from_error(
        cls, error: ClearwellError, language: Language, *, status: int | None = None, degraded: list[str] | None = None
    ) -> Self:
        """Describe an error. ``status`` is for errors that are no part of the library's tree."""
        status = status_of(error) if status is None else status
        code = "http_failed" if status == FAILED else error.code
        invalid = error if isinstance(error, InvalidInput) else None
        return cls(
            type=TYPE_PREFIX + code,
            title=_title(code, status, language),
            status=status,
            detail=_detail(error, status, language),
            field=None if invalid is None else invalid.field,
            limit=None if invalid is None else invalid.limit,
            current=(error.current or None) if isinstance(error, Conflict) else None,
            errors=_flaws(error, language) if isinstance(error, WrongStructure) else None,
            degraded=degraded,
        )


def status_of(error: ClearwellError) -> int:
    """The HTTP status of an error."""
    return next((status for kind, status in STATUSES if isinstance(error, kind)), FAILED)


def _title(code: str, status: int, language: Language) -> str:
    return say(CONFLICT_TITLES.get(code, f"http_title_{status if status in TITLED_STATUSES else 400}"), language)


def _detail(error: ClearwellError, status: int, language: Language) -> str:
    if status == FAILED:
        return say("http_failed", language)
    for kind, code in UNAVAILABLE_DETAILS:
        if isinstance(error, kind) and not isinstance(error, TooManyRequests):
            return say(code, language)
    return error.text(language)


def _flaws(error: WrongStructure, language: Language) -> list[FlawView]:
    return [FlawView.from_record(flaw, language) for flaw in error.flaws[:MAX_FLAWS]]
