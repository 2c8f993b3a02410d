"""``forget``: preview, confirm by typing the number of things, erase, and keep the receipt."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clearwell.adapters.cli.command import AsJson, Group, UsageProblem, ask, start
from clearwell.adapters.cli.ids import read_id
from clearwell.adapters.cli.questions import prompt
from clearwell.adapters.cli.terminal import Terminal
from clearwell.vocabulary import IdKind

LISTED = 10
"""IDs of one kind that the list shows."""

if TYPE_CHECKING:
    from clearwell.client.routes import ApiClient
    from clearwell.views.erasure import ForgetPreviewView, ForgetReceiptView


def forget(
    group: Group,
    output: Annotated[str | None, typer.Option("--output", metavar="ID", help="An output in quarantine.")] = None,
    session: Annotated[str | None, typer.Option("--session", help="A session (session_id).")] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="An agent (agent_id), with its persona.")] = None,
    memory: Annotated[
        str | None, typer.Option("--memory", metavar="ID", help="A memory, with what it was made from.")
    ] = None,
    subject: Annotated[str | None, typer.Option("--subject", help="Everything that contains this text.")] = None,
    everything: Annotated[bool, typer.Option("--everything", help="The whole group.")] = False,
    confirm: Annotated[
        int | None, typer.Option("--confirm", metavar="NUMBER", help="The number of things, instead of typing it.")
    ] = None,
    receipt: Annotated[
        Path | None, typer.Option("--receipt", metavar="FILE", help="Write the receipt to this file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Erase texts for good: list what it touches, confirm, and get a receipt.

    With --json and without --confirm, only the list is printed.
    """
    settings, terminal = start()
    if sum(one is not None for one in (output, session, agent, memory, subject)) + everything != 1:
        raise UsageProblem("cli_forget_what", field="--output, --session, --agent, --memory, --subject, --everything")
    selector: dict[str, Any] = {
        "session_id": session,
        "agent_id": agent,
        "subject": subject,
        "everything": everything or None,
    }
    typed = {
        "log_id": None if output is None else read_id(output, IdKind.ROW, group=group),
        "memory_id": None if memory is None else read_id(memory, IdKind.MEMORY, group=group),
    }

    async def look(client: ApiClient) -> ForgetPreviewView:
        selector.update({name: await one.find(client) for name, one in typed.items() if one is not None})
        preview = await client.preview_forget(group, **selector)
        if not preview.things:
            from clearwell.adapters.cli.known_groups import require_group

            await require_group(client, group, terminal)
        return preview

    preview = ask(settings, terminal, look)
    if as_json and confirm is None:
        terminal.answer(preview)
        return
    if not as_json:
        _show_preview(preview, terminal)
    if not preview.things:
        return
    if not _is_confirmed(preview.things, confirm, terminal):
        raise UsageProblem("cli_forget_not_confirmed", field="--confirm", things=preview.things)
    done = ask(settings, terminal, lambda client: client.forget(group, token=preview.token, **selector))
    if receipt is not None:
        receipt.write_text(json.dumps(done.model_dump(mode="json"), indent=2) + "\n", encoding="utf-8")
    if as_json:
        terminal.answer(done)
    else:
        _show_receipt(done, receipt, terminal)


def _is_confirmed(things: int, confirm: int | None, terminal: Terminal) -> bool:
    if confirm is not None:
        return confirm == things
    return prompt(terminal.words("cli_forget_confirm", things=things)) == str(things)


def _show_preview(preview: ForgetPreviewView, terminal: Terminal) -> None:
    if not preview.things:
        terminal.tell("cli_forget_nothing")
        return
    terminal.tell("cli_forget_listed", things=preview.things, style="bold")
    for kind, count in preview.counts.items():
        if count:
            terminal.line("  " + terminal.words(f"erased_{kind}", count=count))
    for kind, ids in (("outputs", preview.outputs), ("memories", preview.memories)):
        for row_id in ids[:LISTED]:
            terminal.line("  " + terminal.words(f"cli_forget_{kind}", id=row_id))
        if len(ids) > LISTED:
            terminal.line("  " + terminal.words("cli_forget_more", count=len(ids) - LISTED))
    if preview.released:
        terminal.tell("cli_forget_released", count=len(preview.released))
    if preview.assigned_elsewhere:
        groups = terminal.join_names(sorted({one.group_id for one in preview.assigned_elsewhere}))
        terminal.tell("forget_elsewhere", count=len(preview.assigned_elsewhere), groups=groups)
    terminal.tell("cli_forget_values", count=preview.values)


def _show_receipt(done: ForgetReceiptView, file: Path | None, terminal: Terminal) -> None:
    terminal.tell("cli_forgotten", id=done.id, style="green")
    if file is None:
        terminal.tell("cli_forget_receipt_hint", group=shlex.quote(done.group_id))
    else:
        terminal.tell("cli_forget_receipt", file=file)
