"""``memories``: list the verified memories of a group, show one with its origin, and withdraw one."""

from __future__ import annotations

import shlex
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from clearwell.adapters.cli.arguments import parse_id
from clearwell.adapters.cli.command import AsJson, Group, ask, program, start
from clearwell.adapters.cli.ids import read_id
from clearwell.adapters.cli.terminal import Terminal, shorten
from clearwell.adapters.cli.verdicts import name_flags
from clearwell.text.hidden_text import escape_hidden
from clearwell.text.short_ids import shorten_id
from clearwell.vocabulary import IdKind, MemoryState, Origin

if TYPE_CHECKING:
    from uuid import UUID

    from clearwell.client.routes import ApiClient
    from clearwell.views.captures import QuarantineRowView
    from clearwell.views.decisions import DecisionResultView, DecisionView
    from clearwell.views.provenance import ListedMemoryView, MemoryPageView, PromotionView, ProvenanceView

SHOWN_WIDTH = 100
SOURCE_WIDTH = 160
STYLES = {
    MemoryState.VERIFIED: "bold green",
    MemoryState.PROMOTING: "bold yellow",
    MemoryState.WITHDRAWN: "bold red",
    MemoryState.FORGOTTEN: "bold red",
}

COUNTED = 200
"""Withdrawn memories are counted up to this number."""

memories = typer.Typer(help="List, show and withdraw verified memories.", rich_markup_mode=None)

MemoryId = Annotated[str, typer.Argument(metavar="ID", help="The ID that `memories list` shows.")]


@memories.command(name="list")
def show_all(
    group: Group,
    state: Annotated[
        MemoryState | None, typer.Option("--state", help="verified, promoting, withdrawn or forgotten.")
    ] = MemoryState.VERIFIED,
    everything: Annotated[bool, typer.Option("--all", help="Memories in every state.")] = False,
    origin: Annotated[Origin | None, typer.Option("--from", help="What they were promoted from.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Memories of this agent, and what it said.")] = None,
    session: Annotated[str | None, typer.Option("--session", help="A session (session_id).")] = None,
    words: Annotated[str | None, typer.Option("--words", help="A part of the text.")] = None,
    since: Annotated[datetime | None, typer.Option("--since", help="Promoted at this time or later.")] = None,
    until: Annotated[datetime | None, typer.Option("--until", help="Promoted before this time.")] = None,
    disputed: Annotated[bool, typer.Option("--disputed", help="Only those that contradict another memory.")] = False,
    unused: Annotated[bool, typer.Option("--unused", help="Only those that no agent was ever given.")] = False,
    before: Annotated[
        str | None, typer.Option("--before", help="Continue after a page: the promotion ID that it ended with.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200)] = 50,
    as_json: AsJson = False,
) -> None:
    """List the memories of a group, newest first."""
    settings, terminal = start()
    last = None if before is None else parse_id(before, "memory_not_found", group=group)

    async def read(client: ApiClient) -> MemoryPageView:
        return await client.review.memories(
            group,
            state=None if everything else state,
            origin=origin,
            agent_id=agent,
            session_id=session,
            words=words,
            since=None if since is None else since.astimezone(),
            until=None if until is None else until.astimezone(),
            disputed=disputed,
            unused=unused,
            limit=limit,
            before=last,
        )

    async def look(client: ApiClient) -> tuple[MemoryPageView, MemoryPageView | None]:
        """The page, and the withdrawn memories where no memory is verified."""
        page = await read(client)
        if page.memories or narrowed or as_json:
            return page, None
        return page, await client.review.memories(group, state=MemoryState.WITHDRAWN, limit=COUNTED)

    narrowed = any((origin, agent, session, words, since, until, disputed, unused, before))
    narrowed = narrowed or state is not MemoryState.VERIFIED
    page, withdrawn = ask(settings, terminal, look)
    if as_json:
        terminal.answer(page)
    elif withdrawn is not None and withdrawn.memories:
        count = f"{len(withdrawn.memories)}{'+' if withdrawn.next is not None else ''}"
        terminal.tell("cli_memories_none_in_force", count=count)
    elif not page.memories:
        terminal.tell("cli_memories_none" if narrowed else "cli_memories_none_yet", group=group, program=program())
    else:
        headings = ["cli_head_id", "cli_head_state", "cli_head_when", "cli_head_last_used", "cli_head_text"]
        terminal.table(headings, [_row(memory, terminal) for memory in page.memories])
        if page.next is not None:
            terminal.tell("cli_memories_more", before=str(page.next))


@memories.command()
def show(memory_id: MemoryId, group: Group, as_json: AsJson = False) -> None:
    """Show a memory and its origin: who promoted it, and what it is based on."""
    settings, terminal = start()
    memory = read_id(memory_id, IdKind.MEMORY, group=group)

    async def read(client: ApiClient) -> ProvenanceView:
        return await client.review.origin(group, await memory.find(client))

    origin = ask(settings, terminal, read)
    if as_json:
        terminal.answer(origin)
    else:
        _show_origin(origin, terminal)


@memories.command()
def withdraw(
    memory_id: MemoryId,
    group: Group,
    reason: Annotated[str, typer.Option("--reason", help="Why it no longer holds.")],
    as_json: AsJson = False,
) -> None:
    """Withdraw a memory: agents are no longer given it. `review undo` restores it."""
    settings, terminal = start()
    memory = read_id(memory_id, IdKind.MEMORY, group=group)

    async def act(client: ApiClient) -> tuple[UUID, DecisionResultView]:
        found = await memory.find(client)
        return found, await client.review.withdraw(group, found, reason=reason)

    found, done = ask(settings, terminal, act)
    if as_json:
        terminal.answer(done)
    else:
        terminal.tell(
            "cli_memories_withdrawn", id=found, group=shlex.quote(group), decision=done.decision_id, style="green"
        )
        if done.removed:
            terminal.tell("cli_copies_removed", count=len(done.removed))


def _row(memory: ListedMemoryView, terminal: Terminal) -> list[str]:
    text = shorten(memory.content_shown, SHOWN_WIDTH)
    return [
        shorten_id(memory.memory_id),
        _name_state(memory, terminal),
        terminal.moment(memory.decided_at),
        "–" if memory.last_used_at is None else terminal.age(memory.last_used_at),
        f"⚠ {text}" if memory.conflicts_with or memory.flags else text,
    ]


def _name_state(memory: PromotionView, terminal: Terminal) -> str:
    return terminal.words(f"state_{memory.state}")


def _show_origin(origin: ProvenanceView, terminal: Terminal) -> None:
    for promotion in origin.promotions:
        state = _name_state(promotion, terminal)
        terminal.line(f"{state}  {shorten_id(promotion.memory_id)}", STYLES[promotion.state])
        terminal.block(promotion.content_shown, indent=2)
        if promotion.flags:
            terminal.block(f"! {name_flags(promotion.flags, terminal)}", "yellow", indent=2)
        terminal.pairs(_list_facts(promotion, terminal))
    for other in origin.conflicts_with:
        terminal.tell("cli_memories_contradicts", id=other, style="yellow")
    if origin.decisions:
        terminal.line()
        terminal.tell("cli_memories_decisions", style="bold")
        headings = ["cli_head_id", "cli_head_when", "cli_head_action", "cli_head_made_by", "cli_head_reason"]
        terminal.table(headings, [_decision_row(decision, terminal) for decision in origin.decisions])
    if origin.rows:
        terminal.line()
        terminal.tell("cli_memories_sources", count=len(origin.rows), style="bold")
        headings = ["cli_head_id", "cli_head_agent", "cli_head_when", "cli_head_text"]
        terminal.table(headings, [_source_row(row, terminal) for row in origin.rows])


def _decision_row(decision: DecisionView, terminal: Terminal) -> list[str]:
    return [
        shorten_id(decision.id),
        terminal.moment(decision.at),
        terminal.words(f"action_{decision.action}"),
        escape_hidden(decision.by),
        escape_hidden(decision.reason or "–"),
    ]


def _source_row(row: QuarantineRowView, terminal: Terminal) -> list[str]:
    text = shorten(escape_hidden(row.content[: SOURCE_WIDTH * 4]), SOURCE_WIDTH)
    return [shorten_id(row.id), escape_hidden(row.agent_id or "–"), terminal.moment(row.created_at), text]


def _list_facts(promotion: PromotionView, terminal: Terminal) -> list[tuple[str, str]]:
    facts = [
        ("cli_fact_promoted", f"{terminal.moment(promotion.decided_at)}, {escape_hidden(promotion.decided_by_name)}"),
        ("cli_fact_withdrawn", None if promotion.valid_to is None else terminal.moment(promotion.valid_to)),
        ("cli_fact_agent", promotion.agent_id),
        ("cli_fact_author", promotion.author),
        ("cli_fact_session", promotion.session_id),
        ("cli_fact_supersedes", None if promotion.supersedes is None else shorten_id(promotion.supersedes)),
        ("cli_fact_problem", promotion.problem),
    ]
    return [(terminal.words(code), escape_hidden(value)) for code, value in facts if value]
