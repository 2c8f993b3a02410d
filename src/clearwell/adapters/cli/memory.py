"""``capture``, ``ingest``, ``query`` and ``context``: store texts in memory and retrieve them."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearwell.adapters.cli.acknowledgement import Acknowledge, KeepInvisible, promote_seen
from clearwell.adapters.cli.arguments import (
    Agent,
    Confidence,
    Extra,
    Happened,
    NodeType,
    Session,
    Words,
    check_time,
    parse_filters,
    parse_metadata,
    read_file,
    read_text,
)
from clearwell.adapters.cli.command import AsJson, Group, UsageProblem, ask, run, start
from clearwell.adapters.cli.conflicts import settle_conflicts, show_removed
from clearwell.adapters.cli.ids import read_id
from clearwell.adapters.cli.verdicts import name_flags, show_refusal, show_verdicts
from clearwell.errors import InvalidInput
from clearwell.text.hidden_text import escape_hidden
from clearwell.text.short_ids import shorten_id
from clearwell.vocabulary import Admission, Fate, IdKind, Source

FORGOTTEN = "verdict_tombstone_forgotten"
"""The reason of the tombstone check for a text that was forgotten: it is not stored again."""

INSTRUCTIONS = frozenset({"verdict_instruction", "verdict_instruction_quoted"})
"""The reasons of a refused instruction, which may be harmless. The first is in older verdicts."""

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from clearwell.adapters.cli.terminal import Terminal
    from clearwell.client.routes import ApiClient, CaptureFields, ContextFields, MemoryFields
    from clearwell.settings import Settings
    from clearwell.views.captures import CaptureView, VerdictView
    from clearwell.views.context import ContextItemView, ContextSectionView, ContextView
    from clearwell.views.memories import ExplanationView, IngestedView, RetrievalView


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
    """Capture an output, run the ingress checks and show the result."""
    settings, terminal = start()
    content = read_text(text, settings)
    fields: CaptureFields = {
        "session_id": session,
        "node_id": node,
        "node_type": node_type,
        "agent_id": agent,
        "occurred_at": check_time(occurred_at),
        "metadata": parse_metadata(metadata, confidence),
    }
    receipt = run(_capture(settings, terminal, group, content, fields))
    if as_json:
        terminal.answer(receipt)
    else:
        show_receipt(receipt.group_id, receipt.id, receipt.admission, receipt.verdicts, terminal)


async def _capture(
    settings: Settings, terminal: Terminal, group: str, content: str, fields: CaptureFields
) -> CaptureView:
    """Capture an output, and return it when its admission has ended, or some seconds later."""
    from clearwell.adapters.cli.connection import connect

    async with connect(settings, terminal) as connection:
        receipt = await connection.client.capture(group, content, wait=True, **fields)
        if receipt.admission is not Admission.PENDING or not connection.leaves_admissions:
            return receipt
        row = await connection.wait_for_admission(group, receipt.id)
        return receipt.model_copy(update={"admission": row.admission, "verdicts": row.verdicts})


def show_receipt(
    group: str, row_id: UUID, admission: Admission, verdicts: Sequence[VerdictView], terminal: Terminal
) -> None:
    match admission:
        case Admission.ADMITTED:
            terminal.tell("cli_capture_admitted", group=group, id=row_id, style="green")
        case Admission.REFUSED:
            forgotten = any(verdict.reason_code == FORGOTTEN for verdict in verdicts)
            code = "cli_capture_forgotten" if forgotten else "cli_capture_refused"
            show_refusal(code, verdicts, terminal, id=row_id)
            if any(verdict.reason_code in INSTRUCTIONS for verdict in verdicts):
                terminal.tell("cli_capture_admit", group=shlex.quote(group), id=row_id)
        case Admission.PENDING:
            terminal.tell("cli_capture_pending", id=row_id, style="yellow")
    show_verdicts(verdicts, terminal)


def ingest(
    group: Group,
    text: Words = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Read the text from this file.")] = None,
    author: Annotated[str | None, typer.Option("--author", help="Who said it.")] = None,
    session: Session = None,
    agent: Agent = None,
    occurred_at: Happened = None,
    metadata: Extra = "{}",
    supersedes: Annotated[str | None, typer.Option("--supersedes", help="The memory that it supersedes.")] = None,
    acknowledge: Acknowledge = None,
    keep_invisible: KeepInvisible = False,
    as_json: AsJson = False,
) -> None:
    """Promote a text to long-term memory, as the local user."""
    settings, terminal = start()
    if file is not None and text is not None:
        raise UsageProblem("cli_text_twice", field="--file")
    content = read_text(text, settings) if file is None else read_file(file, settings)
    occurred, details = check_time(occurred_at), parse_metadata(metadata)
    fields: MemoryFields = {
        "session_id": session,
        "author": author,
        "occurred_at": occurred,
        "agent_id": agent,
        "metadata": details,
        "acknowledge": acknowledge or None,
        "keep_invisible": keep_invisible or None,
    }
    old = None if supersedes is None else read_id(supersedes, IdKind.MEMORY, group=group)

    async def act(client: ApiClient) -> None:
        if old is not None:
            fields["supersedes"] = await old.find(client)
        await _ingest(client, group, content, fields, terminal, as_json=as_json)

    ask(settings, terminal, act)


async def _ingest(
    client: ApiClient, group: str, content: str, fields: MemoryFields, terminal: Terminal, *, as_json: bool
) -> None:
    async def send(seen: list[str] | None) -> IngestedView:
        fields["acknowledge"] = seen
        return await client.ingest(group, content, **fields)

    made = await promote_seen(send, fields.get("acknowledge"), terminal, may_ask=not as_json)
    if as_json:
        terminal.answer(made)
        return
    show_ingested(made, group, terminal)
    replace = partial(_ingest_instead, client, group, content, fields)
    await settle_conflicts(client, group, made.conflicts_with, replace, terminal)


async def _ingest_instead(
    client: ApiClient, group: str, content: str, fields: MemoryFields, memory_id: UUID
) -> IngestedView:
    """Ingest the same text again, in place of a memory."""
    replacing: MemoryFields = {**fields, "supersedes": memory_id}
    return await client.ingest(group, content, **replacing)


def show_ingested(made: IngestedView, group: str, terminal: Terminal) -> None:
    if made.status == "promoting":
        terminal.tell("cli_ingest_waiting", group=group, id=made.id, style="yellow")
    elif made.already:
        terminal.tell("cli_ingested_already", group=group, id=made.id)
    else:
        terminal.tell("cli_ingested", group=group, id=made.id, chunks=made.chunks)
    show_removed(made, terminal)


HotThreshold = Annotated[
    float | None, typer.Option("--hot-threshold", min=0, max=1, help="Exclude unverified items with a lower relevance.")
]
Recent = Annotated[
    int | None, typer.Option("--recent", min=1, help="Show the newest unverified items, whatever they say.")
]


def query(
    group: Group,
    text: Words = None,
    max_results: Annotated[
        int | None, typer.Option("--max-results", min=1, help="The largest number of items.")
    ] = None,
    hot_limit: Annotated[
        int | None, typer.Option("--hot-limit", min=0, help="The largest number of unverified items.")
    ] = None,
    cold_limit: Annotated[
        int | None, typer.Option("--cold-limit", min=0, help="The largest number of verified items.")
    ] = None,
    relevance: Annotated[
        float | None, typer.Option("--relevance", min=0, max=1, help="Exclude verified items with a lower relevance.")
    ] = None,
    hot_threshold: HotThreshold = None,
    recent: Recent = None,
    agent: Agent = None,
    session: Annotated[str | None, typer.Option("--session", help="Only items of this session.")] = None,
    source: Annotated[list[str] | None, typer.Option("--source", help="hot or cold; both by default.")] = None,
    days: Annotated[float | None, typer.Option("--days", help="Only what was said in the last DAYS days.")] = None,
    since: Annotated[str | None, typer.Option("--from", help="Only what was said at this time or later.")] = None,
    until: Annotated[str | None, typer.Option("--to", help="Only what was said before this time.")] = None,
    as_of: Annotated[str | None, typer.Option("--as-of", help="Only what was verified at this time.")] = None,
    filters: Annotated[
        str | None, typer.Option("--filters", help='Conditions on metadata: \'{"source": "minutes"}\'.')
    ] = None,
    max_chars: Annotated[
        int | None, typer.Option("--max-chars", min=0, help="Shorten longer items; 0 for the full text.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the parts of each score.")] = False,
    as_json: AsJson = False,
) -> None:
    """Search working memory and long-term memory."""
    settings, terminal = start()
    question = "" if text is None and recent is not None else read_text(text, settings)
    conditions, sources = parse_filters(filters), source or None
    first, last, moment = check_time(since, "--from"), check_time(until, "--to"), check_time(as_of, "--as-of")
    found = ask(
        settings,
        terminal,
        lambda client: client.query(
            group,
            question,
            max_results=max_results,
            hot_limit=hot_limit,
            cold_limit=cold_limit,
            relevance_threshold=relevance,
            hot_threshold=hot_threshold,
            recent=recent,
            agent_id=agent,
            session_id=session,
            sources=sources,
            time_range_days=days,
            since=first,
            until=last,
            as_of=moment,
            filters=conditions,
            max_chars=max_chars,
            explain=explain or None,
            record=False,
        ),
    )
    if as_json:
        terminal.answer(found)
        return
    if as_of is not None and len(found.sources) == 1:
        terminal.tell("cli_as_of")
    show_retrieval(found, group, terminal)


def show_retrieval(found: RetrievalView, group: str, terminal: Terminal) -> None:
    for part in found.degraded:
        if part == "embedder":
            terminal.warn("cli_degraded_embedder")
        else:
            warn_degraded(part, terminal)
    if not found.results:
        terminal.tell("cli_query_empty", group=group)
        if found.left_out:
            terminal.tell("cli_query_left_out", left_out=found.left_out)
    elif found.note is not None:
        terminal.line(found.note, "yellow")
    for number, item in enumerate(found.results, start=1):
        facts = terminal.words(
            "cli_item_facts",
            score=f"{item.score:.2f}",
            relevance=_figure(item.relevance),
            age=terminal.age(item.promoted_at or item.created_at),
        )
        named = [shorten_id(item.id), *([] if item.agent_id is None else [escape_hidden(item.agent_id)])]
        terminal.line(f"{number:>2}. {item.label_text}  {' · '.join([*named, facts])}", "bold")
        if item.flags:
            terminal.block(f"! {name_flags(item.flags, terminal)}", "yellow", indent=4)
        terminal.block(f"… {item.content}" if item.cut_before else item.content, indent=4)
        if item.conflicts_with:
            others = terminal.join_ids(item.conflicts_with)
            terminal.block(terminal.words("cli_item_conflicts", others=others), indent=4)
        if item.cut or item.cut_before:
            code = "cli_item_cut_output" if item.source is Source.HOT else "cli_item_cut"
            terminal.block(terminal.words(code, id=shorten_id(item.id)), indent=4)
        if item.explanation is not None:
            terminal.block(describe_scores(item.explanation, terminal), indent=4)


def warn_degraded(part: str, terminal: Terminal) -> None:
    terminal.warn("cli_degraded", part=terminal.name(f"part_{part}", part))


def describe_scores(explanation: ExplanationView, terminal: Terminal) -> str:
    """The parts of the scores of an item."""
    raw = {"cosine": _figure(explanation.cosine), "words": _figure(explanation.words)}
    if explanation.parts is None:
        return terminal.words("cli_item_hot_parts", **raw)
    parts = {name: _figure(value) for name, value in explanation.parts.model_dump().items()}
    return terminal.words("cli_item_parts", rank=_figure(explanation.rank), **raw, **parts)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def context(
    group: Group,
    proposal: Annotated[
        str | None,
        typer.Option("--proposal", "-p", help="What the agent is asked about; read from stdin if it is - or omitted."),
    ] = None,
    agent: Agent = None,
    query: Annotated[str | None, typer.Option("--query", help="What to search for; the proposal by default.")] = None,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", help="The token budget; 4000 by default.")] = None,
    max_results: Annotated[
        int | None, typer.Option("--max-results", min=1, help="The largest number of memories in the context.")
    ] = None,
    relevance: Annotated[
        float | None, typer.Option("--relevance", min=0, max=1, help="Exclude verified items with a lower relevance.")
    ] = None,
    hot_threshold: HotThreshold = None,
    recent: Recent = None,
    days: Annotated[float | None, typer.Option("--days", help="Only what was said in the last DAYS days.")] = None,
    report: Annotated[bool, typer.Option("--report", help="Show what was included, shortened and omitted.")] = False,
    as_json: AsJson = False,
) -> None:
    """Build the context of an agent: prompts, memories, proposal."""
    settings, terminal = start()
    subject = read_text(proposal, settings)
    fields: ContextFields = {
        "query": query,
        "max_tokens": max_tokens,
        "agent_id": agent,
        "max_results": max_results,
        "relevance_threshold": relevance,
        "hot_threshold": hot_threshold,
        "recent": recent,
        "time_range_days": days,
        "record": not report,
    }
    built = ask(settings, terminal, lambda client: _build(client, group, subject, fields))
    if as_json:
        terminal.answer(built)
        return
    for part in built.degraded:
        warn_degraded(part, terminal)
    if report:
        _show_report(built, terminal)
    else:
        terminal.line(built.text or "")
        _warn_of_cuts(built, terminal)


async def _build(client: ApiClient, group: str, proposal: str, fields: ContextFields) -> ContextView:
    try:
        return await client.context(group, proposal, **fields)
    except InvalidInput as error:
        if error.field != "max_tokens":
            raise
        from clearwell.flow.context.budget import MIN_TOKENS
        from clearwell.flow.context.builder import MAX_TOKENS

        limit = f"{MIN_TOKENS}..{MAX_TOKENS}"
        raise InvalidInput("context_budget", field="--max-tokens", limit=limit, value=fields["max_tokens"]) from error


def _warn_of_cuts(built: ContextView, terminal: Terminal) -> None:
    report = built.report
    short = [section for section in report.sections if section.fate in (Fate.CUT, Fate.LEFT_OUT)]
    if short:
        names = terminal.join_names(terminal.words(f"context_{section.section}") for section in short)
        terminal.warn("cli_context_cut", sections=names, tokens=report.tokens, max_tokens=report.max_tokens)


def _show_report(built: ContextView, terminal: Terminal) -> None:
    terminal.tell("cli_context_tokens", tokens=built.report.tokens, max_tokens=built.report.max_tokens, style="bold")
    rows = []
    for section in built.report.sections:
        rows.append([terminal.words(f"context_{section.section}"), *_cells(section, terminal)])
        rows += [[f"  {shorten_id(item.id)}", *_cells(item, terminal)] for item in section.items]
    terminal.table(["cli_head_part", "cli_head_tokens", "cli_head_fate", "cli_head_reason"], rows)


def _cells(part: ContextSectionView | ContextItemView, terminal: Terminal) -> list[str]:
    return [str(part.tokens), terminal.words(f"fate_{part.fate}"), part.reason_text or ""]
