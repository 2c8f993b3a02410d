"""The problems that a server answers with (RFC 9457), as errors of the library.

They are the same classes that the library raises, so that a caller handles both alike. Their text is the server's, in
the language that the client asked for.
"""

from clearwell.errors import (
    ClearwellError,
    Conflict,
    IdempotencyMismatch,
    InvalidInput,
    NotAllowed,
    NotFound,
    RequestInProgress,
    TooLarge,
    TooManyRequests,
    Unauthenticated,
    Unavailable,
)
from clearwell.messages import Language
from clearwell.views.problems import TYPE_PREFIX, ProblemView


class ProblemAnswer(ClearwellError):
    """A problem that a server answered with. ``problem`` is all that it said, ``advice`` what the client adds to it."""

    def __init__(self, problem: ProblemView, *, advice: str | None = None) -> None:
        self._text = problem.detail if advice is None else f"{problem.detail} {advice}"
        Exception.__init__(self, self._text)
        self.code = problem.type.removeprefix(TYPE_PREFIX)
        self.params = {}
        self.problem = problem

    def text(self, language: Language = "en") -> str:  # noqa: ARG002 - the server has chosen its words
        return self._text


class InvalidInputAnswer(ProblemAnswer, InvalidInput):
    """422: a value is outside its limits."""

    def __init__(self, problem: ProblemView, *, advice: str | None = None) -> None:
        super().__init__(problem, advice=advice)
        self.field = problem.field or ""
        self.limit = problem.limit


class TooLargeAnswer(InvalidInputAnswer, TooLarge):
    """413: a text or the body is above its limit."""


class UnauthenticatedAnswer(ProblemAnswer, Unauthenticated):
    """401: a key is needed, or the one shown is not valid."""


class NotAllowedAnswer(ProblemAnswer, NotAllowed):
    """403: the caller may not do this."""


class NotFoundAnswer(ProblemAnswer, NotFound):
    """404: nothing has that id."""


class ConflictAnswer(ProblemAnswer, Conflict):
    """409: what was asked does not fit what is there now."""

    def __init__(self, problem: ProblemView, *, advice: str | None = None) -> None:
        super().__init__(problem, advice=advice)
        self.current = dict(problem.current or {})


class RequestInProgressAnswer(ProblemAnswer, RequestInProgress):
    """409: the first request with this Idempotency-Key is still running."""


class IdempotencyMismatchAnswer(InvalidInputAnswer, IdempotencyMismatch):
    """422: the Idempotency-Key was used with another request."""


class TooManyRequestsAnswer(ProblemAnswer, TooManyRequests):
    """429: the key has sent too many requests."""

    def __init__(self, problem: ProblemView, *, advice: str | None = None) -> None:
        super().__init__(problem, advice=advice)
        self.retry_after = 1


class UnavailableAnswer(ProblemAnswer, Unavailable):
    """503: a part that is needed does not answer."""


KINDS: dict[int, type[ProblemAnswer]] = {
    401: UnauthenticatedAnswer,
    403: NotAllowedAnswer,
    404: NotFoundAnswer,
    409: ConflictAnswer,
    413: TooLargeAnswer,
    422: InvalidInputAnswer,
    429: TooManyRequestsAnswer,
    503: UnavailableAnswer,
}

KINDS_BY_CODE: dict[str, type[ProblemAnswer]] = {
    "idempotency_running": RequestInProgressAnswer,
    "idempotency_mismatch": IdempotencyMismatchAnswer,
}
"""Errors that share their status with others."""


def error_from(problem: ProblemView, *, advice: str | None = None) -> ProblemAnswer:
    """The error that a problem stands for."""
    code = problem.type.removeprefix(TYPE_PREFIX)
    kind = KINDS_BY_CODE.get(code) or KINDS.get(problem.status, ProblemAnswer)
    return kind(problem, advice=advice)
