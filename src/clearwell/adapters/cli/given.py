"""What a command was given: text, metadata, moments and ids."""

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

from clearwell.adapters.cli.running import UsageProblem
from clearwell.errors import NotFound, TooLarge
from clearwell.settings import Settings

Words = Annotated[str | None, typer.Argument(metavar="[TEXT | -]", help="The text; - or nothing reads stdin.")]
Session = Annotated[str | None, typer.Option("--session", help="The session it belongs to.")]
Agent = Annotated[str | None, typer.Option("--agent", help="The agent (agent_id).")]
NodeType = Annotated[str, typer.Option("--node-type", help="agent, fact_check, …")]
Confidence = Annotated[float | None, typer.Option("--confidence", help="The agent's confidence, 0 to 1.")]
Happened = Annotated[str | None, typer.Option("--occurred-at", help="When, such as 2026-11-15T09:00:00+08:00.")]
Extra = Annotated[str, typer.Option("--metadata", help="A JSON object.")]
MaybeRowId = Annotated[str | None, typer.Argument(metavar="[ID]", help="The id that the capture answered with.")]
RowId = Annotated[str, typer.Argument(metavar="ID", help="The id that the capture answered with.")]


def given_text(text: str | None, settings: Settings) -> str:
    if text not in (None, "-"):
        return str(text)
    if text is None and sys.stdin.isatty():
        raise UsageProblem("cli_text_missing", field="TEXT")
    return _decoded(sys.stdin.buffer.read(settings.max_content_bytes + 1), "-", settings)


def file_text(path: Path, settings: Settings) -> str:
    try:
        with path.open("rb") as file:
            return _decoded(file.read(settings.max_content_bytes + 1), str(path), settings)
    except OSError as error:
        raise UsageProblem("cli_file_unreadable", field=str(path), reason=error.strerror) from error


def _decoded(content: bytes, name: str, settings: Settings) -> str:
    if len(content) > settings.max_content_bytes:
        raise TooLarge("text_large", field=name, limit=settings.max_content_bytes, size=len(content))
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageProblem("cli_text_not_utf8", field=name, position=error.start) from error


def given_metadata(text: str, confidence: float | None = None) -> dict[str, Any]:
    try:
        metadata = json.loads(text)
    except ValueError as error:
        raise UsageProblem("cli_metadata_not_json", field="--metadata", reason=error) from error
    if not isinstance(metadata, dict):
        raise UsageProblem("metadata_not_object", field="--metadata")
    return metadata if confidence is None else {**metadata, "confidence": confidence}


def moment(text: str | None, option: str = "--occurred-at") -> datetime | None:
    try:
        return None if text is None else datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageProblem("cli_time_invalid", field=option) from error


def wanted_id(text: str, missing: str, **params: object) -> UUID:
    """An id as it was typed. What is no id names nothing, which the message ``missing`` says."""
    try:
        return UUID(text)
    except ValueError:
        raise NotFound(missing, id=text, **params) from None
