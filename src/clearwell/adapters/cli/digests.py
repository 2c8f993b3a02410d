"""``digest run``, ``digest show`` and ``digest list``: what a group's quarantine says together.

Everything that an agent wrote is shown escaped.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from clearwell.adapters.cli.command import AsJson, Group, UsageProblem, ask, program, run, start
from clearwell.adapters.cli.ids import parse_whole, read_id
from clearwell.adapters.cli.terminal import Terminal, make_visible, shorten
from clearwell.adapters.cli.verdicts import name_flags
from clearwell.text.hidden_text import escape_hidden
from clearwell.text.short_ids import shorten_id
from clearwell.vocabulary import DigestStatus, IdKind, Layer, Writer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from rich.progress import Progress, ProgressColumn

    from clearwell.client.routes import ApiClient
    from clearwell.settings import Settings
    from clearwell.views.digests import DigestPageView, DigestSummaryView, DigestView
    from clearwell.views.insights import ContradictionView, DigestInsightView, InsightHeadView, SentenceView, SourceView

digests = typer.Typer(help="Create digests and show their insights.", rich_markup_mode=None)

LOOK_SECONDS = 0.1
PAGE = 200
STEPS = 1000
BAR_WIDTH = 20
SOURCES_SHOWN = 6
CONTRADICTIONS_SHOWN = 5
SOURCE_WIDTH = 240
CITED_WIDTH = 60


@digests.command(name="run")
def run_now(group: Group, as_json: AsJson = False) -> None:
    """Create a digest now and show its insights."""
    settings, terminal = start()
    made = run(_make(settings, terminal, group))
    if as_json:
        terminal.answer(made)
    else:
        show_digest(made, terminal)
    if made.status is DigestStatus.FAILED:
        raise typer.Exit(1)


@digests.command()
def show(
    digest_id: Annotated[str, typer.Argument(metavar="ID", help="The ID that `digest list` shows.")],
    group: Annotated[
        str | None, typer.Option("--group", "-g", help="The group (group_id); not needed with a whole ID.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the state of a digest, and its insights with their sources."""
    settings, terminal = start()
    wanted = read_id(digest_id, IdKind.DIGEST, group=group or "")
    if group is None and parse_whole(digest_id) is None:
        raise UsageProblem("cli_digest_group", field="--group", id=digest_id)

    async def read(client: ApiClient) -> DigestView:
        return await client.review.digest(await wanted.find(client), group_id=group)

    found = ask(settings, terminal, read)
    if as_json:
        terminal.answer(found)
    else:
        show_digest(found, terminal)


@digests.command(name="list")
def show_all(
    group: Group,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="The largest number to show.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the digests of a group, newest first."""
    settings, terminal = start()
    found = ask(settings, terminal, lambda client: _list(client, group, limit))
    if as_json:
        terminal.answer(found)
    elif not found.digests:
        terminal.tell("cli_digest_none", group=group, program=program())
    else:
        headings = ["cli_head_id", "cli_head_state", "cli_head_created", "cli_head_made_by", "cli_digest_head_note"]
        terminal.table(headings, [_row(digest, terminal) for digest in found.digests])


async def _list(client: ApiClient, group: str, limit: int) -> DigestPageView:
    """Fetch as many pages as needed and return them as one."""
    page = await client.review.digests(group, limit=min(limit, PAGE))
    while page.next is not None and len(page.digests) < limit:
        more = await client.review.digests(group, limit=min(limit - len(page.digests), PAGE), before=page.next)
        page = more.model_copy(update={"digests": (*page.digests, *more.digests)})
    return page


def _row(digest: DigestSummaryView, terminal: Terminal) -> list[str]:
    note = escape_hidden(digest.note or "–")
    made_by = escape_hidden(digest.requested_by)
    return [shorten_id(digest.id), _name_status(digest, terminal), terminal.moment(digest.created_at), made_by, note]


def _name_status(digest: DigestSummaryView, terminal: Terminal) -> str:
    return terminal.words(f"digest_status_{digest.status}", percent=round(100 * digest.progress))


# making one


async def _make(settings: Settings, terminal: Terminal, group: str) -> DigestView:
    """Wait until the digest has ended, here or in another process, and show its progress."""
    import asyncio

    from clearwell.adapters.cli.connection import connect
    from clearwell.adapters.cli.known_groups import require_group

    async with connect(settings, terminal, digests=True) as connection:
        await require_group(connection.client, group, terminal)
        requested = await connection.client.review.request_digest(group)
        warned: str | None = None
        with _bar(terminal) as bar:
            task = None if bar is None else bar.add_task("", total=STEPS)
            while True:
                digest = await connection.client.review.digest(requested.id, group_id=group)
                if digest.status in (DigestStatus.DONE, DigestStatus.FAILED):
                    return digest
                note = make_visible(escape_hidden(digest.note or terminal.words("cli_digest_waits")))
                if bar is not None and task is not None:
                    beside = fit_beside_bar(note, terminal.err.width)
                    bar.update(task, completed=round(STEPS * digest.progress), description=beside)
                if digest.note_code == "digest_put_off" and note != warned:
                    warned = note
                    terminal.warn("cli_digest_put_off", note=note)
                await asyncio.sleep(LOOK_SECONDS)


def _bar(terminal: Terminal) -> AbstractContextManager[Progress | None]:
    """A progress bar on stderr, so that the result can be piped; only if that is a terminal."""
    if not terminal.err.is_terminal:
        return nullcontext()
    from rich.progress import Progress

    return Progress(*bar_columns(), console=terminal.err, transient=True)


def bar_columns() -> tuple[ProgressColumn, ...]:
    """The note may quote an agent, so it is not read as markup."""
    from rich.progress import BarColumn, TextColumn
    from rich.table import Column

    return (
        BarColumn(bar_width=BAR_WIDTH, table_column=Column(min_width=BAR_WIDTH, no_wrap=True)),
        TextColumn("{task.percentage:>3.0f}%", markup=False, table_column=Column(min_width=4, no_wrap=True)),
        TextColumn("{task.description}", markup=False),
    )


def fit_beside_bar(note: str, width: int) -> str:
    """Shorten a note so that it fits next to the progress bar in a terminal of this width."""
    return shorten(note, max(width - BAR_WIDTH - len(" 100%  "), 1))


# showing one


def show_digest(digest: DigestView, terminal: Terminal) -> None:
    status, group = _name_status(digest, terminal), escape_hidden(digest.group_id)
    terminal.tell("cli_digest_title", id=digest.id, group=group, status=status, style="bold")
    if digest.note is not None:
        terminal.line(escape_hidden(digest.note), "red" if digest.status is DigestStatus.FAILED else "")
    for number, insight in enumerate(digest.insights or (), start=1):
        terminal.line()
        show_insight(number, insight, terminal)


def show_insight(number: int, insight: DigestInsightView, terminal: Terminal) -> None:
    support = insight.support
    terminal.tell(
        "cli_insight_title",
        number=number,
        id=insight.id,
        state=terminal.words(f"state_{insight.state}"),
        writer=terminal.words(f"written_{insight.written_by}"),
        agents=support.agents,
        sessions=support.sessions,
        days=support.days,
        style="bold",
    )
    terminal.block(insight.summary_shown, indent=4)
    show_sides(insight, terminal)
    show_citations(insight, insight.sentences, insight.sources, terminal)
    if insight.flags:
        terminal.line(f"    ! {name_flags(insight.flags, terminal)}", "yellow")
    for note in insight.notes:
        terminal.line(f"    ! {escape_hidden(note.text)}", "yellow")
    show_contradictions(insight.contradictions, insight.sources, terminal, indent=4)
    _show_sources(insight, terminal)


def show_citations(
    insight: InsightHeadView, sentences: tuple[SentenceView, ...], sources: tuple[SourceView, ...], terminal: Terminal
) -> None:
    """Show which sources each sentence of a model cites. A person may have rewritten a sentence since then."""
    if insight.written_by is Writer.EXTRACTIVE:
        return
    numbers = {source.log_id: number for number, source in enumerate(sources, start=1)}
    for sentence in sentences:
        cited = terminal.join_names(str(numbers[source]) for source in sentence.sources if source in numbers)
        if cited and sentence.text in insight.summary:
            text = shorten(escape_hidden(sentence.text), CITED_WIDTH)
            terminal.line(f"    {terminal.words('cli_insight_cites', text=text, sources=cited)}", "dim")


def show_sides(insight: InsightHeadView, terminal: Terminal) -> None:
    """What there is to choose between, by the numbers that ``review promote --side`` takes."""
    for number, side in enumerate(insight.sides, start=1):
        told = terminal.words(
            "cli_review_side",
            side=number,
            statement=make_visible(escape_hidden(side.text) or side.statement_shown),
            agents=side.support.agents,
            sources=len(side.sources),
        )
        if number - 1 == insight.promoted_side:
            told += f" · {terminal.words('state_promoted')}"
        terminal.block(told, indent=6)


def show_statement(source: SourceView, terminal: Terminal, *, indent: int, width: int) -> None:
    """What an insight quotes from a source, with the number of its side."""
    shown = _quote(source)
    if source.side is not None:
        shown = terminal.words("cli_source_side", side=source.side + 1, text=shown)
    terminal.block(shorten(shown, width), indent=indent)


def show_contradictions(
    contradictions: Sequence[ContradictionView], sources: Sequence[SourceView], terminal: Terminal, *, indent: int
) -> None:
    """What each side of a contradiction says, by the number of its source, and how they differ."""
    if not contradictions:
        return
    terminal.line(" " * indent + terminal.words("cli_contradictions", count=len(contradictions)), "red")
    numbered = {source.log_id: (number, source) for number, source in enumerate(sources, start=1)}
    for contradiction in contradictions[:CONTRADICTIONS_SHOWN]:
        first = _tell_side(contradiction.of, contradiction.layer, numbered, terminal)
        second = _tell_side(contradiction.against, contradiction.layer, numbered, terminal)
        terminal.block(f"✗ {first}", "red", indent=indent)
        terminal.block(second, "red", indent=indent + 2)
        terminal.block(escape_hidden(contradiction.why), indent=indent + 2)
    if len(contradictions) > CONTRADICTIONS_SHOWN:
        _show_more(len(contradictions) - CONTRADICTIONS_SHOWN, terminal)


def _tell_side(one: UUID, layer: Layer, numbered: Mapping[UUID, tuple[int, SourceView]], terminal: Terminal) -> str:
    """What a source of the insight says. Of others only the id is known."""
    if one not in numbered:
        return terminal.words(f"cli_says_{'memory' if layer is Layer.LONGTERM else 'output'}", id=one)
    number, source = numbered[one]
    text = shorten(_quote(source), SOURCE_WIDTH)
    return terminal.words("cli_says_source", number=number, text=text)


def _quote(source: SourceView) -> str:
    """The statement that an insight rests on; the whole output if there is none."""
    return source.content_shown if source.statement is None else escape_hidden(" ".join(source.statement.split()))


def _show_sources(insight: DigestInsightView, terminal: Terminal) -> None:
    terminal.line(f"    {terminal.words('cli_insight_sources', count=len(insight.sources))}")
    for number, source in enumerate(insight.sources[:SOURCES_SHOWN], start=1):
        facts = [
            shorten_id(source.log_id),
            escape_hidden(source.agent_id or "–"),
            escape_hidden(source.session_id or "–"),
            terminal.moment(source.occurred_at),
            terminal.words(f"admission_{source.admission}"),
        ]
        if source.confidence is not None:
            facts.append(terminal.words("cli_source_confidence", value=f"{source.confidence:g}"))
        terminal.line(f"{f'[{number}]':>8} {' · '.join(facts)}")
        if source.flags:
            terminal.line(f"         ! {name_flags(source.flags, terminal)}", "yellow")
        show_statement(source, terminal, indent=9, width=SOURCE_WIDTH)
    if len(insight.sources) > SOURCES_SHOWN:
        _show_more(len(insight.sources) - SOURCES_SHOWN, terminal)


def _show_more(count: int, terminal: Terminal) -> None:
    terminal.line(f"      {terminal.words('cli_insight_more', count=count)}")
