"""A text that hides characters or speaks to its reader: options that acknowledge it, and the question at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, TypeVar

import typer

from clearwell.adapters.cli.questions import confirm
from clearwell.adapters.cli.terminal import Terminal
from clearwell.errors import ClearwellError, Conflict

R = TypeVar("R")

UNACKNOWLEDGED = "promotion_unacknowledged"
Acknowledge = Annotated[
    list[str] | None,
    typer.Option(
        "--acknowledge",
        help="What you have seen in the text: hidden_text, instruction_like. Asked for at a terminal.",
    ),
]
KeepInvisible = Annotated[
    bool, typer.Option("--keep-invisible", help="Store invisible characters, too; they are removed by default.")
]


async def promote_seen(
    send: Callable[[list[str] | None], Awaitable[R]],
    acknowledged: Sequence[str] | None,
    terminal: Terminal,
    *,
    may_ask: bool,
) -> R:
    """Promote a text. If something is hidden in it, show that at a terminal, ask, and send it again.

    Elsewhere, such as in a script, nothing is asked, and the refusal names the option that acknowledges it.
    """
    seen = [*(acknowledged or ())]
    try:
        return await send(seen or None)
    except Conflict as refusal:
        if refusal.code != UNACKNOWLEDGED or not (may_ask and sys.stdin.isatty() and sys.stdout.isatty()):
            raise
        needed, shown = refusal.current.get("acknowledge"), refusal.current.get("shown")
        flags = [str(flag) for flag in needed] if isinstance(needed, list) else []
        for flag in flags:
            terminal.warn("cli_acknowledge_seen", what=terminal.words(f"trait_{flag}"))
        for place in shown if isinstance(shown, list) else ():
            terminal.block(str(place), indent=4)
        if not confirm(terminal.words("cli_acknowledge_ask")):
            raise ClearwellError("cli_acknowledge_declined") from None
    return await send([*seen, *flags])
