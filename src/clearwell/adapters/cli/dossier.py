"""An insight and all that stands beside it, for people and for programs."""

from collections.abc import Mapping, Sequence

from rich.padding import Padding
from rich.text import Text

from clearwell.adapters.cli.insights import show_citations, show_statement
from clearwell.adapters.cli.printing import Terminal, shortened, visible
from clearwell.adapters.cli.verdicts import check_name, flag_name, flag_names, flag_sentence, outcome, verdict_json
from clearwell.records import Dossier, Insight, InsightSource, InsightState, Json, NearbyMemory, Outcome
from clearwell.text.hidden_text import escaped

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


def show_insights(found: Sequence[Insight], terminal: Terminal) -> None:
    for number, one in enumerate(found, start=1):
        facts = _facts(one, terminal)
        terminal.line(
            f"{number:>2}. {terminal.words(f'state_{one.state}').capitalize()}  {facts}", f"bold {COLORS[one.state]}"
        )
        terminal.line(f"    {one.id}")
        if one.flags:
            terminal.line(f"    ! {flag_names(one.flags, terminal)}", "yellow")
        terminal.block(shortened(escaped(one.summary), LINE_WIDTH * 2), indent=4)


def _facts(one: Insight, terminal: Terminal) -> str:
    support = terminal.words(
        "cli_review_support",
        rows=one.support.rows,
        agents=one.support.agents,
        sessions=one.support.sessions,
        days=one.support.days,
    )
    parts = [support, terminal.words(f"written_{one.written_by}"), terminal.age(one.created_at)]
    if len(one.sources) > one.support.rows:
        parts.insert(1, terminal.words("cli_review_against", count=len(one.sources) - one.support.rows))
    if one.snoozed_until is not None:
        parts.append(terminal.words("cli_review_until", until=terminal.moment(one.snoozed_until)))
    if one.merged_into is not None:
        parts.append(terminal.words("cli_review_into", into=one.merged_into))
    return " · ".join(parts)


def show_dossier(one: Dossier, terminal: Terminal, names: Mapping[str, str]) -> None:
    insight = one.insight
    title = terminal.words("cli_review_title", id=insight.id, version=insight.version)
    state = terminal.words(f"state_{insight.state}").capitalize()
    terminal.line(terminal.named(state, title), f"bold {COLORS[insight.state]}")
    terminal.line(f"  {_facts(insight, terminal)}")
    if one.promotion is not None:
        state, problem = one.promotion.state, one.promotion.explanation(terminal.language)
        told = terminal.words(f"cli_promotion_{state}", id=one.promotion.promotion.memory_id)
        told += f" {problem}" if problem else ""
        terminal.line(f"  {told}", "green" if state == "verified" else "yellow")
    terminal.line()
    terminal.block(escaped(insight.summary[:SHOWN_CHARS]), indent=4)
    show_citations(insight, terminal)
    for part in one.degraded:
        terminal.warn("cli_degraded", part=terminal.name(f"part_{part}", part))
    _show_warnings(one, terminal)
    _show_sources(one, terminal)
    _show_beside(one, terminal)
    _show_decisions(one, terminal, names)


def _show_warnings(one: Dossier, terminal: Terminal) -> None:
    if one.flags or one.rejected is not None or one.insight.contradictions or one.insight.notes:
        terminal.line()
    for flag in one.flags:
        terminal.line(f"  ! {terminal.named(flag_name(flag, terminal), flag_sentence(flag, terminal))}", "yellow")
    for note in one.insight.notes:
        terminal.line(f"  ! {escaped(note.text(terminal.language))}", "yellow")
    if one.rejected is not None:
        at, reason = terminal.moment(one.rejected.at), escaped(one.rejected.reason)
        terminal.line(f"  ! {terminal.words('rejected_before', at=at, reason=reason)}", "red")
    for each in one.insight.contradictions:
        terminal.line(f"  ! {escaped(each.explanation(terminal.language))} ({each.of} / {each.against})", "yellow")


def _show_sources(one: Dossier, terminal: Terminal) -> None:
    terminal.line()
    terminal.tell("cli_review_sources", count=len(one.insight.sources), style="bold")
    for number, source in enumerate(one.insight.sources, start=1):
        terminal.line(f"{number:>4}. {_source_facts(source, terminal)}", "bold")
        terminal.line(f"      {source.log_id}")
        terminal.block(shortened(escaped(source.content), LINE_WIDTH * 3), indent=6)
        show_statement(source, terminal, indent=6)
        told = [
            f"{check_name(verdict.check, terminal)} {outcome(verdict, terminal)}"
            for verdict in one.verdicts.get(source.log_id, ())
            if verdict.outcome is not Outcome.PASS
        ]
        if told:
            terminal.line(f"      {' · '.join(told)}", "yellow")


def _source_facts(source: InsightSource, terminal: Terminal) -> str:
    stated = "–" if source.confidence is None else f"{source.confidence:g}"
    return " · ".join(
        [
            escaped(source.agent_id or "–"),
            escaped(source.session_id or "–"),
            escaped(f"{source.node_id or '–'} ({source.node_type})"),
            terminal.moment(source.occurred_at),
            terminal.words("cli_review_confidence", value=stated),
            terminal.words(f"admission_{source.admission}"),
        ]
    )


def _show_beside(one: Dossier, terminal: Terminal) -> None:
    if not one.nearby:
        return
    terminal.line()
    terminal.tell("cli_review_beside", count=len(one.nearby), style="bold")
    for number, each in enumerate(one.nearby, start=1):
        name = terminal.words(f"relation_{each.relation}")
        terminal.line(f"{number:>4}. {name} · {each.similarity:.2f} · {each.memory.id}", "bold")
        if each.relation == "near":
            terminal.block(shortened(escaped(each.memory.content), LINE_WIDTH * 2), indent=6)
            continue
        terminal.block(escaped(each.explanation(terminal.language)), indent=6)
        terminal.out.print(Padding(_diffed(each, colored=not terminal.out.no_color), (0, 0, 0, 6), expand=False))


def _diffed(one: NearbyMemory, *, colored: bool) -> Text:
    """The memory's words on the way to the insight's; marked by signs where there are no colours."""
    text = Text()
    for piece in one.diff:
        before, after = ("", "") if colored else MARKS[piece.op]
        text.append(f"{before}{visible(escaped(' '.join(piece.text.splitlines())))}{after}", STYLES[piece.op])
    return text


def _show_decisions(one: Dossier, terminal: Terminal, names: Mapping[str, str]) -> None:
    if not one.decisions:
        return
    terminal.line()
    terminal.tell("cli_review_decisions", style="bold")
    headings = ["cli_head_when", "cli_head_action", "cli_head_made_by", "cli_head_reason"]
    terminal.table(
        headings,
        [
            [
                terminal.moment(each.at),
                terminal.words(f"action_{each.action}"),
                escaped(names.get(each.by, each.by)),
                escaped(each.reason or "–"),
            ]
            for each in one.decisions
        ],
    )


def insight_json(one: Insight, terminal: Terminal) -> dict[str, Json]:
    return {
        "id": str(one.id),
        "group_id": one.group_id,
        "digest_id": str(one.digest_id),
        "version": one.version,
        "state": one.state.value,
        "summary": one.summary,
        "summary_shown": escaped(one.summary),
        "written_by": one.written_by.value,
        "sentences": [{"text": each.text, "sources": [*map(str, each.sources)]} for each in one.cited],
        "notes": [{"code": each.code, "text": each.text(terminal.language)} for each in one.notes],
        "flags": list(one.flags),
        "score": one.score,
        "created_at": one.created_at.isoformat(),
        "snoozed_until": None if one.snoozed_until is None else one.snoozed_until.isoformat(),
        "merged_into": None if one.merged_into is None else str(one.merged_into),
        "contradictions": [
            {"of": str(each.of), "with": str(each.against), "why": each.explanation(terminal.language)}
            for each in one.contradictions
        ],
        "sources": [_source_json(source) for source in one.sources],
    }


def _source_json(source: InsightSource) -> dict[str, Json]:
    return {
        "log_id": str(source.log_id),
        "agent_id": source.agent_id,
        "session_id": source.session_id,
        "node_id": source.node_id,
        "node_type": source.node_type,
        "occurred_at": source.occurred_at.isoformat(),
        "confidence": source.confidence,
        "admission": source.admission.value,
        "flags": list(source.flags),
        "content": source.content,
        "content_shown": escaped(source.content),
        "statement": source.statement,
    }


def dossier_json(one: Dossier, terminal: Terminal) -> Json:
    verdicts: dict[str, Json] = {
        str(log_id): [verdict_json(verdict, terminal) for verdict in given] for log_id, given in one.verdicts.items()
    }
    return {
        **insight_json(one.insight, terminal),
        "flags": list(one.flags),
        "verdicts": verdicts,
        "beside": [
            {
                "id": str(each.memory.id),
                "content": each.memory.content,
                "relation": each.relation,
                "similarity": each.similarity,
                "why": each.explanation(terminal.language),
                "diff": [{"op": piece.op, "text": piece.text} for piece in each.diff],
            }
            for each in one.nearby
        ],
        "rejected": None if one.rejected is None else {"reason": one.rejected.reason, "at": str(one.rejected.at)},
        "decisions": [
            {"id": str(each.id), "action": each.action.value, "by": each.by, "at": each.at.isoformat()}
            for each in one.decisions
        ],
        "promotion": None
        if one.promotion is None
        else {
            "memory_id": str(one.promotion.promotion.memory_id),
            "state": one.promotion.state,
            "problem": one.promotion.explanation(terminal.language),
            "problem_code": one.promotion.problem,
        },
        "degraded": list(one.degraded),
    }
