"""Chunks of long-term memory: ``reembed`` changes their model, ``rebuild`` makes them again, ``index`` indexes them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import typer

from clearwell.adapters.cli.command import UsageProblem, run
from clearwell.adapters.cli.connection import operator
from clearwell.adapters.cli.progress import show_progress
from clearwell.adapters.cli.terminal import Terminal
from clearwell.app import configured_model, make_model, open_indexes, open_rebuild, open_reembedding
from clearwell.flow.promotion.rebuild import RebuildResult
from clearwell.flow.reembedding.reembedder import ReembeddingResult
from clearwell.ports import Embedder
from clearwell.records import OFFLINE_MODEL, IndexChanges, ModelChoice, Principal
from clearwell.servers import running_postgres, running_servers
from clearwell.settings import Settings
from clearwell.views.maintenance import IndexesView, RebuildView, ReembeddingView

OFFLINE = ("offline", OFFLINE_MODEL)


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
        terminal.answer(ReembeddingView(model=wanted.stored_name, chunks=done.chunks, settings=wanted.settings()))
    elif done.reembedding is None:
        terminal.tell("cli_reembed_none", model=wanted.stored_name)
    else:
        terminal.tell("cli_reembed_done", chunks=done.chunks, model=wanted.stored_name)
        terminal.line()
        for name, value in wanted.settings().items():
            terminal.command(f"  {name}={value}", "bold")


def rebuild(settings: Settings, terminal: Terminal, *, as_json: bool) -> None:
    """Make the lost and changed chunks of every group again."""
    by = operator(settings, "rebuild")
    result = run(_rebuild(settings, terminal, by))
    counts, reindexed = result.counts, len(result.reindexed)
    if as_json:
        terminal.answer(RebuildView.read(counts, reindexed=tuple(result.reindexed)))
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
        terminal.answer(IndexesView.read(changes))
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
        with show_progress(terminal, "cli_rebuild_progress", "cli_rebuild_step") as report:
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
            with show_progress(terminal, "cli_reembed_progress", "cli_reembed_step") as report:
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
