"""``factcheck``: rate a claim by what memory says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from clearwell.adapters.cli.arguments import Agent, Words, read_text
from clearwell.adapters.cli.command import AsJson, Group, ask, start
from clearwell.adapters.cli.memory import warn_degraded
from clearwell.text.short_ids import shorten_id
from clearwell.vocabulary import ClaimRating

if TYPE_CHECKING:
    from clearwell.adapters.cli.terminal import Terminal
    from clearwell.client.routes import FactCheckFields
    from clearwell.views.factcheck import CitationView, ClaimCheckView

STYLES = {ClaimRating.SUPPORTED: "green", ClaimRating.CONTRADICTED: "red", ClaimRating.UNKNOWN: "yellow"}


def factcheck(
    group: Group,
    text: Words = None,
    session: Annotated[
        str | None,
        typer.Option("--session", help="The session that the claim comes from; what it said itself is no support."),
    ] = None,
    agent: Agent = None,
    max_results: Annotated[
        int | None, typer.Option("--max-results", min=1, help="The largest number of memories to compare a claim with.")
    ] = None,
    days: Annotated[float | None, typer.Option("--days", help="Only what was said in the last DAYS days.")] = None,
    as_json: AsJson = False,
) -> None:
    """Rate a claim, or each statement of a text, by what memory says."""
    settings, terminal = start()
    claim = read_text(text, settings)
    fields: FactCheckFields = {
        "session_id": session,
        "agent_id": agent,
        "max_results": max_results,
        "time_range_days": days,
    }
    check = ask(settings, terminal, lambda client: client.fact_check(group, claim, **fields))
    if as_json:
        terminal.answer(check)
        return
    for part in check.degraded:
        warn_degraded(part, terminal)
    for checked in check.claims:
        _show_claim(checked, terminal)
    terminal.tell(f"fact_check_method_{check.method}", style="dim", model=check.model)
    if check.left_out:
        terminal.warn("cli_fact_check_left_out", count=check.left_out)


def _show_claim(check: ClaimCheckView, terminal: Terminal) -> None:
    rating = terminal.words(f"rating_{check.rating}")
    terminal.line(terminal.format_pair(rating, check.claim), style=STYLES[check.rating])
    terminal.block(check.reason_text, indent=2)
    if check.explanation:
        terminal.block(check.explanation, indent=2)
    for citation in check.citations:
        _show_citation(citation, terminal)


def _show_citation(citation: CitationView, terminal: Terminal) -> None:
    label, stance = terminal.words(f"label_{citation.label}"), terminal.words(f"stance_{citation.stance}")
    terminal.block(
        f"{label} · {stance} · {terminal.moment(citation.said_at)} · {shorten_id(citation.memory_id)}", indent=2
    )
    if citation.sentence:
        terminal.block(citation.sentence, indent=4)
    if citation.reason_text:
        terminal.block(citation.reason_text, indent=4)
