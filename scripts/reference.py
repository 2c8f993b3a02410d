"""Write docs/reference/ from the code: settings, command line, HTTP, errors, events and the Python API.

``--check`` writes nothing and fails if a page is not up to date.
"""

import argparse
import ast
import inspect
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args

import typer
from typer.testing import CliRunner

import clearwell
from clearwell import errors
from clearwell.adapters.cli import app as command_line
from clearwell.adapters.http import create_app
from clearwell.messages import Language, catalogue, say
from clearwell.records import EVENT_FIELDS
from clearwell.settings import Settings
from clearwell.views.problems import STATUSES
from clearwell.vocabulary import EventType

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "reference"
SOURCE = ROOT / "src" / "clearwell"
WRITTEN_BY = "<!-- Written by scripts/reference.py from the code. Run `make reference` instead of editing it. -->"
SECTION = re.compile(r"^    # (.+)$")
FIELD = re.compile(r"^    (\w+): ")
MADE_BY_CALLERS = ("AsyncClient", "Client", "FunctionTokenCounter", "MemoryMiddleware")
"""Classes that are called by users; the others are returned by something else."""
FACES = {
    "Client": "AsyncClient",
    "ReviewClient": "AsyncReviewClient",
    "SyncMemoryManager": "MemoryManager",
    "SyncReviewService": "ReviewService",
}
"""Synchronous classes, and the asynchronous ones that they are made from."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a page is not up to date")
    wanted = parser.parse_args()
    outdated = {name: text for name, text in pages().items() if not is_written(FOLDER / name, text)}
    if wanted.check and outdated:
        sys.exit(f"Not up to date: {', '.join(outdated)}. Run: make reference")
    for name, text in outdated.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"written: docs/reference/{name}")


def is_written(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


def pages() -> dict[str, str]:
    """Return every page by its file name."""
    parts = {
        "settings.md": settings_page(),
        "command-line.md": command_line_page(),
        "http.md": http_page(),
        "python.md": python_page(),
        "events.md": events_page(),
        "errors.md": errors_page("en"),
        "errors.zh.md": errors_page("zh"),
    }
    return {name: "\n\n".join([WRITTEN_BY, *lines]).rstrip() + "\n" for name, lines in parts.items()}


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell(text) for text in line)} |" for line in lines)


def cell(text: str) -> str:
    """One line, with what Markdown would take for a column or a tag escaped."""
    line = " ".join(text.split()).replace("|", "\\|")
    return line if "`" in line else line.replace("<", "&lt;")


def code(text: str) -> str:
    return f"`{text}`" if text else ""


# settings


def settings_page() -> list[str]:
    lines = [
        "# Settings",
        "Each setting is an environment variable, or a name in `clearwell.toml`: the variable without `CLEARWELL_`, in "
        "small letters. The file is read from the working directory, or from `CLEARWELL_CONFIG`. The environment "
        "overrides the file. `DATABASE_URL` and `REDIS_URL` are also accepted without the prefix. `clearwell settings` "
        "shows the values in use and where each comes from.",
    ]
    for section, names in setting_sections():
        rows = [[code(Settings.variables(name)[0]), default_of(name), description_of(name)] for name in names]
        lines += [f"## {section[0].upper()}{section[1:]}", table(("setting", "default", "meaning"), rows)]
    return lines


def setting_sections() -> Iterator[tuple[str, list[str]]]:
    """The comments in the class of the settings, each with the settings below it."""
    section = ""
    names: list[str] = []
    for line in inspect.getsource(Settings).splitlines():
        comment, found = SECTION.match(line), FIELD.match(line)
        if comment:
            if names:
                yield section, names
            section, names = comment[1], []
        elif found and found[1] in Settings.model_fields:
            names.append(found[1])
    yield section, names


def default_of(name: str) -> str:
    field = Settings.model_fields[name]
    if name == "data_dir":
        return "a folder for Clearwell in the home folder"
    default = field.get_default(call_default_factory=True)
    if default is None:
        return "none"
    if isinstance(default, tuple):
        return ", ".join(code(repr(part).strip("'") or "''") for part in default)
    if isinstance(default, bool):
        return code(str(default).lower())
    return code(f"{default:.6g}" if isinstance(default, float) else str(default)) or "empty"


def description_of(name: str) -> str:
    return Settings.model_fields[name].description or ""


# command line


def command_line_page() -> list[str]:
    lines = [
        "# Command line",
        "What `--help` prints for each command. Most commands accept `--json` and then print the answer of the API. "
        "IDs are printed short, as their last eight characters, and are accepted so within their group; `--json` has "
        "whole IDs. "
        "Exit codes: 0 if it worked, 1 if it did not, 2 if the command was called wrongly.",
    ]
    group = typer.main.get_command(command_line)
    for words in command_words(group):
        lines += [f"{'##' if len(words) == 1 else '###'} clearwell {' '.join(words)}", help_of(words)]
    return lines


def command_words(group: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        yield (*before, name)
        if hasattr(command, "commands"):
            yield from command_words(command, (*before, name))


def help_of(words: Sequence[str]) -> str:
    shown = CliRunner().invoke(
        command_line, [*words, "--help"], prog_name="clearwell", env={"COLUMNS": "100", "TERMINAL_WIDTH": "100"}
    )
    if shown.exit_code:
        sys.exit(shown.output)
    return f"```\n{shown.output.strip()}\n```"


# HTTP


def http_page() -> list[str]:
    document = create_app(Settings()).openapi()
    schemas = document["components"]["schemas"]
    lines = [
        "# HTTP",
        "Every route of the API. A running server has the same, with schemas of all answers, at `/docs` and "
        "`/openapi.json`. Where a [key](../how-to/team.md) is needed, send it as `Authorization: Bearer …`. Writes "
        "accept an `Idempotency-Key`. Errors are problems as in RFC 9457, with the codes of [Errors](errors.md).",
    ]
    tags: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            tags.setdefault(operation["tags"][0], []).extend(route(method, path, operation, schemas))
    for tag, routes in tags.items():
        lines += [f"## {tag[0].upper()}{tag[1:]}", *routes]
    return lines


def route(method: str, path: str, operation: dict[str, Any], schemas: dict[str, Any]) -> list[str]:
    lines = [f"### {method.upper()} {path}", f"{operation['summary']}. {operation.get('description', '')}".strip()]
    rows = [
        [code(parameter["name"]), parameter["in"], type_of(parameter["schema"]), parameter.get("description", "")]
        for parameter in operation.get("parameters", [])
        if "name" in parameter
    ]
    rows += [
        [code(name), "body", type_of(schema), schema.get("description", "")]
        for name, schema in body_fields(operation, schemas)
    ]
    if rows:
        lines.append(table(("field", "in", "type", "meaning"), rows))
    answers = ", ".join(f"{status} {answer['description'].rstrip('.')}" for status, answer in answers_of(operation))
    return [*lines, f"Answers: {answers}."]


def answers_of(operation: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(status, answer) for status, answer in operation["responses"].items() if status.startswith("2")]


def body_fields(operation: dict[str, Any], schemas: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    content = operation.get("requestBody", {}).get("content", {})
    for schema in (part.get("schema", {}) for part in content.values()):
        options = schema.get("anyOf") or schema.get("oneOf") or [schema]
        for option in options:
            named = schemas.get(option.get("$ref", "").rpartition("/")[2], option)
            yield from named.get("properties", {}).items()


def type_of(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return code(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(type_of(option) for option in schema["anyOf"]))
    if "enum" in schema:
        return ", ".join(code(str(value)) for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {type_of(schema.get('items', {}))}"
    return str(schema.get("format") or schema.get("type") or "any")


# errors


def errors_page(language: Language) -> list[str]:
    titles: Mapping[Language, tuple[str, ...]] = {
        "en": (
            "# Errors",
            "Every error is a `ClearwellError` with a stable `code` and a text in English and Chinese "
            '(`error.text("zh")`). Over HTTP it is a problem whose `type` is `urn:clearwell:problem:` and the code. '
            "`{…}` stands for a value.",
            "## Classes",
            "## Codes",
        ),
        "zh": (
            "# 错误",
            '所有错误都是 `ClearwellError`，带有固定的 `code`，并有中英文两种文本（`error.text("zh")`）。'
            "通过 HTTP 返回时，错误是一个 problem，其 `type` 为 `urn:clearwell:problem:` 加上错误代码。"
            "`{…}` 表示具体的值。",
            "## 类",
            "## 代码",
        ),
    }
    head: Mapping[Language, tuple[str, ...]] = {
        "en": ("code", "class", "status", "text"),
        "zh": ("代码", "类", "状态码", "文本"),
    }
    title, lead, classes, codes = titles[language]
    tree = (errors.__doc__ or "").partition("::\n\n")[2].partition("\n\nEvery error")[0]
    rows = [
        [code(name), code(kind), status_of(kind), catalogue()[name][language]] for name, kind in sorted(raised_codes())
    ]
    return [title, lead, classes, f"```\n{inspect.cleandoc(tree)}\n```", codes, table(head[language], rows)]


def raised_codes() -> set[tuple[str, str]]:
    """Every code that the program raises an error with, found in its source, and the class of the error."""
    classes = {name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Exception)}
    found = set()
    for path in SOURCE.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in classes and call.args:
                found |= {(one, call.func.id) for one in codes_in(call.args[0]) if one in catalogue()}
    return found


def codes_in(argument: ast.expr) -> Iterator[str]:
    """The code that an error is raised with, or both where a condition decides."""
    if isinstance(argument, ast.IfExp):
        yield from codes_in(argument.body)
        yield from codes_in(argument.orelse)
    elif isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        yield argument.value


def status_of(name: str) -> str:
    kind = getattr(errors, name)
    return next((str(status) for base, status in STATUSES if issubclass(kind, base)), "500")


# events


def events_page() -> list[str]:
    return [
        "# Events",
        clean(EventType.__doc__),
        "Each event has a `type`, a `group_id` and a time `at`, and, where it applies, an `id`, `agent_id`, "
        "`session_id`, `node_id` and `data` with ids, counts and codes.",
        "\n".join(
            [
                "| type | what happened | data |",
                "|---|---|---|",
                *(f"| `{event}` | {say(f'event_{event}')} | {name_fields(event)} |" for event in EventType),
            ]
        ),
    ]


def name_fields(event: EventType) -> str:
    return ", ".join(f"`{field}`" for field in EVENT_FIELDS[event])


# Python


def python_page() -> list[str]:
    lines = [
        "# Python",
        "The public names of `clearwell`, in alphabetical order, and the interface for reviewers, `memory.review`. The "
        "group is always a keyword.",
    ]
    names = {name: getattr(clearwell, name) for name in clearwell.__all__ if not name.startswith("_")}
    for name, value in names.items():
        lines += documented(name, value, "##")
    return lines


def documented(name: str, value: Any, depth: str) -> list[str]:
    if not inspect.isclass(value):
        return [f"{depth} {name}", signature_of(name, value), clean(inspect.getdoc(value))]
    lines = [f"{depth} {name}", clean(inspect.getdoc(value))]
    if issubclass(value, StrEnum):
        return [*lines, ", ".join(code(member.value) for member in value)]
    if value is Settings:
        return [*lines, "See [Settings](settings.md)."]
    if is_dataclass(value):
        return [*lines, "\n".join(f"* `{field.name}: {plain_type(field.type)}`" for field in fields(value))]
    if name in MADE_BY_CALLERS:
        lines.insert(1, signature_of(name, value))
    if name in FACES:
        original = FACES[name]
        return [*lines, f"Its methods are those of [`{original}`](#{original.lower()}), without `await`."]
    for method_name, method in own_methods(value):
        lines += documented(f"{name}.{method_name}", method, f"{depth}#")
    return lines


def own_methods(value: type) -> Iterator[tuple[str, Any]]:
    for name, member in vars(value).items():
        if name.startswith("_") or issubclass(value, Exception):
            continue
        if inspect.isfunction(member):
            yield name, member
        elif isinstance(member, property) and member.fget is not None:
            yield name, member.fget


def signature_of(name: str, value: Any) -> str:
    signature = inspect.signature(value)
    own = [parameter for parameter in signature.parameters.values() if parameter.name != "self"]
    shown = str(signature.replace(parameters=own))
    word = "async " if inspect.iscoroutinefunction(inspect.unwrap(value)) else ""
    return f"```\n{word}{name.rpartition('.')[2]}{plain_type(shown)}\n```"


def plain_type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    if get_args(annotation):
        text = str(annotation)
    text = re.sub(r"<function ([\w.]+) at 0x[0-9a-f]+>", r"\1", text)
    text = re.sub(r"\b(?:clearwell|collections|datetime|uuid|typing|pathlib|contextlib)(?:\.\w+)*\.(?=\w)", "", text)
    return re.sub(r"<(?:class|enum) '([\w.]+)'>", lambda found: found[1].rpartition(".")[2], text).replace("'", "")


def clean(text: str | None) -> str:
    return re.sub(r"``([^`]*)``", r"`\1`", inspect.cleandoc(text or ""))


if __name__ == "__main__":
    for variable in [name for name in os.environ if name.startswith(("CLEARWELL_", "LC_", "LANG"))]:
        del os.environ[variable]
    main()
