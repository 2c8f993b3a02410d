"""``review``: look at insights and decide on them, as the person at this machine."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import typer

from clearwell.adapters.cli.dossier import dossier_json, insight_json, show_dossier, show_insights
from clearwell.adapters.cli.given import moment, wanted_id
from clearwell.adapters.cli.printing import Terminal
from clearwell.adapters.cli.running import AsJson, Group, UsageProblem, ask, opened, person, run, start
from clearwell.errors import ClearwellError
from clearwell.flow.review import Wanted
from clearwell.records import Action, Decided, Insight, InsightState, Json

review = typer.Typer(help="Look at insights and decide what becomes knowledge.", rich_markup_mode=None)

InsightIds = Annotated[list[str], typer.Argument(metavar="ID...", help="The ids that `review list` shows.")]
InsightId = Annotated[str, typer.Argument(metavar="ID", help="The id that `review list` shows.")]
Version = Annotated[int | None, typer.Option("--version", min=1, help="The version you looked at.")]


@review.command(name="list")
def show_all(
    group: Group,
    state: Annotated[
        InsightState | None, typer.Option("--state", help="pending, promoted, rejected, snoozed or merged.")
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
    found = ask(settings, lambda clearwell: clearwell.review.insight(group, wanted, by=person()))
    if as_json:
        terminal.json(dossier_json(found, terminal))
    else:
        show_dossier(found, terminal)


@review.command()
def promote(
    insight_ids: InsightIds,
    group: Group,
    text: Annotated[str | None, typer.Option("--text", help="Promote these words instead.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Make it this agent's own experience.")] = None,
    supersedes: Annotated[str | None, typer.Option("--supersedes", help="The memory that it replaces.")] = None,
    version: Version = None,
    as_json: AsJson = False,
) -> None:
    """Make insights knowledge."""
    if len(insight_ids) > 1 and (text is not None or supersedes is not None or version is not None):
        raise UsageProblem("cli_review_one_only", field="ID")
    old = None if supersedes is None else wanted_id(supersedes, "memory_not_found", group=group)
    wanted = [
        Wanted(action=Action.PROMOTE, id=one, version=version, text=text, agent_id=agent, supersedes=old)
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
    """Reject insights: their words do not come back."""
    ids = _ids(insight_ids, group)
    _decide(group, [Wanted(action=Action.REJECT, id=one, version=version, reason=reason) for one in ids], as_json)


@review.command()
def merge(
    insight_ids: InsightIds,
    group: Group,
    text: Annotated[str | None, typer.Option("--text", help="The words of the merged insight.")] = None,
    as_json: AsJson = False,
) -> None:
    """Merge insights into the first one named."""
    first, *others = _ids(insight_ids, group)
    _decide(group, [Wanted(action=Action.MERGE, id=first, others=tuple(others), text=text)], as_json)


@review.command()
def snooze(
    insight_ids: InsightIds,
    group: Group,
    days: Annotated[float | None, typer.Option("--days", help="For so many days; 7 if nothing is said.")] = None,
    until: Annotated[str | None, typer.Option("--until", help="Such as 2026-11-30T09:00:00+08:00.")] = None,
    as_json: AsJson = False,
) -> None:
    """Put insights off."""
    wanted = [
        Wanted(action=Action.SNOOZE, id=one, days=days, until=moment(until, "--until"))
        for one in _ids(insight_ids, group)
    ]
    _decide(group, wanted, as_json)


@review.command()
def undo(
    insight_ids: InsightIds,
    group: Group,
    reason: Annotated[str | None, typer.Option("--reason")] = None,
    as_json: AsJson = False,
) -> None:
    """Take back the last decision on insights."""
    ids = _ids(insight_ids, group)
    _decide(group, [Wanted(action=Action.UNDO, id=one, reason=reason) for one in ids], as_json)


def _ids(given: Sequence[str], group: str) -> list[UUID]:
    return [wanted_id(one, "insight_not_found", group=group) for one in given]


def _decide(group: str, wanted: Sequence[Wanted], as_json: bool) -> None:
    """A line each. Where one of many fails the exit code says so."""
    settings, terminal = start()

    async def work() -> list[Decided | ClearwellError]:
        async with opened(settings) as clearwell:
            if len(wanted) == 1:
                return [await clearwell.review.decide(group, wanted[0], by=person())]
            return await clearwell.review.decide_many(group, wanted, by=person())

    results = run(work())
    if as_json:
        terminal.json({"results": [_result_json(one, terminal) for one in results]})
    else:
        for one, result in zip(wanted, results, strict=True):
            _tell(one, result, terminal)
    if any(isinstance(one, ClearwellError) for one in results):
        raise typer.Exit(1)


def _result_json(one: Decided | ClearwellError, terminal: Terminal) -> Json:
    if isinstance(one, ClearwellError):
        return {"problem": one.code, "detail": one.text(terminal.language)}
    return one.to_json()


def _tell(wanted: Wanted, result: Decided | ClearwellError, terminal: Terminal) -> None:
    if isinstance(result, ClearwellError):
        terminal.fail(result.text(terminal.language))
        return
    until = "–"
    if result.insight is not None and result.insight.snoozed_until is not None:
        until = terminal.moment(result.insight.snoozed_until)
    version = "–" if result.insight is None else result.insight.version
    undone = "–" if result.undone is None else terminal.words(f"cli_action_{result.undone}")
    code = f"cli_decided_{result.status}_already" if result.already else f"cli_decided_{result.status}"
    terminal.tell(code, style="green", insight=wanted.id, id=result.id, version=version, until=until, undone=undone)
