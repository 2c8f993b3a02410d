"""Errors in words, each with its exit code: 1, or 2 for a command that was not called right."""

import tomllib

import typer
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import SettingsError

from clearwell.adapters.cli.printing import Terminal
from clearwell.adapters.cli.running import Interrupted, UsageProblem
from clearwell.errors import ClearwellError
from clearwell.messages import Language, catalogue, say
from clearwell.settings import Settings, config_path, locale_language

USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
"""Typer's own error of usage: click's in some versions, a copy of it in others."""

BROKEN_SETTINGS = (ValidationError, SettingsError, tomllib.TOMLDecodeError)


def language() -> Language:
    """The language to say an error in, also where the settings themselves are wrong."""
    try:
        return Settings().spoken
    except BROKEN_SETTINGS:
        return locale_language()


def tell(error: Exception) -> int:
    """Say what went wrong on stderr; the exit code."""
    terminal = Terminal(language())
    match error:
        case ValidationError():
            for problem in error.errors():
                terminal.fail(setting_problem(problem, terminal.language))
        case tomllib.TOMLDecodeError():
            terminal.fail(terminal.words("cli_config_unreadable", path=config_path(), reason=error))
        case SettingsError():
            terminal.fail(terminal.words("cli_settings_unreadable", reason=error))
        case ClearwellError():
            terminal.fail(error.text(terminal.language))
        case OSError():
            about = "" if error.filename is None else f": {error.filename}"
            terminal.fail(f"{error.strerror or error}{about}")
        case Interrupted():
            terminal.fail(terminal.words("cli_interrupted"))
            return 130
        case _:
            terminal.fail(usage_problem(error, terminal.language))
            return 2
    return 2 if isinstance(error, UsageProblem) else 1


def setting_problem(problem: ErrorDetails, language: Language) -> str:
    """Which setting, and what is wrong with it. Never its value: it may be a password."""
    given = str(problem["loc"][0]) if problem["loc"] else ""
    name = next((field for field in Settings.model_fields if given in (field, *Settings.variables(field))), None)
    if name is None:
        return say("cli_setting_unknown", language, name=given, path=config_path())
    return say("cli_setting_invalid", language, name=Settings.variables(name)[0], reason=_reason(problem, language))


def _reason(problem: ErrorDetails, language: Language) -> str:
    code = f"cli_reason_{problem['type']}"
    return say(code, language, **problem.get("ctx", {})) if code in catalogue() else problem["msg"]


def usage_problem(error: Exception, language: Language) -> str:
    """Typer's sentence, with the way to the help. The commonest ones are said in Chinese too."""
    context = getattr(error, "ctx", None)
    command = getattr(context, "command_path", "clearwell")
    name = _named(getattr(error, "param", None)) or getattr(error, "option_name", "")
    code = {"MissingParameter": "cli_usage_missing", "NoSuchOption": "cli_usage_no_option"}.get(type(error).__name__)
    if isinstance(error.__cause__, ValidationError) and name:
        said = say("cli_usage_invalid", language, name=name, reason=_reason(error.__cause__.errors()[0], language))
    elif code is not None and name:
        said = say(code, language, name=name)
    else:
        said = str(getattr(error, "format_message", error.__str__)())
    return say("cli_usage", language, problem=said.rstrip("."), command=command)


def _named(param: object) -> str:
    """A parameter as the help names it: an argument by its place holder."""
    name: str = getattr(param, "opts", [""])[0]
    shown = getattr(param, "metavar", None)
    return shown.removesuffix("...") if shown and not name.startswith("-") else name
