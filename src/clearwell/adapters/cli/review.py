"""``review``: list insights and decide on them, as the local user."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeVar
from uuid import UUID

import typer

from clearwell.adapters.cli.acknowledgement import Acknowledge, KeepInvisible, promote_seen
from clearwell.adapters.cli.arguments import check_time
from clearwell.adapters.cli.command import AsJson, Group, UsageProblem, ask, start
from clearwell.adapters.cli.conflicts import settle_conflicts, show_copies, show_removed
from clearwell.adapters.cli.decisions import Choice, decide_each, decide_one, find_insight, read_insight_id
from clearwell.adapters.cli.dossier import show_dossier, show_insights
from clearwell.adapters.cli.ids import read_id
from clearwell.adapters.cli.questions import interrupted_midway
from clearwell.adapters.cli.terminal import Terminal
from clearwell.errors import ClearwellError
from clearwell.text.hidden_text import escape_hidden
from clearwell.text.short_ids import shorten_id
from clearwell.vocabulary import Action, Flag, IdKind, InsightState, Origin

if TYPE_CHECKING:
    from clearwell.client.review_routes import DecisionFields, OutputFields
    from clearwell.client.routes import ApiClient
    from clearwell.views.decisions import DecisionResultView, DecisionView
    from clearwell.views.dossiers import DossierView
    from clearwell.views.memories import PromotionResultView
    from clearwell.views.problems import ProblemView

R = TypeVar("R", bound="DecisionResultView | PromotionResultView")

review = typer.Typer(help="List insights and decide what becomes knowledge.", rich_markup_mode=None)

InsightIds = Annotated[list[str], typer.Argument(metavar="ID...", help="The IDs that `review list` shows.")]
InsightId = Annotated[str, typer.Argument(metavar="ID", help="The ID that `review list` shows.")]
Version = Annotated[int | None, typer.Option("--version", min=1, help="The version that you have read.")]


class PromotionSource(StrEnum):
    """What the IDs to promote belong to."""

    INSIGHT = "insight"
    QUARANTINE = "quarantine"
    WORKING = "working"


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
    insight = read_id(insight_id, IdKind.INSIGHT, group=group)

    async def read(client: ApiClient) -> DossierView:
        return await client.review.insight(group, await insight.find(client))

    dossier = ask(settings, terminal, read)
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
        PromotionSource,
        typer.Option("--from", help="What the IDs belong to: insights, or outputs in quarantine or working memory."),
    ] = PromotionSource.INSIGHT,
    text: Annotated[str | None, typer.Option("--text", help="Promote this text instead.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Make it a memory of this agent only.")] = None,
    supersedes: Annotated[str | None, typer.Option("--supersedes", help="The memory that it supersedes.")] = None,
    side: Annotated[
        int | None,
        typer.Option("--side", min=1, help="The number of the side to promote if the sources contradict each other."),
    ] = None,
    despite_contradiction: Annotated[
        bool,
        typer.Option("--despite-contradiction", help="Promote all sides as one memory with the flag contradiction."),
    ] = False,
    acknowledge: Acknowledge = None,
    keep_invisible: KeepInvisible = False,
    version: Version = None,
    as_json: AsJson = False,
) -> None:
    """Promote insights, or outputs from quarantine or working memory."""
    if len(insight_ids) > 1 and any(one is not None for one in (text, supersedes, side, version)):
        raise UsageProblem("cli_review_one_only", field="ID")
    if origin is not PromotionSource.INSIGHT:
        if version is not None:
            raise UsageProblem("cli_review_no_version", field="--version")
        if side is not None or despite_contradiction:
            raise UsageProblem("cli_review_no_sides", field="--side")
        changes: OutputFields = {"text": text, "agent_id": agent, "acknowledge": acknowledge or None}
        changes["keep_invisible"] = keep_invisible or None
        _promote_outputs(group, insight_ids, Origin(origin), changes, supersedes, as_json=as_json)
        return
    fields: DecisionFields = {"version": version, "text": text, "agent_id": agent}
    fields["acknowledge"], fields["keep_invisible"] = acknowledge or None, keep_invisible or None
    if side is not None:
        fields["side"] = side - 1
    if despite_contradiction:
        fields["despite"] = [Flag.CONTRADICTION]
    _decide(group, Action.PROMOTE, insight_ids, fields, as_json=as_json, supersedes=supersedes)


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
    _decide(group, Action.REJECT, insight_ids, fields, as_json=as_json)


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
    _decide(group, Action.MERGE, insight_ids, {"text": text}, as_json=as_json)


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
    _decide(group, Action.SNOOZE, insight_ids, fields, as_json=as_json)


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
    _decide(group, Action.UNDO, insight_ids, {"reason": reason}, as_json=as_json)


# deciding: a line each, and where one of many fails the exit code says so


def _decide(
    group: str,
    action: Action,
    ids: Sequence[str],
    fields: DecisionFields,
    *,
    as_json: bool,
    supersedes: str | None = None,
) -> None:
    settings, terminal = start()
    old = None if supersedes is None else read_id(supersedes, IdKind.MEMORY, group=group)
    typed = [read_insight_id(one, action, group=group) for one in ids]

    async def act(client: ApiClient) -> list[DecisionResultView | ClearwellError]:
        if old is not None:
            fields["supersedes"] = await old.find(client)
        found = [await find_insight(client, one, action) for one in typed]
        if action is Action.MERGE:
            choices = [Choice(action, found[0], {**fields, "others": found[1:]})]
        else:
            choices = [Choice(action, one, fields.copy()) for one in found]
        return await _decide_all(client, group, choices, terminal, as_json)

    results = ask(settings, terminal, act)
    if as_json:
        from clearwell.views.decisions import DecisionBatchView

        terminal.answer(DecisionBatchView(results=_describe_problems(results, terminal)))
    _fail_with(results)


async def _decide_all(
    client: ApiClient, group: str, choices: Sequence[Choice], terminal: Terminal, as_json: bool
) -> list[DecisionResultView | ClearwellError]:
    """Carry out the decisions and show each result, with the memories that a promoted text contradicts."""
    with interrupted_midway(is_midway=len(choices) > 1):
        results = await decide_each(
            choices, lambda choice: _decide_seen(client, group, choice, terminal, may_ask=not as_json)
        )
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
        return await decide_one(client, group, choice)

    async def send(acknowledge: list[str] | None) -> DecisionResultView:
        choice.fields["acknowledge"] = acknowledge
        return await decide_one(client, group, choice)

    return await promote_seen(send, choice.fields.get("acknowledge"), terminal, may_ask=may_ask)


async def _promote_instead(client: ApiClient, group: str, choice: Choice, memory_id: UUID) -> DecisionResultView:
    """Promote the same insight again, in place of a memory."""
    fields: DecisionFields = {**choice.fields, "version": None, "supersedes": memory_id}
    return await client.review.decide(group, choice.action, choice.id, **fields)


def _fail_with(results: Sequence[object]) -> None:
    if any(isinstance(result, ClearwellError) for result in results):
        raise typer.Exit(1)


def _describe_problems(results: Sequence[R | ClearwellError], terminal: Terminal) -> tuple[R | ProblemView, ...]:
    """The results, with a problem in the place of each error."""
    from clearwell.views.problems import ProblemView

    return tuple(
        ProblemView.from_error(result, terminal.language) if isinstance(result, ClearwellError) else result
        for result in results
    )


def _show_result(choice: Choice, result: DecisionResultView | ClearwellError, terminal: Terminal) -> None:
    from clearwell.adapters.cli.problems import describe

    if isinstance(result, ClearwellError):
        terminal.fail(describe(result, terminal))
        return
    insight = result.insight
    until = "–" if insight is None or insight.snoozed_until is None else terminal.moment(insight.snoozed_until)
    version = "–" if insight is None else insight.version
    undone = "–" if result.undone is None else terminal.words(f"action_{result.undone}")
    code = f"cli_decided_{result.status}_already" if result.already else f"cli_decided_{result.status}"
    if choice.action is Action.UNDO and insight is None:
        code = "cli_decided_undone_decision"
    state = "" if insight is None else terminal.words(f"state_{insight.state}")
    if insight is not None and insight.state is InsightState.SNOOZED:
        state = f"{state} · {terminal.words('cli_review_until', until=until)}"
    terminal.tell(
        code, style="green", insight=choice.id, id=result.id, version=version, until=until, undone=undone, state=state
    )
    if result.undone is Action.REJECT:
        terminal.tell("cli_undone_rejection")
    if choice.action is Action.REJECT:
        show_copies(result, terminal)
    elif choice.action is Action.PROMOTE:
        show_removed(result, terminal)


def _promote_outputs(
    group: str, ids: Sequence[str], origin: Origin, fields: OutputFields, supersedes: str | None, *, as_json: bool
) -> None:
    from clearwell.adapters.cli.problems import describe

    settings, terminal = start()
    old = None if supersedes is None else read_id(supersedes, IdKind.MEMORY, group=group)
    typed = [read_id(one, IdKind.ROW, group=group) for one in ids]

    async def act(client: ApiClient) -> tuple[list[UUID], list[PromotionResultView | ClearwellError]]:
        if old is not None:
            fields["supersedes"] = await old.find(client)
        rows = [await one.find(client) for one in typed]
        with interrupted_midway(is_midway=len(rows) > 1):
            return rows, await decide_each(
                rows,
                lambda row_id: _promote_output(client, group, row_id, origin, fields, terminal, may_ask=not as_json),
            )

    rows, results = ask(settings, terminal, act)
    if as_json:
        from clearwell.views.memories import PromotionBatchView

        terminal.answer(PromotionBatchView(results=_describe_problems(results, terminal)))
    else:
        for row_id, result in zip(rows, results, strict=True):
            if isinstance(result, ClearwellError):
                terminal.fail(describe(result, terminal))
                continue
            code = "cli_decided_promoting" if result.status == "promoting" else "cli_decided_promoted"
            terminal.tell(f"{code}_already" if result.already else code, style="green", insight=row_id, id=result.id)
            show_removed(result, terminal)
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
        shorten_id(decision.id),
        terminal.moment(decision.at),
        terminal.words(f"action_{decision.action}"),
        _name_subject(decision, terminal),
        escape_hidden(decision.by),
        escape_hidden(decision.reason or "–"),
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
