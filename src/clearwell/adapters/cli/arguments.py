"""The arguments of commands: texts, metadata, times and ids."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from clearwell.adapters.cli.command import UsageProblem
from clearwell.errors import NotFound, TooLarge

if TYPE_CHECKING:
    from clearwell.settings import Settings

Words = Annotated[
    str | None, typer.Argument(metavar="[TEXT | -]", help="The text; read from stdin if it is - or omitted.")
]
Session = Annotated[str | None, typer.Option("--session", help="The session (session_id).")]
Agent = Annotated[str | None, typer.Option("--agent", help="The agent (agent_id).")]
NodeType = Annotated[str, typer.Option("--node-type", help="The type of the node, such as agent or fact_check.")]
Confidence = Annotated[float | None, typer.Option("--confidence", help="The confidence of the agent, from 0 to 1.")]
Happened = Annotated[
    str | None, typer.Option("--occurred-at", help="When it was said, such as 2026-11-15T09:00:00+08:00.")
]
Extra = Annotated[str, typer.Option("--metadata", help="Metadata as a JSON object.")]
MaybeRowId = Annotated[str | None, typer.Argument(metavar="[ID]", help="The ID that capture printed.")]
RowId = Annotated[str, typer.Argument(metavar="ID", help="The ID that capture printed.")]


def read_text(text: str | None, settings: Settings) -> str:
    if text not in (None, "-"):
        return str(text)
    if text is None and sys.stdin.isatty():
        raise UsageProblem("cli_text_missing", field="TEXT")
    return _decode(sys.stdin.buffer.read(settings.max_content_bytes + 1), "-", settings)


def read_file(path: Path, settings: Settings) -> str:
    try:
        with path.open("rb") as file:
            return _decode(file.read(settings.max_content_bytes + 1), str(path), settings)
    except OSError as error:
        raise UsageProblem("cli_file_unreadable", field=str(path), reason=error.strerror) from error


def _decode(content: bytes, name: str, settings: Settings) -> str:
    if len(content) > settings.max_content_bytes:
        raise TooLarge("text_large", field=name, limit=settings.max_content_bytes, size=len(content))
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageProblem("cli_text_not_utf8", field=name, position=error.start) from error


def parse_metadata(text: str, confidence: float | None = None) -> dict[str, Any]:
    try:
        metadata = json.loads(text)
    except ValueError as error:
        raise UsageProblem("cli_metadata_not_json", field="--metadata", reason=error) from error
    if not isinstance(metadata, dict):
        raise UsageProblem("metadata_not_object", field="--metadata")
    return metadata if confidence is None else {**metadata, "confidence": confidence}


def parse_filters(text: str | None) -> Any:
    """Parse conditions on metadata. They are checked together with the other options of a query."""
    try:
        return None if text is None else json.loads(text)
    except ValueError as error:
        raise UsageProblem("cli_metadata_not_json", field="--filters", reason=error) from error


def check_time(text: str | None, option: str = "--occurred-at") -> str | None:
    """Parse a time."""
    try:
        return None if text is None else datetime.fromisoformat(text).isoformat()
    except ValueError as error:
        raise UsageProblem("cli_time_invalid", field=option) from error


def parse_id(text: str, missing: str, **params: object) -> UUID:
    """Parse an ID. A text that is not an ID is reported by the message ``missing``, like an ID that does not exist."""
    try:
        return UUID(text)
    except ValueError:
        raise NotFound(missing, id=text, **params) from None
