"""A digest and its insights, for people and for programs. Everything that an agent wrote is shown escaped."""

from clearwell.adapters.cli.printing import Terminal, shortened
from clearwell.adapters.cli.verdicts import flag_names, flags_json, verdict_json
from clearwell.records import Contradiction, Digest, DigestStatus, Insight, InsightSource, Json
from clearwell.text.hidden_text import escaped

SOURCES_SHOWN = 6
CONTRADICTIONS_SHOWN = 5
SOURCE_WIDTH = 160
CITED_WIDTH = 60


def show_digest(digest: Digest, terminal: Terminal) -> None:
    status = terminal.words(f"digest_status_{digest.status}", percent=round(100 * digest.progress))
    terminal.tell("cli_digest_title", id=digest.id, group=escaped(digest.group_id), status=status, style="bold")
    note = digest.explanation(terminal.language)
    if note is not None:
        terminal.line(escaped(note), "red" if digest.status is DigestStatus.FAILED else "")
    for number, insight in enumerate(digest.insights, start=1):
        terminal.line()
        show_insight(number, insight, terminal)


def show_insight(number: int, insight: Insight, terminal: Terminal) -> None:
    support = insight.support
    terminal.tell(
        "cli_insight_title",
        number=number,
        state=terminal.words(f"state_{insight.state}"),
        writer=terminal.words(f"written_{insight.written_by}"),
        agents=support.agents,
        sessions=support.sessions,
        days=support.days,
        style="bold",
    )
    terminal.block(escaped(insight.summary), indent=4)
    show_citations(insight, terminal)
    terminal.line(f"    {insight.id}")
    if insight.flags:
        terminal.line(f"    ! {flag_names(insight.flags, terminal)}", "yellow")
    for note in insight.notes:
        terminal.line(f"    ! {escaped(note.text(terminal.language))}", "yellow")
    for one in insight.contradictions[:CONTRADICTIONS_SHOWN]:
        _show_contradiction(one, terminal)
    if len(insight.contradictions) > CONTRADICTIONS_SHOWN:
        _show_more(len(insight.contradictions) - CONTRADICTIONS_SHOWN, terminal)
    _show_sources(insight, terminal)


def show_citations(insight: Insight, terminal: Terminal) -> None:
    """Which sources each sentence cites, by their numbers below."""
    numbers = {source.log_id: number for number, source in enumerate(insight.sources, start=1)}
    for one in insight.cited:
        cited = terminal.listed(str(numbers[each]) for each in one.sources if each in numbers)
        if cited:
            text = shortened(escaped(one.text), CITED_WIDTH)
            terminal.line(f"    {terminal.words('cli_insight_cites', text=text, sources=cited)}", "dim")


def show_statement(source: InsightSource, terminal: Terminal, *, indent: int) -> None:
    if source.statement is not None:
        said = terminal.words("cli_source_statement", text=escaped(source.statement))
        terminal.block(said, indent=indent)


def _show_contradiction(one: Contradiction, terminal: Terminal) -> None:
    where = terminal.words(f"layer_{one.layer}")
    why = escaped(one.explanation(terminal.language))
    terminal.line(f"    ✗ {terminal.words('cli_contradiction', of=one.of, against=one.against, where=where)}", "red")
    terminal.block(why, indent=6)


def _show_sources(insight: Insight, terminal: Terminal) -> None:
    terminal.line(f"    {terminal.words('cli_insight_sources', count=len(insight.sources))}")
    for number, source in enumerate(insight.sources[:SOURCES_SHOWN], start=1):
        facts = [
            escaped(source.agent_id or "–"),
            escaped(source.session_id or "–"),
            terminal.moment(source.occurred_at),
            terminal.words(f"admission_{source.admission}"),
        ]
        if source.confidence is not None:
            facts.append(terminal.words("cli_source_confidence", value=f"{source.confidence:g}"))
        terminal.line(f"{f'{number}.':>8} {' · '.join(facts)}")
        terminal.line(f"         {source.log_id}")
        if source.flags:
            terminal.line(f"         ! {flag_names(source.flags, terminal)}", "yellow")
        terminal.block(shortened(escaped(source.content), SOURCE_WIDTH), indent=9)
        show_statement(source, terminal, indent=9)
    if len(insight.sources) > SOURCES_SHOWN:
        _show_more(len(insight.sources) - SOURCES_SHOWN, terminal)


def _show_more(count: int, terminal: Terminal) -> None:
    terminal.line(f"      {terminal.words('cli_insight_more', count=count)}")


def digest_json(digest: Digest, terminal: Terminal, *, insights: bool = True) -> Json:
    shown: dict[str, Json] = {
        "id": str(digest.id),
        "group_id": digest.group_id,
        "status": digest.status.value,
        "progress": round(digest.progress, 4),
        "note": digest.explanation(terminal.language),
        "note_code": digest.note,
        "requested_by": digest.requested_by,
        "due_at": None if digest.due_at is None else digest.due_at.isoformat(),
        "created_at": digest.created_at.isoformat(),
        "started_at": None if digest.started_at is None else digest.started_at.isoformat(),
        "finished_at": None if digest.finished_at is None else digest.finished_at.isoformat(),
        "attempts": digest.attempts,
        "report": dict(digest.report),
    }
    if insights and digest.status is DigestStatus.DONE:
        shown["insights"] = [insight_json(one, terminal) for one in digest.insights]
    return shown


def insight_json(insight: Insight, terminal: Terminal) -> Json:
    support = insight.support
    return {
        "id": str(insight.id),
        "version": insight.version,
        "state": insight.state.value,
        "summary": insight.summary,
        "summary_shown": escaped(insight.summary),
        "written_by": insight.written_by.value,
        "sentences": [{"text": one.text, "sources": [*map(str, one.sources)]} for one in insight.sentences],
        "sources": [_source_json(one, terminal) for one in insight.sources],
        "contradictions": [
            {
                "of": str(one.of),
                "with": str(one.against),
                "layer": one.layer.value,
                "why": one.explanation(terminal.language),
            }
            for one in insight.contradictions
        ],
        "flags": flags_json(insight.flags, terminal),
        "support": {
            "agents": support.agents,
            "sessions": support.sessions,
            "days": support.days,
            "rows": support.rows,
        },
        "score": insight.score,
        "notes": [{"code": one.code, "text": one.text(terminal.language)} for one in insight.notes],
    }


def _source_json(source: InsightSource, terminal: Terminal) -> Json:
    return {
        "log_id": str(source.log_id),
        "agent_id": source.agent_id,
        "session_id": source.session_id,
        "node_id": source.node_id,
        "node_type": source.node_type,
        "occurred_at": source.occurred_at.isoformat(),
        "confidence": source.confidence,
        "admission": source.admission.value,
        "content": source.content,
        "content_shown": escaped(source.content),
        "cut": source.cut,
        "flags": flags_json(source.flags, terminal),
        "statement": source.statement,
        "verdicts": [verdict_json(one, terminal) for one in source.verdicts],
    }
