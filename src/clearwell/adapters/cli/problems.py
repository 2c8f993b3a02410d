"""Errors in words, each with its exit code: 1, or 2 for a command that was not called right."""

import re
import shlex
import tomllib
from uuid import UUID

import typer
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import SettingsError

from clearwell.adapters.cli.command import USAGE_ERROR, Interrupted, UsageProblem
from clearwell.adapters.cli.terminal import Terminal
from clearwell.errors import ClearwellError, Conflict
from clearwell.messages import Language, catalogue, say
from clearwell.settings import Settings, config_path, locale_language
from clearwell.text.hidden_text import escape_hidden
from clearwell.text.short_ids import shorten_id, shorten_ids

PLACE = re.compile(r"line (\d+), column (\d+)")
QUOTED = re.compile(r"'([^']+)'")
"""The allowed values in pydantic's sentence, and the commands in Typer's."""
FIELD = re.compile(r'field "(\w+)"')
SAME_REASON = {
    "int_type": "int_parsing",
    "int_from_float": "int_parsing",
    "int_parsing_size": "int_parsing",
    "float_type": "float_parsing",
    "finite_number": "float_parsing",
    "bool_type": "bool_parsing",
    "string_type": "text",
    "path_type": "text",
    "tuple_type": "json",
    "dict_type": "json",
    "model_type": "json",
    "model_attributes_type": "json",
    "extra_forbidden": "no_such_field",
    "literal_error": "enum",
    "datetime_parsing": "time",
    "datetime_from_date_parsing": "time",
    "datetime_type": "time",
}
"""Kinds of problems that pydantic tells apart and a person need not."""

NO_COMMAND, NO_CHOICE = "No such command", " is not one of "
"""How Typer begins its sentence on a wrong command, and what it says of a value that is none of the choices."""
PERSONS_RIGHTS = ("right_missing", "agent_decides_nothing")
"""What an agent is refused and a person may do."""
AMBIGUOUS = "cli_id_ambiguous"
"""The only problem that names whole ids, because their short form is what is ambiguous."""

BROKEN_SETTINGS = (ValidationError, SettingsError, tomllib.TOMLDecodeError)


def language() -> Language:
    """Return the language of error messages, even if the settings are invalid."""
    try:
        return Settings().display_language
    except BROKEN_SETTINGS:
        return locale_language()


def report(error: Exception) -> int:
    """Print an error on stderr and return the exit code. Unexpected errors are raised again."""
    terminal = Terminal(language())
    match error:
        case ValidationError():
            for problem in error.errors():
                terminal.fail(setting_problem(problem, terminal.language))
        case tomllib.TOMLDecodeError():
            terminal.fail(_file_problem(error, terminal.language))
        case SettingsError():
            terminal.fail(_unread_problem(error, terminal.language))
        case ClearwellError():
            terminal.fail(describe(error, terminal))
        case OSError():
            about = "" if error.filename is None else f": {error.filename}"
            terminal.fail(f"{error.strerror or error}{about}")
        case Interrupted():
            terminal.fail(terminal.words("cli_interrupted"))
            return 130
        case typer.Abort():
            terminal.fail(terminal.words("cli_cancelled"))
            return 130
        case _ if isinstance(error, USAGE_ERROR):
            terminal.fail(usage_problem(error, terminal.language))
            return 2
        case _:
            raise error
    return 2 if isinstance(error, UsageProblem) else 1


def describe(error: ClearwellError, terminal: Terminal) -> str:
    """An error in words, with what to do about it from a shell."""
    if isinstance(error, Conflict) and error.code == "promotion_rejected" and "reason" in error.current:
        return terminal.words(
            "cli_promotion_rejected",
            at=str(error.current["made_at"])[: len("2026-01-01")],
            reason=escape_hidden(str(error.current["reason"])),
            group=shlex.quote(str(error.current["group_id"])),
            tombstone=shorten_id(UUID(str(error.current["tombstone_id"]))),
        )
    if error.code in PERSONS_RIGHTS and _acts_for_agent():
        return terminal.words("cli_acts_for_agent")
    text = error.text(terminal.language)
    return text if error.code == AMBIGUOUS else shorten_ids(text)


def _acts_for_agent() -> bool:
    """Whether the variable, and no key, takes the rights of a person away."""
    settings = Settings()
    return settings.actor == "agent" and settings.api_key is None


def setting_problem(problem: ErrorDetails, language: Language) -> str:
    """Name the setting and its problem, but not its value, which may be a password."""
    given, *inner = problem["loc"] or (problem.get("ctx", {}).get("setting", ""),)
    name = next((field for field in Settings.model_fields if given in (field, *Settings.variables(field))), None)
    if name is None:
        return say("cli_setting_unknown", language, name=given, path=config_path())
    whole = ".".join([Settings.variables(name)[0], *map(str, inner)])
    return say("cli_setting_invalid", language, name=whole, reason=_reason(problem, language))


def _reason(problem: ErrorDetails, language: Language) -> str:
    code = f"cli_reason_{SAME_REASON.get(problem['type'], problem['type'])}"
    params = problem.get("ctx", {})
    _, typed_choice, choices = problem["msg"].partition(NO_CHOICE)
    if typed_choice or code == "cli_reason_enum":
        allowed = QUOTED.findall(choices or params["expected"])
        return say("cli_reason_enum", language, allowed=Terminal(language).join_names(allowed))
    return say(code if code in catalogue() else "cli_reason_other", language, **params)


def _file_problem(error: tomllib.TOMLDecodeError, language: Language) -> str:
    """Extract line and column from the message of the TOML parser, which is English."""
    place = PLACE.search(str(error))
    if place is None:
        return say("cli_config_unreadable", language, path=config_path())
    return say("cli_config_unreadable_at", language, path=config_path(), line=place[1], column=place[2])


def _unread_problem(error: SettingsError, language: Language) -> str:
    """A list or a table that is not written as JSON."""
    field = FIELD.search(str(error))
    name = Settings.variables(field[1])[0] if field and field[1] in Settings.model_fields else str(error)
    return say("cli_setting_invalid", language, name=name, reason=say("cli_reason_json", language))


def usage_problem(error: Exception, language: Language) -> str:
    """Typer's sentence, with the way to the help. The commonest ones are said in Chinese too."""
    context = getattr(error, "ctx", None)
    command = getattr(context, "command_path", "clearwell")
    name = _name_param(getattr(error, "param", None)) or getattr(error, "option_name", "")
    code = {"MissingParameter": "cli_usage_missing", "NoSuchOption": "cli_usage_no_option"}.get(type(error).__name__)
    if isinstance(error.__cause__, ValidationError) and name:
        said = say("cli_usage_invalid", language, name=name, reason=_reason(error.__cause__.errors()[0], language))
    elif code is not None and name:
        said = say(code, language, name=name)
    else:
        said = _translate(str(getattr(error, "format_message", error.__str__)()), language)
    ended = said.endswith(("?", "？"))
    return say("cli_usage_question" if ended else "cli_usage", language, problem=said.rstrip("."), command=command)


def _translate(said: str, language: Language) -> str:
    """Typer's sentence on a command that does not exist in our words; any other as it is."""
    if not said.startswith(NO_COMMAND):
        return said
    name, *near = QUOTED.findall(said)
    if not near:
        return say("cli_usage_no_command", language, name=name)
    return say("cli_usage_near_command", language, name=name, near=Terminal(language).join_names(near))


def _name_param(param: object) -> str:
    """A parameter as the help names it: an argument by its place holder."""
    name: str = getattr(param, "opts", [""])[0]
    shown = getattr(param, "metavar", None)
    return shown.removesuffix("...") if shown and not name.startswith("-") else name
