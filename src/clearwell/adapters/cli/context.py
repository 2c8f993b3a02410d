"""``context``: what an agent would be told, as text or as messages, with a report of what it is made of."""

from typing import Annotated

import typer

from clearwell.adapters.cli.given import Agent, given_text
from clearwell.adapters.cli.printing import Terminal
from clearwell.adapters.cli.running import AsJson, Group, ask, person, start
from clearwell.flow.context.builder import ContextRequest
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.records import BuiltContext, Fate, ItemReport, Json, SectionReport


def context(
    group: Group,
    proposal: Annotated[
        str | None, typer.Option("--proposal", "-p", help="What the agent is to speak about; - or nothing: stdin.")
    ] = None,
    agent: Agent = None,
    query: Annotated[str | None, typer.Option("--query", help="What to look for; the proposal if left out.")] = None,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", help="The budget; 4000 if left out.")] = None,
    max_results: Annotated[int | None, typer.Option("--max-results", min=1, help="Items of group memory.")] = None,
    relevance: Annotated[
        float | None, typer.Option("--relevance", min=0, max=1, help="Leave out verified items below this.")
    ] = None,
    days: Annotated[float | None, typer.Option("--days", help="Only what was said in the last so many days.")] = None,
    report: Annotated[bool, typer.Option("--report", help="Show what was included, cut and left out.")] = False,
    as_json: AsJson = False,
) -> None:
    """Build the context of an agent: prompts, memories in fences, the proposal."""
    settings, terminal = start()
    options = RetrieveOptions(
        agent_id=agent, max_results=max_results, relevance_threshold=relevance, time_range_days=days
    )
    request = ContextRequest(
        proposal=given_text(proposal, settings),
        query=query,
        max_tokens=max_tokens,
        language=terminal.language,
        options=options,
    )
    built = ask(settings, lambda clearwell: clearwell.memory.build_context(group, request, by=person()))
    if as_json:
        terminal.json(_json(built, terminal))
        return
    for part in built.degraded:
        terminal.warn("cli_degraded", part=terminal.name(f"part_{part}", part))
    if report:
        _show_report(built, terminal)
    else:
        terminal.line(built.text)
        _warn_of_cuts(built, terminal)


def _warn_of_cuts(built: BuiltContext, terminal: Terminal) -> None:
    short = [one for one in built.report.sections if one.fate in (Fate.CUT, Fate.LEFT_OUT)]
    if short:
        names = terminal.listed(terminal.words(f"context_{one.section}") for one in short)
        terminal.warn("cli_context_cut", sections=names, tokens=built.report.tokens, max_tokens=built.report.max_tokens)


def _show_report(built: BuiltContext, terminal: Terminal) -> None:
    terminal.tell("cli_context_tokens", tokens=built.report.tokens, max_tokens=built.report.max_tokens, style="bold")
    rows = []
    for section in built.report.sections:
        rows.append([terminal.words(f"context_{section.section}"), *_cells(section, terminal)])
        rows += [[f"  {item.id}", *_cells(item, terminal)] for item in section.items]
    terminal.table(["cli_head_part", "cli_head_tokens", "cli_head_fate", "cli_head_reason"], rows)


def _cells(one: SectionReport | ItemReport, terminal: Terminal) -> list[str]:
    reason = "" if one.reason is None else terminal.words(one.reason)
    return [str(one.tokens), terminal.words(f"cli_fate_{one.fate}"), reason]


def _json(built: BuiltContext, terminal: Terminal) -> Json:
    sections: list[Json] = [
        {
            "section": one.section.value,
            **_fate(one, terminal),
            "items": [{"id": str(item.id), **_fate(item, terminal)} for item in one.items],
        }
        for one in built.report.sections
    ]
    return {
        "text": built.text,
        "messages": [{"role": one.role, "content": one.content} for one in built.messages],
        "report": {"max_tokens": built.report.max_tokens, "tokens": built.report.tokens, "sections": sections},
        "degraded": list(built.degraded),
    }


def _fate(one: SectionReport | ItemReport, terminal: Terminal) -> dict[str, Json]:
    said = None if one.reason is None else terminal.words(one.reason)
    return {"fate": one.fate.value, "tokens": one.tokens, "reason": one.reason, "reason_text": said}
