"""``capture``, ``query`` and ``ingest``: the path from the command line."""

import json
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from clearwell.adapters.cli.printing import Terminal
from clearwell.adapters.cli.running import AsJson, Group, UsageProblem, opened, person, run, start
from clearwell.errors import TooLarge
from clearwell.flow.retrieve import RetrieveOptions
from clearwell.records import (
    Admission,
    CaptureReceipt,
    ContextItem,
    Json,
    NewCapture,
    Outcome,
    Promoted,
    Retrieval,
    Verdict,
)
from clearwell.settings import Settings

Words = Annotated[str | None, typer.Argument(metavar="[TEXT | -]", help="The text; - or nothing reads stdin.")]
Session = Annotated[str | None, typer.Option("--session", help="The session it belongs to.")]
Agent = Annotated[str | None, typer.Option("--agent", help="The agent (agent_id).")]
Happened = Annotated[str | None, typer.Option("--occurred-at", help="When, such as 2026-11-15T09:00:00+08:00.")]
Extra = Annotated[str, typer.Option("--metadata", help="A JSON object.")]
OUTCOME_MARKS = {
    Outcome.PASS: "✓",
    Outcome.FAIL: "✗",
    Outcome.FLAG: "!",
    Outcome.PENDING: "…",
    Outcome.NOT_CHECKED: "–",
}


def capture(
    group: Group,
    text: Words = None,
    session: Session = None,
    node: Annotated[str | None, typer.Option("--node", help="The node (node_id).")] = None,
    node_type: Annotated[str, typer.Option("--node-type", help="agent, fact_check, …")] = "agent",
    agent: Agent = None,
    confidence: Annotated[float | None, typer.Option("--confidence", help="The agent's confidence, 0 to 1.")] = None,
    occurred_at: Happened = None,
    metadata: Extra = "{}",
    as_json: AsJson = False,
) -> None:
    """Keep one output in quarantine, put it through the ingress filter, and say what became of it."""
    settings, terminal = start()
    new = NewCapture(
        content=given_text(text, settings),
        group_id=group,
        session_id=session,
        node_id=node,
        node_type=node_type,
        agent_id=agent,
        occurred_at=moment(occurred_at),
        metadata=given_metadata(metadata) | ({} if confidence is None else {"confidence": confidence}),
    )

    async def work() -> CaptureReceipt:
        async with opened(settings) as clearwell:
            return await clearwell.memory.capture(new, by=person(), wait=True)

    receipt = run(work())
    if as_json:
        terminal.json(receipt_json(receipt, terminal))
    else:
        show_receipt(receipt, terminal)


def query(
    group: Group,
    text: Words = None,
    max_results: Annotated[int | None, typer.Option("--max-results", min=1, help="Items in the answer.")] = None,
    hot_limit: Annotated[int | None, typer.Option("--hot-limit", min=0, help="Unverified items at most.")] = None,
    cold_limit: Annotated[int | None, typer.Option("--cold-limit", min=0, help="Verified items at most.")] = None,
    relevance: Annotated[
        float | None, typer.Option("--relevance", min=0, max=1, help="Leave out verified items below this.")
    ] = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Ask working and long-term memory together."""
    settings, terminal = start()
    asked = given_text(text, settings)
    options = RetrieveOptions(
        max_results=max_results,
        hot_limit=hot_limit,
        cold_limit=cold_limit,
        relevance_threshold=relevance,
        agent_id=agent,
    )

    async def work() -> Retrieval:
        async with opened(settings) as clearwell:
            return await clearwell.memory.retrieve(asked, group, by=person(), options=options)

    found = run(work())
    if as_json:
        results: list[Json] = [item_json(item, terminal) for item in found.items]
        terminal.json({"results": results, "degraded": list(found.degraded)})
    else:
        show_items(found, group, terminal)


def ingest(
    group: Group,
    text: Words = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Read the text from this file.")] = None,
    author: Annotated[str | None, typer.Option("--author", help="Whose words they are.")] = None,
    session: Session = None,
    agent: Agent = None,
    occurred_at: Happened = None,
    metadata: Extra = "{}",
    as_json: AsJson = False,
) -> None:
    """Promote a text to long-term memory, as the person at this machine."""
    settings, terminal = start()
    if file is not None and text is not None:
        raise UsageProblem("cli_text_twice", field="--file")
    content = given_text(text, settings) if file is None else file_text(file, settings)

    async def work() -> Promoted:
        async with opened(settings) as clearwell:
            return await clearwell.memory.promote(
                group,
                content,
                by=person(),
                session_id=session,
                author=author,
                occurred_at=moment(occurred_at),
                agent_id=agent,
                metadata=given_metadata(metadata),
            )

    promoted = run(work())
    if as_json:
        terminal.json({"status": "ingested", "group_id": group, "id": str(promoted.id), "chunks": promoted.chunks})
    else:
        terminal.tell("cli_ingested", group=group, id=promoted.id, chunks=promoted.chunks)


# what was given


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


def given_metadata(text: str) -> dict[str, Any]:
    try:
        metadata = json.loads(text)
    except ValueError as error:
        raise UsageProblem("cli_metadata_not_json", field="--metadata", reason=error) from error
    if not isinstance(metadata, dict):
        raise UsageProblem("metadata_not_object", field="--metadata")
    return metadata


def moment(text: str | None) -> datetime | None:
    try:
        return None if text is None else datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageProblem("cli_time_invalid", field="--occurred-at") from error


# what is shown


def show_receipt(receipt: CaptureReceipt, terminal: Terminal) -> None:
    match receipt.admission:
        case Admission.ADMITTED:
            terminal.tell("cli_capture_admitted", group=receipt.group_id, id=receipt.id, style="green")
        case Admission.REFUSED:
            reason = refusal(receipt.verdicts, terminal)
            terminal.tell("cli_capture_refused", reason=reason, id=receipt.id, style="yellow")
        case Admission.PENDING:
            terminal.tell("cli_capture_pending", id=receipt.id, style="yellow")
    if receipt.verdicts:
        rows = [
            [
                terminal.name(f"cli_check_{verdict.check}", verdict.check),
                f"{OUTCOME_MARKS[verdict.outcome]} {terminal.words(f'cli_outcome_{verdict.outcome}')}",
                verdict.explanation(terminal.language),
            ]
            for verdict in receipt.verdicts
        ]
        terminal.table(["cli_head_check", "cli_head_outcome", "cli_head_reason"], rows)


def refusal(verdicts: Sequence[Verdict], terminal: Terminal) -> str:
    failed = [verdict for verdict in verdicts if verdict.outcome is Outcome.FAIL]
    return failed[0].explanation(terminal.language) if failed else ""


def receipt_json(receipt: CaptureReceipt, terminal: Terminal) -> Json:
    return {
        "id": str(receipt.id),
        "group_id": receipt.group_id,
        "admission": receipt.admission.value,
        "verdicts": [
            {
                "check": verdict.check,
                "outcome": verdict.outcome.value,
                "value": verdict.value,
                "threshold": verdict.threshold,
                "reason": verdict.explanation(terminal.language),
            }
            for verdict in receipt.verdicts
        ],
    }


def show_items(found: Retrieval, group: str, terminal: Terminal) -> None:
    for part in found.degraded:
        terminal.warn("cli_degraded", part=terminal.name(f"cli_part_{part}", part))
    if not found.items:
        terminal.tell("cli_query_empty", group=group)
    for number, item in enumerate(found.items, start=1):
        relevance = "–" if item.relevance is None else f"{item.relevance:.2f}"
        facts = terminal.words(
            "cli_item_facts", score=f"{item.score:.2f}", relevance=relevance, age=age(item, terminal)
        )
        terminal.line(f"{number:>2}. {terminal.words(f'label_{item.label}')}  {facts}", "bold")
        terminal.block(item.content, indent=4)


def age(item: ContextItem, terminal: Terminal) -> str:
    return terminal.age(item.promoted_at or item.created_at)


def item_json(item: ContextItem, terminal: Terminal) -> Json:
    def shown(value: datetime | None) -> str | None:
        return None if value is None else value.isoformat()

    return {
        "content": item.content,
        "source": item.source.value,
        "score": item.score,
        "relevance": item.relevance,
        "id": str(item.id),
        "layer": item.layer.value,
        "label": item.label.value,
        "label_text": terminal.words(f"label_{item.label}"),
        "verified": item.verified,
        "scope": item.scope.value,
        "session_id": item.session_id,
        "agent_id": item.agent_id,
        "author": item.author,
        "occurred_at": shown(item.occurred_at),
        "expires_at": shown(item.expires_at),
        "promoted_at": shown(item.promoted_at),
        "chunk_no": item.chunk_no,
        "flags": list(item.flags),
        "metadata": dict(item.metadata),
    }
