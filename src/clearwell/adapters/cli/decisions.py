"""``review decisions``: what was decided in a group, each with the id by which it can be taken back."""

from collections.abc import Sequence
from typing import Annotated

import typer

from clearwell.adapters.cli.printing import Terminal
from clearwell.adapters.cli.running import AsJson, Group, opened, person, run, start
from clearwell.records import Decision, Json
from clearwell.text.hidden_text import escaped


def decisions(
    group: Group,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="So many at most.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show what was decided in a group, the newest first. `review undo` takes back any of it."""
    settings, terminal = start()

    async def work() -> Sequence[Decision]:
        async with opened(settings) as clearwell:
            return await clearwell.review.decisions(group, by=person(), limit=limit)

    found = run(work())
    if as_json:
        terminal.json({"decisions": [decision_json(one) for one in found]})
    elif not found:
        terminal.tell("cli_decisions_none", group=group)
    else:
        show_decisions(found, terminal)


def show_decisions(found: Sequence[Decision], terminal: Terminal) -> None:
    headings = [
        "cli_head_id",
        "cli_head_when",
        "cli_head_action",
        "cli_head_about",
        "cli_head_made_by",
        "cli_head_reason",
    ]
    terminal.table(headings, [_row(one, terminal) for one in found])


def _row(one: Decision, terminal: Terminal) -> list[str]:
    action = terminal.words(f"action_{one.action}")
    return [
        str(one.id),
        terminal.moment(one.at),
        action,
        _about(one, terminal),
        escaped(one.by),
        escaped(one.reason or "–"),
    ]


def _about(one: Decision, terminal: Terminal) -> str:
    if one.undoes is not None:
        return terminal.words("cli_about_decision", id=one.undoes)
    if one.insight_id is not None:
        return terminal.words("cli_about_insight", id=one.insight_id)
    if one.memory_id is not None:
        return terminal.words("cli_about_memory", id=one.memory_id)
    return terminal.words("cli_about_memories", count=len(one.others))


def decision_json(one: Decision) -> Json:
    named = {
        "insight_id": one.insight_id,
        "memory_id": one.memory_id,
        "tombstone_id": one.tombstone_id,
        "supersedes": one.supersedes,
        "undoes": one.undoes,
    }
    return {
        "id": str(one.id),
        "action": one.action.value,
        "by": one.by,
        "at": one.at.isoformat(),
        "reason": one.reason,
        "already": one.already,
        "others": [str(each) for each in one.others],
        **{name: None if value is None else str(value) for name, value in named.items()},
    }
