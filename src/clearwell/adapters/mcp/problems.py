"""Errors in the words of Clearwell: what happened, to what, and what to do."""

from collections.abc import Collection, Mapping

from pydantic import ValidationError

from clearwell.client.problems import ProblemAnswer
from clearwell.errors import ClearwellError, Flaw, WrongStructure
from clearwell.messages import Language, say
from clearwell.views.flaws import invalid_structure, make_printable
from clearwell.views.problems import FAILED, ProblemView


def explain_error(error: ClearwellError, language: Language) -> str:
    """An error as a caller may read it. What a server answered, or why it did not, is said as it is."""
    if isinstance(error, ProblemAnswer) or error.code.startswith(("client_", "mcp_")):
        return error.text(language)
    if isinstance(error, WrongStructure):
        return " ".join(flaw.text(language) for flaw in error.flaws)
    problem = ProblemView.from_error(error, language)
    return say("mcp_failed", language) if problem.status == FAILED else problem.detail


def explain_arguments(error: ValidationError, language: Language) -> str:
    """What is wrong with the arguments of a call."""
    return explain_error(invalid_structure([dict(each) for each in error.errors()]), language)


def find_flaws(
    arguments: Mapping[str, object], *, known: Collection[str], needed: Collection[str] = ()
) -> WrongStructure | None:
    """The error of arguments that nobody reads, and of missing ones: with a misspelt group, it is another group."""
    unknown = [Flaw("http_field_unknown", make_printable(name)) for name in arguments if name not in known]
    missing = [Flaw("http_field_missing", name) for name in needed if name not in arguments]
    return WrongStructure([*unknown, *missing]) if unknown or missing else None
