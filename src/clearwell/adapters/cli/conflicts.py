"""What to do when a promoted text contradicts verified memories: ask the person, or say which command replaces them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from clearwell.adapters.cli.command import Interrupted
from clearwell.adapters.cli.questions import confirm, interrupted_midway
from clearwell.adapters.cli.terminal import Terminal, shorten
from clearwell.errors import ClearwellError
from clearwell.text.hidden_text import escape_hidden

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from uuid import UUID

    from clearwell.client.routes import ApiClient
    from clearwell.views.decisions import DecisionResultView
    from clearwell.views.memories import IngestedView, PromotionResultView

SHOWN_WIDTH = 200


async def settle_conflicts(
    client: ApiClient,
    group: str,
    conflicts: Sequence[UUID],
    replace: Callable[[UUID], Awaitable[DecisionResultView | IngestedView]],
    terminal: Terminal,
) -> None:
    """Show each memory that a new one contradicts, and ask at a terminal whether to replace it.

    Elsewhere, such as in a script, nothing is asked: both stay, and the option that replaces one is named.
    """
    for memory_id in conflicts:
        content = await _read_content(client, group, memory_id)
        terminal.warn("cli_conflict", id=memory_id, content=content)
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            terminal.warn("cli_conflict_replace", id=memory_id)
        elif _wants_replacement(memory_id, terminal):
            made = await replace(memory_id)
            terminal.tell("cli_conflict_replaced", id=memory_id, style="green")
            show_removed(made, terminal)
        else:
            terminal.tell("cli_conflict_kept", id=memory_id)


def _wants_replacement(memory_id: UUID, terminal: Terminal) -> bool:
    """Ask at the terminal. Raises Interrupted if the question is cancelled: the promotion is done, and both stay."""
    try:
        with interrupted_midway(is_midway=True):
            return confirm(terminal.words("cli_conflict_ask"))
    except Interrupted:
        terminal.tell("cli_conflict_kept", id=memory_id)
        raise


async def _read_content(client: ApiClient, group: str, memory_id: UUID) -> str:
    try:
        origin = await client.review.origin(group, memory_id)
    except ClearwellError:
        # Who may promote need not be allowed to read where memories come from.
        return "–"
    return shorten(escape_hidden(origin.promotions[0].content), SHOWN_WIDTH) if origin.promotions else "–"


def show_removed(result: DecisionResultView | PromotionResultView | IngestedView, terminal: Terminal) -> None:
    """Say how many entries were removed from working memory, or that it did not respond."""
    if result.removed:
        terminal.tell("cli_copies_removed", count=len(result.removed))
    if result.degraded:
        terminal.warn("cli_superseded_left")


def show_copies(result: DecisionResultView, terminal: Terminal) -> None:
    """Say what was withdrawn and removed with a decision, and what still says the rejected text."""
    if result.memories:
        terminal.tell(
            "cli_copies_withdrawn", count=len(result.memories), id=result.withdrawal_id or result.decision_id or "–"
        )
    show_removed(result, terminal)
    still = [*(result.still_said or ()), *(result.still_working or ())]
    if still:
        terminal.tell("cli_copies_left", ids=terminal.join_ids(still), style="yellow")
