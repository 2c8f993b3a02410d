"""``review``: list insights and decide on them, as the local user."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeVar
from uuid import UUID

import typer

from clearwell.adapters.cli.acknowledgement import Acknowledge, KeepInvisible, promote_seen
from clearwell.adapters.cli.arguments import check_time, parse_id
from clearwell.adapters.cli.command import AsJson, Group, UsageProblem, ask, start
from clearwell.adapters.cli.conflicts import settle_conflicts, show_copies
from clearwell.adapters.cli.dossier import show_dossier, show_insights
from clearwell.adapters.cli.terminal import Terminal
from clearwell.errors import ClearwellError, Conflict, InvalidInput, NotFound
from clearwell.messages import Language, say
from clearwell.text.hidden_text import escaped
from clearwell.vocabulary import Action, InsightState, Origin

if TYPE_CHECKING:
    from clearwell.client.review_routes import DecisionFields, OutputFields
    from clearwell.client.routes import ApiClient
    from clearwell.records import Json
    from clearwell.views.decisions import DecisionResultView, DecisionView
    from clearwell.views.memories import PromotionResultView

W = TypeVar("W")
R = TypeVar("R")

review = typer.Typer(help="List insights and decide what becomes knowledge.", rich_markup_mode=None)

InsightIds = Annotated[list[str], typer.Argument(metavar="ID...", help="The IDs that `review list` shows.")]
InsightId = Annotated[str, typer.Argument(metavar="ID", help="The ID that `review list` shows.")]
Version = Annotated[int | None, typer.Option("--version", min=1, help="The version that you have read.")]


class From(StrEnum):
    """What the IDs to promote belong to."""

    INSIGHT = "insight"
    QUARANTINE = "quarantine"
    WORKING = "working"


@dataclass(frozen=True, slots=True)
class Choice:
    """What to do with one insight."""

    action: Action
    id: UUID
    fields: DecisionFields = field(default_factory=dict)  # type: ignore[assignment]


@review.command(name="list")
def show_all(
    group: Group,
    state: Annotated[
        InsightState | None, typer.Option("--state", help="pending, promoting, promoted, rejected, snoozed or merged.")
    ] = InsightState.PENDING,
    everything: Annotated[bool, typer.Option("--all", help="Insights in every state.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200)] = 50,
    as_json: AsJson = False,
) -> None:
    """List the insights of a group, newest digest first."""
    settings, terminal = start()
    wanted = None if everything else state
    found = ask(settings, terminal, lambda client: client.review.insights(group, state=wanted, limit=limit))
    if as_json:
        terminal.answer(found)
    elif not found.insights:
        terminal.tell("cli_review_none", group=group)
    else:
        show_insights(found.insights, terminal)


@review.command()
def show(insight_id: InsightId, group: Group, as_json: AsJson = False) -> None:
    """Show an insight with its sources and similar memories."""
    settings, terminal = start()
    wanted = parse_id(insight_id, "insight_not_found", group=group)
    dossier = ask(settings, terminal, lambda client: client.review.insight(group, wanted))
    if as_json:
        terminal.answer(dossier)
    else:
        show_dossier(dossier, terminal)


@review.command()
def promote(
    insight_ids: Annotated[
        list[str], typer.Argument(metavar="ID...", help="The IDs that `review list` shows, or the IDs of outputs.")
    ],
    group: Group,
    origin: Annotated[
        From,
        typer.Option("--from", help="What the IDs belong to: insights, or outputs in quarantine or working memory."),
    ] = From.INSIGHT,
    text: Annotated[str | None, typer.Option("--text", help="Promote this text instead.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Make it a memory of this agent only.")] = None,
    supersedes: Annotated[str | None, typer.Option("--supersedes", help="The memory that it supersedes.")] = None,
    side: Annotated[
        int | None,
        typer.Option("--side", min=1, help="The number of the side to promote if the sources contradict each other."),
    ] = None,
    despite_contradiction: Annotated[
        bool,
        typer.Option("--despite-contradiction", help="Promote the summary although its sources contradict each other."),
    ] = False,
    acknowledge: Acknowledge = None,
    keep_invisible: KeepInvisible = False,
    version: Version = None,
    as_json: AsJson = False,
) -> None:
    """Promote insights, or outputs from quarantine or working memory."""
    if len(insight_ids) > 1 and any(one is not None for one in (text, supersedes, side, version)):
        raise UsageProblem("cli_review_one_only", field="ID")
    old = None if supersedes is None else parse_id(supersedes, "memory_not_found", group=group)
    if origin is not From.INSIGHT:
        if version is not None:
            raise UsageProblem("cli_review_no_version", field="--version")
        if side is not None or despite_contradiction:
            raise UsageProblem("cli_review_no_sides", field="--side")
        rows = [parse_id(row_id, "row_not_found", group=group) for row_id in insight_ids]
        changes: OutputFields = {"text": text, "agent_id": agent, "supersedes": old, "acknowledge": acknowledge or None}
        changes["keep_invisible"] = keep_invisible or None
        _promote_outputs(group, rows, Origin(origin), changes, as_json=as_json)
        return
    fields: DecisionFields = {"version": version, "text": text, "agent_id": agent, "supersedes": old}
    fields["acknowledge"], fields["keep_invisible"] = acknowledge or None, keep_invisible or None
    if side is not None:
        fields["side"] = side - 1
    if despite_contradiction:
        fields["despite"] = ["contradiction"]
    _decide(group, [Choice(Action.PROMOTE, one, fields.copy()) for one in _parse_ids(insight_ids, group)], as_json)


@review.command()
def reject(
    insight_ids: InsightIds,
    group: Group,
    reason: Annotated[str, typer.Option("--reason", help="The reason; it is shown when the same text comes again.")],
    version: Version = None,
    withdraw: Annotated[
        bool, typer.Option("--withdraw", help="Also withdraw the memories and remove the entries that say the same.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Reject insights. Their text cannot be promoted until that is undone."""
    fields: DecisionFields = {"version": version, "reason": reason, "withdraw": withdraw}
    _decide(group, [Choice(Action.REJECT, one, fields) for one in _parse_ids(insight_ids, group)], as_json)


@review.command()
def merge(
    insight_ids: InsightIds,
    group: Group,
    text: Annotated[str | None, typer.Option("--text", help="The text of the merged insight.")] = None,
    as_json: AsJson = False,
) -> None:
    """Merge insights into the first one."""
    if len(insight_ids) < 2:
        raise UsageProblem("cli_review_merge_two", field="ID")
    first, *others = _parse_ids(insight_ids, group)
    _decide(group, [Choice(Action.MERGE, first, {"others": others, "text": text})], as_json)


@review.command()
def snooze(
    insight_ids: InsightIds,
    group: Group,
    days: Annotated[float | None, typer.Option("--days", help="The number of days; 7 by default.")] = None,
    until: Annotated[str | None, typer.Option("--until", help="The time, such as 2026-11-30T09:00:00+08:00.")] = None,
    as_json: AsJson = False,
) -> None:
    """Snooze insights."""
    if days is not None and until is not None:
        raise UsageProblem("snooze_twice", field="--until", other="--days")
    fields: DecisionFields = {"days": days, "until": check_time(until, "--until")}
    _decide(group, [Choice(Action.SNOOZE, one, fields) for one in _parse_ids(insight_ids, group)], as_json)


@review.command()
def undo(
    insight_ids: Annotated[
        list[str], typer.Argument(metavar="ID...", help="IDs of insights, or of decisions (see `review decisions`).")
    ],
    group: Group,
    reason: Annotated[str | None, typer.Option("--reason")] = None,
    as_json: AsJson = False,
) -> None:
    """Undo the last decision on insights, or any decision by its ID."""
    ids = [parse_id(one, "undo_not_found", group=group) for one in insight_ids]
    _decide(group, [Choice(Action.UNDO, one, {"reason": reason}) for one in ids], as_json)


def _parse_ids(insight_ids: Sequence[str], group: str) -> list[UUID]:
    return [parse_id(insight_id, "insight_not_found", group=group) for insight_id in insight_ids]


# deciding: a line each, and where one of many fails the exit code says so


def _decide(group: str, choices: Sequence[Choice], as_json: bool) -> None:
    settings, terminal = start()
    results = ask(settings, terminal, lambda client: _decide_all(client, group, choices, terminal, as_json))
    if as_json:
        terminal.json({"results": [_result_json(result, terminal) for result in results]})
    _fail_with(results)


async def _decide_all(
    client: ApiClient, group: str, choices: Sequence[Choice], terminal: Terminal, as_json: bool
) -> list[DecisionResultView | ClearwellError]:
    """Carry out the decisions and show each result, with the memories that a promoted text contradicts."""
    results = await _each(choices, lambda choice: _decide_seen(client, group, choice, terminal, may_ask=not as_json))
    for choice, result in zip(choices, results, strict=True) if not as_json else ():
        _show_result(choice, result, terminal)
        if not isinstance(result, ClearwellError) and result.conflicts_with:
            replace = partial(_promote_instead, client, group, choice)
            await settle_conflicts(client, group, result.conflicts_with, replace, terminal)
    return results


async def _decide_seen(
    client: ApiClient, group: str, choice: Choice, terminal: Terminal, *, may_ask: bool
) -> DecisionResultView:
    """Decide on one insight. What the person has seen in a text to promote is kept in the choice."""
    if choice.action is not Action.PROMOTE:
        return await _decide_one(client, group, choice)

    async def send(acknowledge: list[str] | None) -> DecisionResultView:
        choice.fields["acknowledge"] = acknowledge
        return await _decide_one(client, group, choice)

    return await promote_seen(send, choice.fields.get("acknowledge"), terminal, may_ask=may_ask)


async def _promote_instead(client: ApiClient, group: str, choice: Choice, memory_id: UUID) -> DecisionResultView:
    """Promote the same insight again, in place of a memory."""
    fields: DecisionFields = {**choice.fields, "version": None, "supersedes": memory_id}
    return await client.review.decide(group, choice.action, choice.id, **fields)


async def _decide_one(client: ApiClient, group: str, choice: Choice) -> DecisionResultView:
    """Decide on one insight. A decision can be undone by its own ID, too; the ID of an output is explained."""
    try:
        return await client.review.decide(group, choice.action, choice.id, **choice.fields)
    except InvalidInput as wrong:
        side = choice.fields.get("side")
        if wrong.code == "promote_side_unknown" and side is not None:
            raise UsageProblem("cli_review_side_unknown", field="--side", id=choice.id, side=side + 1) from None
        raise
    except Conflict as conflict:
        if conflict.code == "insight_has_sides":
            raise SideNeeded(choice.id, conflict) from None
        raise
    except NotFound as missing:
        if missing.code != "insight_not_found":
            raise
        if choice.action is Action.UNDO:
            return await _undo_decision(client, group, choice)
        if choice.action is Action.PROMOTE:
            await _require_no_output(client, group, choice.id)
        raise


class SideNeeded(ClearwellError):
    """An insight with sides was to be promoted without naming one: shows the sides with their numbers."""

    def __init__(self, insight_id: UUID, conflict: Conflict) -> None:
        super().__init__("cli_review_choose_side", id=insight_id)
        self._sides = conflict.current.get("sides")

    def text(self, language: Language = "en") -> str:
        sides = self._sides if isinstance(self._sides, list) else []
        lines = [say("cli_review_side", language, **_number_side(side)) for side in sides]
        return "\n".join([super().text(language), *(f"  {line}" for line in lines)])


def _number_side(side: Mapping[str, object]) -> dict[str, object]:
    """A side as the command line numbers it, from 1."""
    number = int(str(side["side"])) + 1
    return {**side, "side": number, "statement": escaped(str(side["statement"]))}


async def _undo_decision(client: ApiClient, group: str, choice: Choice) -> DecisionResultView:
    try:
        return await client.review.undo(group, choice.id, reason=choice.fields.get("reason"))
    except NotFound:
        raise NotFound("undo_not_found", id=choice.id, group=group) from None


async def _require_no_output(client: ApiClient, group: str, row_id: UUID) -> None:
    """If the ID is not that of an insight but of an output, say how to promote it."""
    try:
        await client.quarantine_row(group, row_id)
    except NotFound:
        return
    raise UsageProblem("cli_review_is_output", field="--from", id=row_id, group=group) from None


async def _each(wanted: Sequence[W], act: Callable[[W], Awaitable[R]]) -> list[R | ClearwellError]:
    """Run each one in order and collect results and errors. The error of a single one is raised."""
    if len(wanted) == 1:
        return [await act(wanted[0])]
    results: list[R | ClearwellError] = []
    for one in wanted:
        try:
            results.append(await act(one))
        except ClearwellError as problem:
            results.append(problem)
    return results


def _fail_with(results: Sequence[object]) -> None:
    if any(isinstance(result, ClearwellError) for result in results):
        raise typer.Exit(1)


def _result_json(result: DecisionResultView | PromotionResultView | ClearwellError, terminal: Terminal) -> Json:
    if isinstance(result, ClearwellError):
        return {"problem": result.code, "detail": result.text(terminal.language)}
    return dict(result.model_dump(mode="json"))


def _show_result(choice: Choice, result: DecisionResultView | ClearwellError, terminal: Terminal) -> None:
    if isinstance(result, ClearwellError):
        terminal.fail(result.text(terminal.language))
        return
    insight = result.insight
    until = "–" if insight is None or insight.snoozed_until is None else terminal.moment(insight.snoozed_until)
    version = "–" if insight is None else insight.version
    undone = "–" if result.undone is None else terminal.words(f"action_{result.undone}")
    code = f"cli_decided_{result.status}_already" if result.already else f"cli_decided_{result.status}"
    if choice.action is Action.UNDO and insight is None:
        code = "cli_decided_undone_decision"
    terminal.tell(code, style="green", insight=choice.id, id=result.id, version=version, until=until, undone=undone)
    if choice.action is Action.REJECT:
        show_copies(result, terminal)


def _promote_outputs(group: str, rows: Sequence[UUID], origin: Origin, fields: OutputFields, *, as_json: bool) -> None:
    settings, terminal = start()
    results = ask(
        settings,
        terminal,
        lambda client: _each(
            rows, lambda row_id: _promote_output(client, group, row_id, origin, fields, terminal, may_ask=not as_json)
        ),
    )
    if as_json:
        terminal.json({"results": [_result_json(result, terminal) for result in results]})
    else:
        for row_id, result in zip(rows, results, strict=True):
            if isinstance(result, ClearwellError):
                terminal.fail(result.text(terminal.language))
                continue
            code = "cli_decided_promoting" if result.status == "promoting" else "cli_decided_promoted"
            terminal.tell(f"{code}_already" if result.already else code, style="green", insight=row_id, id=result.id)
    _fail_with(results)


async def _promote_output(
    client: ApiClient,
    group: str,
    row_id: UUID,
    origin: Origin,
    fields: OutputFields,
    terminal: Terminal,
    *,
    may_ask: bool,
) -> PromotionResultView:
    async def send(acknowledge: list[str] | None) -> PromotionResultView:
        said: OutputFields = {**fields, "acknowledge": acknowledge}
        return await client.review.promote_output(group, row_id, origin, **said)

    return await promote_seen(send, fields.get("acknowledge"), terminal, may_ask=may_ask)


# what was decided


@review.command()
def decisions(
    group: Group,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="The largest number to show.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the decisions of a group, newest first."""
    settings, terminal = start()
    found = ask(settings, terminal, lambda client: client.review.decisions(group, limit=limit))
    if as_json:
        terminal.answer(found)
    elif not found.decisions:
        terminal.tell("cli_decisions_none", group=group)
    else:
        headings = ["cli_head_id", "cli_head_when", "cli_head_action", "cli_head_about", "cli_head_made_by"]
        rows = [_decision_row(decision, terminal) for decision in found.decisions]
        terminal.table([*headings, "cli_head_reason"], rows)


def _decision_row(decision: DecisionView, terminal: Terminal) -> list[str]:
    return [
        str(decision.id),
        terminal.moment(decision.at),
        terminal.words(f"action_{decision.action}"),
        _name_subject(decision, terminal),
        escaped(decision.by),
        escaped(decision.reason or "–"),
    ]


def _name_subject(decision: DecisionView, terminal: Terminal) -> str:
    if decision.undoes is not None:
        return terminal.words("cli_about_decision", id=decision.undoes)
    if decision.insight_id is not None:
        return terminal.words("cli_about_insight", id=decision.insight_id)
    if decision.memory_id is not None:
        return terminal.words("cli_about_memory", id=decision.memory_id)
    return terminal.words("cli_about_memories", count=len(decision.others))


# withdrawing what rests on a source
