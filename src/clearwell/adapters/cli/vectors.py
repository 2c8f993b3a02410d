"""Chunks of long-term memory: ``reembed`` changes their model, ``rebuild`` makes lost ones, ``index`` indexes them."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from clearwell.adapters.cli.command import UsageProblem, run
from clearwell.adapters.cli.connection import operator
from clearwell.adapters.cli.terminal import Terminal
from clearwell.app import configured_model, make_model, open_indexes, open_rebuild, open_reembedding
from clearwell.flow.promotion.rebuild import RebuildResult
from clearwell.flow.reembedding.reembedder import Progress as Report
from clearwell.flow.reembedding.reembedder import ReembeddingResult
from clearwell.ports import Embedder
from clearwell.records import OFFLINE_MODEL, IndexChanges, ModelChoice, Principal
from clearwell.servers import running_postgres, running_servers
from clearwell.settings import Settings

OFFLINE = ("offline", OFFLINE_MODEL)
STEPS = 10
"""So many lines tell of progress where there is no terminal to draw a bar on."""


def reembed(
    settings: Settings,
    terminal: Terminal,
    model: str,
    *,
    base_url: str | None,
    dimensions: int | None,
    wait: float | None,
    as_json: bool,
) -> None:
    """Re-embed long-term memory with another model."""
    by = operator(settings, "reembed")
    if model in OFFLINE and (base_url or dimensions):
        raise UsageProblem("reembed_needs_model", field="model")
    chosen = _choose_model(model, base_url, dimensions)
    wanted, done = run(_reembed(settings, terminal, chosen, wait, by=by.name))
    if as_json:
        terminal.json({"model": wanted.stored_name, "chunks": done.chunks, "settings": {**wanted.settings()}})
    elif done.reembedding is None:
        terminal.tell("cli_reembed_none", model=wanted.stored_name)
    else:
        terminal.tell("cli_reembed_done", chunks=done.chunks, model=wanted.stored_name)
        terminal.line()
        for name, value in wanted.settings().items():
            terminal.line(f"  {name}={value}", "bold")


def rebuild(settings: Settings, terminal: Terminal, *, as_json: bool) -> None:
    """Make the lost chunks of every group again."""
    by = operator(settings, "rebuild")
    result = run(_rebuild(settings, terminal, by))
    counts, reindexed = result.counts, len(result.reindexed)
    if as_json:
        terminal.json(
            {
                "memories": counts.memories,
                "chunks": counts.chunks,
                "refused": counts.refused,
                "reindexed": [*result.reindexed],
            }
        )
        return
    if counts.memories or reindexed:
        terminal.tell("cli_rebuild_done", memories=counts.memories, chunks=counts.chunks, groups=reindexed)
    else:
        terminal.tell("cli_rebuild_none")
    if counts.refused:
        terminal.tell("cli_rebuild_refused", count=counts.refused)


def index(settings: Settings, terminal: Terminal, *, as_json: bool) -> None:
    """Build the indexes that large groups need, and drop those that none needs."""
    operator(settings, "index groups")
    changes = run(_maintain_indexes(settings))
    if as_json:
        terminal.json(
            {
                "built": [*changes.built],
                "dropped": [*changes.dropped],
                "failed": [*changes.failed],
                "not_owner": changes.not_owner,
            }
        )
    elif changes == IndexChanges():
        terminal.tell("cli_index_none", rows=settings.exact_scan_rows)
    elif not changes.not_owner:
        terminal.tell("cli_index_done", built=len(changes.built), dropped=len(changes.dropped))
    if changes.failed:
        terminal.warn("cli_index_failed", count=len(changes.failed))
    if changes.not_owner:
        terminal.warn("cli_index_not_owner")
    if changes.failed or changes.not_owner:
        raise typer.Exit(1)


async def _maintain_indexes(settings: Settings) -> IndexChanges:
    async with (
        running_postgres(settings) as postgres,
        open_indexes(settings, postgres.url) as (indexes, model),
    ):
        return await indexes.maintain(model)


async def _rebuild(settings: Settings, terminal: Terminal, by: Principal) -> RebuildResult:
    async with running_servers(settings) as servers, open_rebuild(settings, servers) as rebuilder:
        with _progress(terminal, "cli_rebuild_progress", "cli_rebuild_step") as report:
            return await rebuilder.run(report, by=by)


async def _reembed(
    settings: Settings, terminal: Terminal, chosen: ModelChoice, wait: float | None, *, by: str
) -> tuple[ModelChoice, ReembeddingResult]:
    configured = configured_model(settings)
    async with (
        running_postgres(settings) as postgres,
        open_reembedding(settings, postgres.url, wait=wait) as reembedding,
    ):
        wanted = await reembedding.complete_choice(chosen)
        if wanted.embedder == "openai" and wanted.base_url is None:
            wanted = replace(wanted, base_url=settings.embedding_base_url)
        async with closing(make_model(wanted, settings)) as embedder:
            known, new = (configured.stored_name, configured), (embedder.model, wanted)
            planned = await reembedding.plan(known, new, by=by)
            if planned is not None:
                begun = {"from_model": planned.from_model, "to_model": planned.to_model}
                terminal.err.print(terminal.words("cli_reembed_begin", **begun), soft_wrap=True)
            with _progress(terminal, "cli_reembed_progress", "cli_reembed_step") as report:
                return wanted, await reembedding.run(planned, embedder, report)


@asynccontextmanager
async def closing(embedder: Embedder) -> AsyncIterator[Embedder]:
    try:
        yield embedder
    finally:
        await embedder.close()


def _choose_model(model: str, base_url: str | None, dimensions: int | None) -> ModelChoice:
    if model in OFFLINE:
        return ModelChoice(embedder="offline", model=OFFLINE_MODEL)
    return ModelChoice(embedder="openai", model=model, base_url=base_url, dimensions=dimensions)


@contextmanager
def _progress(terminal: Terminal, name: str, step: str) -> Iterator[Report]:
    """Report progress on stderr: a bar with this name on a terminal, otherwise a line from time to time."""
    if not terminal.err.is_terminal:
        yield _Lines(terminal, step)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=terminal.err) as bar:
        task = bar.add_task(terminal.words(name), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


class _Lines:
    def __init__(self, terminal: Terminal, code: str) -> None:
        self._terminal = terminal
        self._code = code
        self._told = -1

    def __call__(self, done: int, total: int) -> None:
        step = done * STEPS // max(total, 1)
        if step != self._told:
            self._told = step
            self._terminal.err.print(self._terminal.words(self._code, done=done, total=total), soft_wrap=True)
