"""``capture`` and ``ingest``: text into the path from the command line."""

from pathlib import Path
from typing import Annotated

import typer

from clearwell.adapters.cli.given import (
    Agent,
    Confidence,
    Extra,
    Happened,
    NodeType,
    Session,
    Words,
    file_text,
    given_metadata,
    given_text,
    moment,
    wanted_id,
)
from clearwell.adapters.cli.printing import Terminal
from clearwell.adapters.cli.running import AsJson, Group, UsageProblem, ask, opened, person, run, start
from clearwell.adapters.cli.settling import captured
from clearwell.adapters.cli.verdicts import refusal, show_verdicts, verdict_json
from clearwell.records import Admission, CaptureReceipt, Json, NewCapture, PromotionResult


def capture(
    group: Group,
    text: Words = None,
    session: Session = None,
    node: Annotated[str | None, typer.Option("--node", help="The node (node_id).")] = None,
    node_type: NodeType = "agent",
    agent: Agent = None,
    confidence: Confidence = None,
    occurred_at: Happened = None,
    metadata: Extra = "{}",
    as_json: AsJson = False,
) -> None:
    """Store one output in quarantine, run the ingress checks, and show the result."""
    settings, terminal = start()
    new = NewCapture(
        content=given_text(text, settings),
        group_id=group,
        session_id=session,
        node_id=node,
        node_type=node_type,
        agent_id=agent,
        occurred_at=moment(occurred_at),
        metadata=given_metadata(metadata, confidence),
    )
    receipt = ask(settings, lambda clearwell: captured(clearwell, new))
    if as_json:
        terminal.json(receipt_json(receipt, terminal))
    else:
        show_receipt(receipt, terminal)


def ingest(
    group: Group,
    text: Words = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Read the text from this file.")] = None,
    author: Annotated[str | None, typer.Option("--author", help="Whose words they are.")] = None,
    session: Session = None,
    agent: Agent = None,
    occurred_at: Happened = None,
    metadata: Extra = "{}",
    supersedes: Annotated[str | None, typer.Option("--supersedes", help="The memory that it replaces.")] = None,
    as_json: AsJson = False,
) -> None:
    """Promote a text to long-term memory, as the person at this machine."""
    settings, terminal = start()
    if file is not None and text is not None:
        raise UsageProblem("cli_text_twice", field="--file")
    content = given_text(text, settings) if file is None else file_text(file, settings)

    async def work() -> PromotionResult:
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
                supersedes=None if supersedes is None else wanted_id(supersedes, "memory_not_found", group=group),
            )

    promoted = run(work())
    if as_json:
        terminal.json(promoted_json(promoted, group))
    elif promoted.waiting:
        terminal.tell("cli_ingest_waiting", group=group, id=promoted.id, style="yellow")
    elif promoted.already:
        terminal.tell("cli_ingested_already", group=group, id=promoted.id)
    else:
        terminal.tell("cli_ingested", group=group, id=promoted.id, chunks=promoted.chunks)


# what is shown


def promoted_json(promoted: PromotionResult, group: str) -> Json:
    return {
        "status": "promoting" if promoted.waiting else "ingested",
        "group_id": group,
        "id": str(promoted.id),
        "promotion_id": str(promoted.promotion_id),
        "decision_id": None if promoted.decision_id is None else str(promoted.decision_id),
        "chunks": promoted.chunks,
        "already": promoted.already,
    }


def show_receipt(receipt: CaptureReceipt, terminal: Terminal) -> None:
    match receipt.admission:
        case Admission.ADMITTED:
            terminal.tell("cli_capture_admitted", group=receipt.group_id, id=receipt.id, style="green")
        case Admission.REFUSED:
            reason = refusal(receipt.verdicts, terminal)
            terminal.tell("cli_capture_refused", reason=reason, id=receipt.id, style="yellow")
        case Admission.PENDING:
            terminal.tell("cli_capture_pending", id=receipt.id, style="yellow")
    show_verdicts(receipt.verdicts, terminal)


def receipt_json(receipt: CaptureReceipt, terminal: Terminal) -> Json:
    return {
        "id": str(receipt.id),
        "group_id": receipt.group_id,
        "admission": receipt.admission.value,
        "verdicts": [verdict_json(verdict, terminal) for verdict in receipt.verdicts],
    }
