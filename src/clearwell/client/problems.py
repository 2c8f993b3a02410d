"""The problems that a server answers with (RFC 9457), as errors of the library.

They are the same classes that the library raises, so that a caller handles both alike. Their text is the server's, in
the language that the client asked for.
"""

from clearwell.errors import (
    ClearwellError,
    Conflict,
    InvalidInput,
    NotAllowed,
    NotFound,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from clearwell.messages import Language
from clearwell.views.problems import TYPE_PREFIX, ProblemView


class ProblemAnswer(ClearwellError):
    """A problem that a server answered with. ``problem`` is all that it said."""

    def __init__(self, problem: ProblemView) -> None:
        Exception.__init__(self, problem.detail)
        self.code = problem.type.removeprefix(TYPE_PREFIX)
        self.params = {}
        self.problem = problem

    def text(self, language: Language = "en") -> str:  # noqa: ARG002 - the server has chosen its words
        return self.problem.detail


class InvalidInputAnswer(ProblemAnswer, InvalidInput):
    """422: a value is outside its limits."""

    def __init__(self, problem: ProblemView) -> None:
        super().__init__(problem)
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

    def __init__(self, problem: ProblemView) -> None:
        super().__init__(problem)
        self.current = dict(problem.current or {})


class UnavailableAnswer(ProblemAnswer, Unavailable):
    """503: a part that is needed does not answer."""


KINDS: dict[int, type[ProblemAnswer]] = {
    401: UnauthenticatedAnswer,
    403: NotAllowedAnswer,
    404: NotFoundAnswer,
    409: ConflictAnswer,
    413: TooLargeAnswer,
    422: InvalidInputAnswer,
    503: UnavailableAnswer,
}


def error_from(problem: ProblemView) -> ProblemAnswer:
    """The error that a problem stands for."""
    return KINDS.get(problem.status, ProblemAnswer)(problem)
