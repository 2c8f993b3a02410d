"""``capture``, ``query`` and ``ingest``: the path from the command line."""

from datetime import datetime
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
)
from clearwell.adapters.cli.printing import Terminal
from clearwell.adapters.cli.running import AsJson, Group, UsageProblem, opened, person, run, start
from clearwell.adapters.cli.verdicts import refusal, show_verdicts, verdict_json
from clearwell.flow.retrieve import RetrieveOptions
from clearwell.records import Admission, CaptureReceipt, ContextItem, Json, NewCapture, Promoted, Retrieval


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
        metadata=given_metadata(metadata, confidence),
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
    show_verdicts(receipt.verdicts, terminal)


def receipt_json(receipt: CaptureReceipt, terminal: Terminal) -> Json:
    return {
        "id": str(receipt.id),
        "group_id": receipt.group_id,
        "admission": receipt.admission.value,
        "verdicts": [verdict_json(verdict, terminal) for verdict in receipt.verdicts],
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
