"""A file that is no export of Clearwell: its texts are captured, and pass through the ingress pipeline."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import typer

from clearwell.adapters.cli.command import run
from clearwell.adapters.cli.connection import connect
from clearwell.adapters.cli.progress import show_progress
from clearwell.adapters.cli.terminal import Terminal
from clearwell.errors import InvalidInput
from clearwell.flow.archive.format import BATCH_BYTES, LINE_BYTES, parse_line
from clearwell.settings import Settings
from clearwell.text.hidden_text import escape_hidden
from clearwell.views.archive import CapturedFileView
from clearwell.views.captures import CaptureView

JSON_LINES = (".jsonl", ".ndjson")
BATCH = 50
FIELDS = ("session_id", "node_id", "agent_id", "occurred_at", "metadata")
"""What a line may say besides its content."""
ARCHIVED = ("output", "memory")
"""The kinds of rows of an export that have a content."""
REFUSALS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Refusal:
    """A text that was not captured: the number of its line, and why."""

    line: int
    problem: str


def capture_file(settings: Settings, terminal: Terminal, file: Path, group: str, *, as_json: bool) -> None:
    """Capture the texts of a file: each line of JSON Lines, otherwise the whole. Repeated, nothing is stored twice."""
    captured, refusals = run(_capture(settings, terminal, file, group))
    if as_json:
        terminal.answer(CapturedFileView(group_id=group, captured=captured, failed=len(refusals)))
    else:
        style = "green" if captured else "yellow"
        terminal.tell("cli_import_captured", style=style, captured=captured, failed=len(refusals))
    for refusal in refusals[:REFUSALS_SHOWN]:
        terminal.fail(terminal.words("cli_import_refusal", line=refusal.line, problem=escape_hidden(refusal.problem)))
    if not captured:
        raise typer.Exit(1)


async def _capture(settings: Settings, terminal: Terminal, file: Path, group: str) -> tuple[int, list[Refusal]]:
    """How many texts were captured, and the others, each with its reason."""
    total = sum(1 for _ in _read_texts(file))
    captured, refusals = 0, list[Refusal]()
    async with connect(settings, terminal) as connection:
        with show_progress(terminal, "cli_archive_progress", "cli_archive_step") as report:
            batch, lines, size = list[dict[str, object]](), list[int](), 0
            for number, (line, text) in enumerate(_read_texts(file), 1):
                lines.append(line)
                batch.append({**text, "group_id": group, "idempotency_key": _make_key(text)})
                size += len(str(text["content"]))
                if len(batch) == BATCH or size > BATCH_BYTES or number == total:
                    answer = await connection.client.capture_many(batch)
                    refused = [
                        Refusal(at, one.detail)
                        for at, one in zip(lines, answer.results, strict=True)
                        if not isinstance(one, CaptureView)
                    ]
                    captured += len(batch) - len(refused)
                    refusals += refused
                    batch, lines, size = [], [], 0
                    report(number, total)
    return captured, refusals


def _read_texts(file: Path) -> Iterator[tuple[int, dict[str, object]]]:
    """Each text of the file, with the number of its line."""
    with file.open("rb") as opened:
        if file.suffix not in JSON_LINES and opened.peek(1)[:1] != b"{":
            yield 1, {"content": _decode(opened.read(LINE_BYTES + 1))}
            return
        number = 0
        while line := opened.readline(LINE_BYTES + 1):
            number += 1
            text = _decode(line).strip()
            if text and (found := _read_line(text)) is not None:
                yield number, found


def _read_line(line: str) -> dict[str, object] | None:
    """What a line says; None for lines of an export that have no text."""
    said = parse_line(line)
    if said.get("clearwell") == "export":
        return None
    if isinstance(said.get("row"), dict):
        row = said["row"]
        return {"content": row["content"]} if said.get("kind") in ARCHIVED and row.get("content") else None
    if said.get("kind") == "seal":
        return None
    content = said.get("content", said.get("text"))
    if not isinstance(content, str):
        raise InvalidInput("import_no_content", field="content")
    return {"content": content, **{name: said[name] for name in FIELDS if said.get(name) is not None}}


def _decode(line: bytes) -> str:
    if len(line) > LINE_BYTES:
        raise InvalidInput("import_long_line", field="file", limit=LINE_BYTES)
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput("import_not_text", field="file") from error


def _make_key(text: dict[str, object]) -> str:
    """The same text with the same fields is stored once, however often it is imported."""
    return "import-" + sha256(json.dumps(text, sort_keys=True).encode()).hexdigest()
