"""Shows an insight under review with everything that a reviewer needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from clearwell.adapters.cli.digests import show_citations, show_contradictions, show_sides, show_statement
from clearwell.adapters.cli.memory import warn_degraded
from clearwell.adapters.cli.terminal import Terminal, make_visible, shorten
from clearwell.adapters.cli.verdicts import explain_flag, name_check, name_flag, name_flags, name_outcome
from clearwell.text.hidden_text import escape_hidden
from clearwell.text.short_ids import shorten_id
from clearwell.vocabulary import InsightState, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearwell.views.dossiers import DossierView, NearbyMemoryView
    from clearwell.views.insights import InsightView, SourceView

LINE_WIDTH = 110
SHOWN_CHARS = 4000
COLORS = {
    InsightState.PENDING: "yellow",
    InsightState.SNOOZED: "yellow",
    InsightState.PROMOTING: "yellow",
    InsightState.PROMOTED: "green",
    InsightState.REJECTED: "red",
    InsightState.MERGED: "dim",
}
STYLES = {"equal": "", "insert": "green underline", "delete": "red strike"}
MARKS = {"equal": ("", ""), "insert": ("{+", "+}"), "delete": ("[-", "-]")}


def show_insights(insights: Sequence[InsightView], terminal: Terminal) -> None:
    for number, insight in enumerate(insights, start=1):
        state, facts = _name_state(insight, terminal), _describe(insight, terminal)
        title = f"{number:>2}. {shorten_id(insight.id)} · {state} · {facts}"
        terminal.line(title, _style(insight.state))
        if insight.flags:
            terminal.line(f"    ! {name_flags(insight.flags, terminal)}", "yellow")
        terminal.block(shorten(escape_hidden(_headline(insight)), LINE_WIDTH * 2), indent=4)
        show_sides(insight, terminal)


def _style(state: InsightState) -> str:
    return f"bold {COLORS[state]}" if state in COLORS else "bold"


def _name_state(insight: InsightView, terminal: Terminal) -> str:
    return terminal.words(f"state_{insight.state}").capitalize()


def _describe(insight: InsightView, terminal: Terminal) -> str:
    support = insight.support
    voices = terminal.words(
        "cli_review_support",
        rows=support.rows,
        agents=support.agents,
        sessions=support.sessions,
        days=support.days,
    )
    parts = [voices, terminal.words(f"written_{insight.written_by}"), terminal.age(insight.created_at)]
    if len(insight.sources) > support.rows:
        parts.insert(1, terminal.words("cli_review_uncounted", count=len(insight.sources) - support.rows))
    if opposed := _count_opposed(insight):
        parts.insert(1, terminal.words("cli_review_against", count=opposed))
    if support.has_more_names_than_keys:
        parts.insert(1, terminal.words("cli_review_keys", keys=support.keys))
    if insight.snoozed_until is not None:
        parts.append(terminal.words("cli_review_until", until=terminal.moment(insight.snoozed_until)))
    if insight.merged_into is not None:
        parts.append(terminal.words("cli_review_into", into=insight.merged_into))
    return " · ".join(parts)


def _headline(insight: InsightView) -> str:
    """What was promoted; before that the summary."""
    return insight.promoted_text or insight.summary


def _count_opposed(insight: InsightView) -> int:
    """The sources on another side than the headline. What is on no side, such as a fact check, opposes nothing."""
    shown = insight.promoted_side
    if shown is None:
        shown = next((number for number, side in enumerate(insight.sides) if side.statement == insight.summary), 0)
    return sum(source.side not in (None, shown) for source in insight.sources)


def show_dossier(dossier: DossierView, terminal: Terminal) -> None:
    title = terminal.words("cli_review_title", id=dossier.id, version=dossier.version)
    terminal.line(terminal.format_pair(_name_state(dossier, terminal), title), _style(dossier.state))
    terminal.line(f"  {_describe(dossier, terminal)}")
    if dossier.promotion is not None:
        state, problem = dossier.promotion.state, dossier.promotion.problem
        told = terminal.words(f"cli_promotion_{state}", id=dossier.promotion.memory_id)
        told += f" {problem}" if problem else ""
        terminal.line(f"  {told}", "green" if state == "verified" else "yellow")
    terminal.line()
    terminal.block(escape_hidden(_headline(dossier)[:SHOWN_CHARS]), indent=4)
    if dossier.promoted_text is None:
        _show_whole(dossier.summary, dossier.text, terminal)
    show_sides(dossier, terminal)
    show_citations(dossier, dossier.sentences, dossier.sources, terminal)
    for part in dossier.degraded:
        warn_degraded(part, terminal)
    _show_warnings(dossier, terminal)
    _show_sources(dossier, terminal)
    _show_nearby(dossier, terminal)
    _show_decisions(dossier, terminal)


def _show_whole(summary: str, text: str, terminal: Terminal) -> None:
    """Show what a promotion stores, if it is more than the headline."""
    if text and text != summary:
        terminal.line("  " + terminal.words("written_whole"))
        terminal.block(escape_hidden(text), indent=4)


def _show_warnings(dossier: DossierView, terminal: Terminal) -> None:
    if dossier.flags or dossier.rejected is not None or dossier.contradictions or dossier.notes:
        terminal.line()
    for flag in dossier.flags:
        terminal.line(f"  ! {terminal.format_pair(name_flag(flag, terminal), explain_flag(flag, terminal))}", "yellow")
    for note in dossier.notes:
        terminal.line(f"  ! {escape_hidden(note.text)}", "yellow")
    if dossier.rejected is not None:
        at, reason = terminal.moment(dossier.rejected.at), escape_hidden(dossier.rejected.reason)
        terminal.line(f"  ! {terminal.words('rejected_before', at=at, reason=reason)}", "red")
    show_contradictions(dossier.contradictions, dossier.sources, terminal, indent=2)


def _show_sources(dossier: DossierView, terminal: Terminal) -> None:
    terminal.line()
    terminal.tell("cli_review_sources", count=len(dossier.sources), style="bold")
    for number, source in enumerate(dossier.sources, start=1):
        terminal.line(f"{f'[{number}]':>5} {_describe_source(source, terminal)}", "bold")
        show_statement(source, terminal, indent=6, width=LINE_WIDTH * 3)
        told = [
            f"{name_check(verdict.check, terminal)} {name_outcome(verdict, terminal)}"
            for verdict in source.verdicts or ()
            if verdict.outcome is not Outcome.PASS
        ]
        if told:
            terminal.line(f"      {' · '.join(told)}", "yellow")


def _describe_source(source: SourceView, terminal: Terminal) -> str:
    stated = "–" if source.confidence is None else f"{source.confidence:g}"
    return " · ".join(
        [
            shorten_id(source.log_id),
            escape_hidden(source.agent_id or "–"),
            escape_hidden(source.session_id or "–"),
            escape_hidden(f"{source.node_id or '–'} ({source.node_type})"),
            terminal.moment(source.occurred_at),
            terminal.words("cli_review_confidence", value=stated),
            terminal.words(f"admission_{source.admission}"),
        ]
    )


def _show_nearby(dossier: DossierView, terminal: Terminal) -> None:
    if not dossier.nearby:
        return
    terminal.line()
    terminal.tell("cli_review_nearby", count=len(dossier.nearby), style="bold")
    for number, nearby in enumerate(dossier.nearby, start=1):
        name = terminal.words(f"relation_{nearby.relation}")
        terminal.line(f"{number:>4}. {shorten_id(nearby.id)} · {name} · {nearby.similarity:.2f}", "bold")
        if nearby.relation == "near":
            terminal.block(shorten(nearby.content_shown, LINE_WIDTH * 2), indent=6)
            continue
        terminal.block(escape_hidden(nearby.why), indent=6)
        terminal.styled_block(_mark_diff(nearby, colored=not terminal.out.no_color), indent=6)


def _mark_diff(nearby: NearbyMemoryView, *, colored: bool) -> Text:
    """Show the word diff from the memory to the insight, with signs if there are no colours."""
    text = Text()
    for piece in nearby.diff:
        before, after = ("", "") if colored else MARKS[piece.op]
        text.append(
            f"{before}{make_visible(escape_hidden(' '.join(piece.text.splitlines())))}{after}", STYLES[piece.op]
        )
    return text


def _show_decisions(dossier: DossierView, terminal: Terminal) -> None:
    if not dossier.decisions:
        return
    terminal.line()
    terminal.tell("cli_review_decisions", style="bold")
    headings = ["cli_head_when", "cli_head_action", "cli_head_made_by", "cli_head_reason"]
    rows = [
        [
            terminal.moment(decision.at),
            terminal.words(f"action_{decision.action}"),
            escape_hidden(decision.by_name),
            escape_hidden(decision.reason or "–"),
        ]
        for decision in dossier.decisions
    ]
    terminal.table(headings, rows)
