"""``retract``: list and withdraw the memories that are based on a source, session or agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from clearwell.adapters.cli.command import AsJson, Group, UsageProblem, ask, start
from clearwell.adapters.cli.ids import read_id
from clearwell.adapters.cli.terminal import Terminal, shorten
from clearwell.text.hidden_text import escape_hidden
from clearwell.text.short_ids import shorten_id
from clearwell.vocabulary import Action, IdKind

if TYPE_CHECKING:
    from uuid import UUID

    from clearwell.client.routes import ApiClient
    from clearwell.views.decisions import DecisionResultView
    from clearwell.views.provenance import DependentMemoryView, RetractionPreviewView

SHOWN_WIDTH = 100


def retract(
    group: Group,
    source: Annotated[str | None, typer.Option("--source", help="The ID of an output.")] = None,
    session: Annotated[str | None, typer.Option("--session", help="A session (session_id).")] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="An agent (agent_id).")] = None,
    token: Annotated[
        str | None, typer.Option("--token", help="Withdraw the memories of the list with this token.")
    ] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="The reason.")] = None,
    tombstones: Annotated[
        bool, typer.Option("--tombstones", help="Also reject what the memories say; needs --reason.")
    ] = False,
    undo: Annotated[
        str | None, typer.Option("--undo", metavar="DECISION", help="Restore what this decision withdrew.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List or withdraw the memories of a source, session or agent.

    Without --token the memories are only listed. --undo restores what was withdrawn.
    """
    settings, terminal = start()
    if undo is None and sum(one is not None for one in (source, session, agent)) != 1:
        raise UsageProblem("cli_retract_what", field="--source, --session, --agent")
    row = None if source is None else read_id(source, IdKind.ROW, group=group)
    decision = None if undo is None else read_id(undo, IdKind.DECISION, group=group)

    async def find_source(client: ApiClient) -> UUID | None:
        return None if row is None else await row.find(client)

    if decision is None and token is None:

        async def look(client: ApiClient) -> RetractionPreviewView:
            row_id = await find_source(client)
            return await client.review.preview_retraction(group, source=row_id, session_id=session, agent_id=agent)

        preview = ask(settings, terminal, look)
        if as_json:
            terminal.answer(preview)
        else:
            _show_preview(preview, terminal)
        return

    async def act(client: ApiClient) -> DecisionResultView:
        if decision is not None:
            return await client.review.undo(group, await decision.find(client), reason=reason, only=Action.RETRACT)
        return await client.review.retract(
            group,
            token or "",
            source=await find_source(client),
            session_id=session,
            agent_id=agent,
            reason=reason,
            tombstones=tombstones,
        )

    done = ask(settings, terminal, act)
    if as_json:
        terminal.answer(done)
    else:
        count = len(done.memories or ())
        if done.removed:
            terminal.tell("cli_copies_removed", count=len(done.removed))
        terminal.tell(f"cli_retract_{done.status}", count=count, id=done.decision_id, style="green")


def _show_preview(preview: RetractionPreviewView, terminal: Terminal) -> None:
    if not preview.memories and not preview.entries:
        terminal.tell("retract_nothing")
        return
    if preview.entries:
        terminal.tell("cli_retract_entries", count=len(preview.entries))
    if preview.memories:
        _list_memories(preview, terminal)
    terminal.tell("cli_retract_token", token=preview.token)


def _list_memories(preview: RetractionPreviewView, terminal: Terminal) -> None:
    terminal.tell("cli_retract_listed", count=len(preview.memories), style="bold")
    headings = ["cli_head_id", "cli_head_made_by", "cli_head_when", "cli_head_other_sources", "cli_head_text"]
    terminal.table(headings, [_memory_row(memory, terminal) for memory in preview.memories])
    if any(memory.rests_on.others for memory in preview.memories):
        terminal.tell("cli_retract_others", style="yellow")


def _memory_row(memory: DependentMemoryView, terminal: Terminal) -> list[str]:
    return [
        shorten_id(memory.memory_id),
        escape_hidden(memory.decided_by_name),
        terminal.moment(memory.decided_at),
        str(memory.rests_on.others or "–"),
        shorten(memory.content_shown, SHOWN_WIDTH),
    ]
