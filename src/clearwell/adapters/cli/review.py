"""``review``: look at insights and decide on them, as the person at this machine."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import typer

from clearwell.adapters.cli.decisions import decisions
from clearwell.adapters.cli.dossier import dossier_json, insight_json, show_dossier, show_insights
from clearwell.adapters.cli.given import moment, wanted_id
from clearwell.adapters.cli.outputs import From, Outputs, output_json, require_no_output, tell_output
from clearwell.adapters.cli.printing import Terminal
from clearwell.adapters.cli.running import AsJson, Group, UsageProblem, ask_and_name, opened, person, run, start
from clearwell.app import Clearwell
from clearwell.errors import ClearwellError, NotFound
from clearwell.records import (
    Action,
    DecisionRequest,
    DecisionResult,
    Insight,
    InsightState,
    Json,
    NewMemory,
    PromotionResult,
)

review = typer.Typer(help="Look at insights and decide what becomes knowledge.", rich_markup_mode=None)
review.command()(decisions)

InsightIds = Annotated[list[str], typer.Argument(metavar="ID...", help="The ids that `review list` shows.")]
InsightId = Annotated[str, typer.Argument(metavar="ID", help="The id that `review list` shows.")]
Version = Annotated[int | None, typer.Option("--version", min=1, help="The version you looked at.")]


@review.command(name="list")
def show_all(
    group: Group,
    state: Annotated[
        InsightState | None, typer.Option("--state", help="pending, promoting, promoted, rejected, snoozed or merged.")
    ] = InsightState.PENDING,
    everything: Annotated[bool, typer.Option("--all", help="Whatever their state.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200)] = 50,
    as_json: AsJson = False,
) -> None:
    """Show a group's insights: the newest digest first, the best of each first."""
    settings, terminal = start()

    async def work() -> Sequence[Insight]:
        async with opened(settings) as clearwell:
            wanted = None if everything else state
            return await clearwell.review.insights(group, by=person(), state=wanted, limit=limit)

    found = run(work())
    if as_json:
        terminal.json({"insights": [insight_json(one, terminal) for one in found]})
    elif not found:
        terminal.tell("cli_review_none", group=group)
    else:
        show_insights(found, terminal)


@review.command()
def show(insight_id: InsightId, group: Group, as_json: AsJson = False) -> None:
    """Show one insight with its sources and the verified memories near it."""
    settings, terminal = start()
    wanted = wanted_id(insight_id, "insight_not_found", group=group)
    found, names = ask_and_name(settings, lambda clearwell: clearwell.review.insight(group, wanted, by=person()))
    if as_json:
        terminal.json(dossier_json(found, terminal))
    else:
        show_dossier(found, terminal, names)


@review.command()
def promote(
    insight_ids: Annotated[
        list[str], typer.Argument(metavar="ID...", help="The ids that `review list` shows, or those of outputs.")
    ],
    group: Group,
    origin: Annotated[
        From, typer.Option("--from", help="What the ids name: insight, or an output in quarantine or working memory.")
    ] = From.INSIGHT,
    text: Annotated[str | None, typer.Option("--text", help="Promote these words instead.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Make it this agent's own experience.")] = None,
    supersedes: Annotated[str | None, typer.Option("--supersedes", help="The memory that it replaces.")] = None,
    version: Version = None,
    as_json: AsJson = False,
) -> None:
    """Make insights knowledge, or outputs straight from quarantine or working memory."""
    if len(insight_ids) > 1 and (text is not None or supersedes is not None or version is not None):
        raise UsageProblem("cli_review_one_only", field="ID")
    old = None if supersedes is None else wanted_id(supersedes, "memory_not_found", group=group)
    if origin is not From.INSIGHT:
        if version is not None:
            raise UsageProblem("cli_review_no_version", field="--version")
        changed = NewMemory(content=text or "", agent_id=agent, supersedes=old)
        ids = [wanted_id(one, "row_not_found", group=group) for one in insight_ids]
        _promote_outputs(Outputs(group_id=group, ids=ids, origin=origin, text=changed), as_json)
        return
    wanted = [
        DecisionRequest(action=Action.PROMOTE, id=one, version=version, text=text, agent_id=agent, supersedes=old)
        for one in _ids(insight_ids, group)
    ]
    _decide(group, wanted, as_json)


@review.command()
def reject(
    insight_ids: InsightIds,
    group: Group,
    reason: Annotated[str, typer.Option("--reason", help="Why, for whoever says it again.")],
    version: Version = None,
    as_json: AsJson = False,
) -> None:
    """Reject insights: their words are not promoted until that is undone."""
    ids = _ids(insight_ids, group)
    _decide(
        group, [DecisionRequest(action=Action.REJECT, id=one, version=version, reason=reason) for one in ids], as_json
    )


@review.command()
def merge(
    insight_ids: InsightIds,
    group: Group,
    text: Annotated[str | None, typer.Option("--text", help="The words of the merged insight.")] = None,
    as_json: AsJson = False,
) -> None:
    """Merge insights into the first one named."""
    if len(insight_ids) < 2:
        raise UsageProblem("cli_review_merge_two", field="ID")
    first, *others = _ids(insight_ids, group)
    _decide(group, [DecisionRequest(action=Action.MERGE, id=first, others=tuple(others), text=text)], as_json)


@review.command()
def snooze(
    insight_ids: InsightIds,
    group: Group,
    days: Annotated[float | None, typer.Option("--days", help="For so many days; 7 if nothing is said.")] = None,
    until: Annotated[str | None, typer.Option("--until", help="Such as 2026-11-30T09:00:00+08:00.")] = None,
    as_json: AsJson = False,
) -> None:
    """Put insights off."""
    if days is not None and until is not None:
        raise UsageProblem("snooze_twice", field="--until", other="--days")
    wanted = [
        DecisionRequest(action=Action.SNOOZE, id=one, days=days, until=moment(until, "--until"))
        for one in _ids(insight_ids, group)
    ]
    _decide(group, wanted, as_json)


@review.command()
def undo(
    insight_ids: Annotated[
        list[str], typer.Argument(metavar="ID...", help="Insights, or decisions by the ids of `review decisions`.")
    ],
    group: Group,
    reason: Annotated[str | None, typer.Option("--reason")] = None,
    as_json: AsJson = False,
) -> None:
    """Take back the last decision on insights, or any decision by its own id."""
    ids = [wanted_id(one, "undo_not_found", group=group) for one in insight_ids]
    _decide(group, [DecisionRequest(action=Action.UNDO, id=one, reason=reason) for one in ids], as_json)


def _ids(given: Sequence[str], group: str) -> list[UUID]:
    return [wanted_id(one, "insight_not_found", group=group) for one in given]


def _decide(group: str, wanted: Sequence[DecisionRequest], as_json: bool) -> None:
    """A line each. Where one of many fails the exit code says so."""
    settings, terminal = start()

    async def work() -> list[DecisionResult | ClearwellError]:
        async with opened(settings) as clearwell:
            if len(wanted) == 1:
                return [await _decided(clearwell, group, wanted[0])]
            return [await _or_problem(clearwell, group, one) for one in wanted]

    results = run(work())
    if as_json:
        terminal.json({"results": [_result_json(one, terminal) for one in results]})
    else:
        for one, result in zip(wanted, results, strict=True):
            _tell(one, result, terminal)
    if any(isinstance(one, ClearwellError) for one in results):
        raise typer.Exit(1)


async def _decided(clearwell: Clearwell, group: str, wanted: DecisionRequest) -> DecisionResult:
    """A decision may be taken back by its own id too; an output is no insight."""
    try:
        return await clearwell.review.decide(group, wanted, by=person())
    except NotFound as missing:
        if missing.code != "insight_not_found":
            raise
        if wanted.action is Action.UNDO:
            return await _undone(clearwell, group, wanted)
        if wanted.action is Action.PROMOTE:
            await require_no_output(clearwell, group, missing, wanted.id)
        raise


async def _undone(clearwell: Clearwell, group: str, wanted: DecisionRequest) -> DecisionResult:
    try:
        return await clearwell.review.undo(group, wanted.id, by=person(), reason=wanted.reason)
    except NotFound:
        raise NotFound("undo_not_found", id=wanted.id, group=group) from None


async def _or_problem(clearwell: Clearwell, group: str, wanted: DecisionRequest) -> DecisionResult | ClearwellError:
    try:
        return await _decided(clearwell, group, wanted)
    except ClearwellError as problem:
        return problem


def _promote_outputs(outputs: Outputs, as_json: bool) -> None:
    settings, terminal = start()

    async def work() -> list[PromotionResult | ClearwellError]:
        async with opened(settings) as clearwell:
            return await outputs.promoted(clearwell)

    results = run(work())
    if as_json:
        terminal.json({"results": [output_json(one, terminal) for one in results]})
    else:
        for one, result in zip(outputs.ids, results, strict=True):
            tell_output(one, result, terminal)
    if any(isinstance(one, ClearwellError) for one in results):
        raise typer.Exit(1)


def _result_json(one: DecisionResult | ClearwellError, terminal: Terminal) -> Json:
    if isinstance(one, ClearwellError):
        return {"problem": one.code, "detail": one.text(terminal.language)}
    return one.to_json()


def _tell(wanted: DecisionRequest, result: DecisionResult | ClearwellError, terminal: Terminal) -> None:
    if isinstance(result, ClearwellError):
        terminal.fail(result.text(terminal.language))
        return
    until = "–"
    if result.insight is not None and result.insight.snoozed_until is not None:
        until = terminal.moment(result.insight.snoozed_until)
    version = "–" if result.insight is None else result.insight.version
    undone = "–" if result.undone is None else terminal.words(f"action_{result.undone}")
    code = f"cli_decided_{result.status}_already" if result.already else f"cli_decided_{result.status}"
    if wanted.action is Action.UNDO and result.insight is None:
        code = "cli_decided_undone_decision"
    terminal.tell(code, style="green", insight=wanted.id, id=result.id, version=version, until=until, undone=undone)
