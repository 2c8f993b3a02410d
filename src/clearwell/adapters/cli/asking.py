"""``query``: both visible tiers from the command line."""

import json
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

import typer

from clearwell.adapters.cli.given import Agent, Words, given_text, moment
from clearwell.adapters.cli.printing import Terminal
from clearwell.adapters.cli.running import AsJson, Group, UsageProblem, ask, person, start
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.records import ContextItem, Explanation, Json, Retrieval


def query(
    group: Group,
    text: Words = None,
    max_results: Annotated[int | None, typer.Option("--max-results", min=1, help="Items in the answer.")] = None,
    hot_limit: Annotated[int | None, typer.Option("--hot-limit", min=0, help="Unverified items at most.")] = None,
    cold_limit: Annotated[int | None, typer.Option("--cold-limit", min=0, help="Verified items at most.")] = None,
    relevance: Annotated[
        float | None, typer.Option("--relevance", min=0, max=1, help="Leave out verified items below this.")
    ] = None,
    agent: Agent = None,
    session: Annotated[str | None, typer.Option("--session", help="Only what belongs to this session.")] = None,
    source: Annotated[list[str] | None, typer.Option("--source", help="hot or cold; both if left out.")] = None,
    days: Annotated[float | None, typer.Option("--days", help="Only what was said in the last so many days.")] = None,
    since: Annotated[str | None, typer.Option("--from", help="Only what was said at this time or later.")] = None,
    until: Annotated[str | None, typer.Option("--to", help="Only what was said before this time.")] = None,
    as_of: Annotated[str | None, typer.Option("--as-of", help="What was verified at this time.")] = None,
    filters: Annotated[
        str | None, typer.Option("--filters", help='Conditions on metadata: \'{"source": "minutes"}\'.')
    ] = None,
    max_chars: Annotated[int | None, typer.Option("--max-chars", min=0, help="Cut longer items; 0: never.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show what each score was made of.")] = False,
    as_json: AsJson = False,
) -> None:
    """Ask working and long-term memory together."""
    settings, terminal = start()
    asked = given_text(text, settings)
    options = RetrieveOptions(
        max_results=max_results,
        hot_limit=hot_limit,
        cold_limit=cold_limit,
        relevance_threshold=relevance,
        agent_id=agent,
        session_id=session,
        sources=source or None,
        time_range_days=days,
        since=moment(since, "--from"),
        until=moment(until, "--to"),
        as_of=moment(as_of, "--as-of"),
        filters=given_filters(filters),
        max_chars=max_chars,
        explain=explain,
    )
    found = ask(settings, lambda clearwell: clearwell.memory.retrieve(asked, group, by=person(), options=options))
    if as_json:
        results: list[Json] = [item_json(item, terminal) for item in found.items]
        sources: list[Json] = [source.value for source in found.sources]
        terminal.json({"results": results, "degraded": list(found.degraded), "sources": sources})
    else:
        if as_of is not None and len(found.sources) == 1:
            terminal.tell("cli_as_of")
        show_items(found, group, terminal)


def given_filters(text: str | None) -> Any:
    """The conditions as they were typed; what they say is checked with the other options."""
    try:
        return None if text is None else json.loads(text)
    except ValueError as error:
        raise UsageProblem("cli_metadata_not_json", field="--filters", reason=error) from error


# what is shown


def show_items(found: Retrieval, group: str, terminal: Terminal) -> None:
    for part in found.degraded:
        if part == "embedder":
            terminal.warn("cli_degraded_embedder")
        else:
            terminal.warn("cli_degraded", part=terminal.name(f"part_{part}", part))
    if not found.items:
        terminal.tell("cli_query_empty", group=group)
    for number, item in enumerate(found.items, start=1):
        facts = terminal.words(
            "cli_item_facts", score=f"{item.score:.2f}", relevance=_figure(item.relevance), age=age(item, terminal)
        )
        terminal.line(f"{number:>2}. {terminal.words(f'label_{item.label}')}  {facts}", "bold")
        terminal.block(item.content, indent=4)
        if item.cut:
            terminal.block(terminal.words("cli_item_cut"), indent=4)
        if item.explanation is not None:
            terminal.block(explained(item.explanation, terminal), indent=4)


def explained(one: Explanation, terminal: Terminal) -> str:
    read = {"cosine": _figure(one.cosine), "words": _figure(one.words)}
    if one.parts is None:
        return terminal.words("cli_item_hot_parts", **read)
    parts = {name: _figure(value) for name, value in asdict(one.parts).items()}
    return terminal.words("cli_item_parts", rank=_figure(one.rank), **read, **parts)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def age(item: ContextItem, terminal: Terminal) -> str:
    return terminal.age(item.promoted_at or item.created_at)


def item_json(item: ContextItem, terminal: Terminal) -> Json:
    def shown(value: datetime | None) -> str | None:
        return None if value is None else value.isoformat()

    return {
        "content": item.content,
        "source": item.source.value,
        "score": item.score,
        "relevance": item.relevance,
        "id": str(item.id),
        "layer": item.layer.value,
        "label": item.label.value,
        "label_text": terminal.words(f"label_{item.label}"),
        "verified": item.verified,
        "scope": item.scope.value,
        "session_id": item.session_id,
        "agent_id": item.agent_id,
        "author": item.author,
        "occurred_at": shown(item.occurred_at),
        "expires_at": shown(item.expires_at),
        "promoted_at": shown(item.promoted_at),
        "chunk_no": item.chunk_no,
        "flags": list(item.flags),
        "metadata": dict(item.metadata),
        "cut": item.cut,
        "explanation": None if item.explanation is None else asdict(item.explanation),
    }
