"""``retract``: withdraw every memory that rests on one source, session or agent. Listed first."""

from collections.abc import Mapping
from typing import Annotated
from uuid import UUID

import typer

from clearwell.adapters.cli.given import wanted_id
from clearwell.adapters.cli.printing import Terminal, shortened
from clearwell.adapters.cli.running import AsJson, Group, UsageProblem, ask_and_name, person, start
from clearwell.app import Clearwell
from clearwell.flow.review import RetractionPreview
from clearwell.records import Action, DecisionResult, DependentMemory, Json, SourceSelector
from clearwell.text.hidden_text import escaped

SHOWN_WIDTH = 100


def retract(
    group: Group,
    source: Annotated[str | None, typer.Option("--source", help="The id of an output.")] = None,
    session: Annotated[str | None, typer.Option("--session", help="A session.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="An agent.")] = None,
    token: Annotated[str | None, typer.Option("--token", help="Withdraw what the list with this token showed.")] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why.")] = None,
    undo: Annotated[
        str | None, typer.Option("--undo", metavar="DECISION", help="Bring back what was withdrawn.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List what rests on a source, session or agent; with --token withdraw it; with --undo bring it back."""
    settings, terminal = start()
    if undo is None and sum(one is not None for one in (source, session, agent)) != 1:
        raise UsageProblem("cli_retract_what", field="--source, --session, --agent")
    log_id = None if source is None else wanted_id(source, "row_not_found", group=group)
    taken_back = None if undo is None else wanted_id(undo, "decision_not_found", group=group)
    what = SourceSelector(source=log_id, session_id=session, agent_id=agent)

    async def work(clearwell: Clearwell) -> RetractionPreview | DecisionResult:
        if taken_back is not None:
            return await clearwell.review.undo(group, taken_back, by=person(), reason=reason, only=Action.RETRACT)
        if token is None:
            return await clearwell.review.preview_retraction(group, what, by=person())
        return await clearwell.review.retract(group, what, token=token, reason=reason, by=person())

    found, names = ask_and_name(settings, work)
    if as_json:
        terminal.json(_listed_json(found) if isinstance(found, RetractionPreview) else found.to_json())
    elif isinstance(found, RetractionPreview):
        _show(found, terminal, names)
    else:
        decision: UUID | None = found.decision_id
        terminal.tell(f"cli_retract_{found.status}", count=len(found.memories), id=decision, style="green")


def _show(listed: RetractionPreview, terminal: Terminal, names: Mapping[str, str]) -> None:
    if not listed.memories:
        terminal.tell("retract_nothing")
        return
    terminal.tell("cli_retract_listed", count=len(listed.memories), style="bold")
    headings = ["cli_head_id", "cli_head_made_by", "cli_head_when", "cli_head_other_sources", "cli_head_text"]
    terminal.table(headings, [_row(one, terminal, names) for one in listed.memories])
    if any(one.others for one in listed.memories):
        terminal.tell("cli_retract_others", style="yellow")
    terminal.tell("cli_retract_token", token=listed.token)


def _row(one: DependentMemory, terminal: Terminal, names: Mapping[str, str]) -> list[str]:
    made = one.state.promotion
    text = shortened(escaped(made.text.content), SHOWN_WIDTH)
    facts = [
        str(made.memory_id),
        escaped(names.get(made.decided_by, made.decided_by)),
        terminal.moment(made.decided_at),
    ]
    return [*facts, str(one.others or "–"), text]


def _listed_json(listed: RetractionPreview) -> Json:
    return {
        "status": "listed",
        "token": listed.token,
        "memories": [
            {
                "id": str(one.memory_id),
                "state": one.state.state,
                "content": one.state.promotion.text.content,
                "rests_on": {"meant": one.matching, "others": one.others},
            }
            for one in listed.memories
        ],
    }
