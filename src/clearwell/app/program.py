"""Opens the program that the settings describe, or a part of it, and closes it again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import structlog

from clearwell import comparison
from clearwell.app.models import configured_model, make_embedder, make_model, open_digest_model, open_judge
from clearwell.app.stores import open_heads, open_postgres, open_stores
from clearwell.app.wiring import Clearwell, build, make_keys
from clearwell.clock import SystemClock, TimeOrderedIds
from clearwell.errors import ModelMismatch, Unavailable
from clearwell.flow.access.gate import AccessGate
from clearwell.flow.access.keys import KeyRing
from clearwell.flow.audit.acceptance import TrailAcceptance
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.deadlines import cancel_tasks
from clearwell.flow.promotion.planning import Chunker
from clearwell.flow.promotion.rebuild import MemoryRebuilder
from clearwell.flow.reembedding.models import EmbeddingModels, list_startable
from clearwell.flow.reembedding.reembedder import Reembedder
from clearwell.flow.retrieval.bm25 import Bm25
from clearwell.flow.tombstones.hashing import ValueHasher
from clearwell.logs import ensure_logs_configured
from clearwell.ports import Clock, Embedder, ReembeddingStore
from clearwell.records import INSTALLATION, ModelChoice, Principal
from clearwell.servers import Servers, running_servers
from clearwell.service import MemoryManager
from clearwell.settings import Settings
from clearwell.signing import load_signing_key
from clearwell.stores.postgres import (
    GroupIndexBuilder,
    IndexedGroups,
    PostgresAudit,
    PostgresGroups,
    PostgresKeys,
    PostgresLostMemories,
    PostgresReembeddings,
)
from clearwell.vocabulary import AuditAction

log = structlog.get_logger(__name__)


LOADING_SECONDS = 5.0
"""How long a model of this process takes to load, on a slow machine."""


@asynccontextmanager
async def open_clearwell(
    settings: Settings, servers: Servers, *, embedder: Embedder | None = None, clock: Clock | None = None
) -> AsyncIterator[Clearwell]:
    """Open the whole program on these servers. A bundled PostgreSQL is migrated; others must be up to date.

    With another ``clock`` than that of the system, have workers leave its groups alone (``stores.pauses``).
    """
    ensure_logs_configured()
    clock, ids = clock or SystemClock(), TimeOrderedIds()
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(open_postgres(settings, servers.database_url))
        configured = configured_model(settings) if embedder is None else None
        if embedder is None:
            embedder = make_embedder(settings)
            stack.push_async_callback(embedder.close)
        judge, assessor = open_judge(settings, stack)
        writer, segmenter = open_digest_model(settings, stack)
        stores = await stack.enter_async_context(open_stores(settings, database, servers.redis_url, clock, ids))
        clearwell = build(
            settings,
            stores,
            clock,
            ids,
            embedder=embedder,
            make_model=lambda choice: make_model(choice, settings),
            signer=load_signing_key(settings),
            judge=judge,
            assessor=assessor,
            writer=writer,
            segmenter=segmenter,
        )
        stack.push_async_callback(clearwell.queue.close)
        stack.push_async_callback(clearwell.recalls.flush)
        stack.push_async_callback(clearwell.events.flush)
        stack.push_async_callback(clearwell.gate.flush)
        stack.callback(clearwell.feed.close)
        stack.push_async_callback(clearwell.models.close)
        await require_model(stores.reembeddings, embedder, configured)
        await _load(embedder)
        # The first search must already know whether the database is being re-embedded.
        await clearwell.models.refresh()
        await clearwell.models.wait_until_loaded()
        await clearwell.forgetter.notice()
        watching = asyncio.create_task(clearwell.forgetter.watch(), name="watch for forgets")
        stack.push_async_callback(cancel_tasks, watching)
        yield clearwell


@asynccontextmanager
async def open_memory(settings: Settings | None = None, *, by: Principal | None = None) -> AsyncIterator[MemoryManager]:
    """Open the memory manager by the settings of the environment; on bundled servers if no address is set.

    It is bound to the local person, or to ``by``.
    """
    settings = settings or Settings()
    async with running_servers(settings) as servers, open_clearwell(settings, servers) as clearwell:
        yield clearwell.memory.acting_as(by or Principal.local())
        await clearwell.queue.join()


@asynccontextmanager
async def open_keys(settings: Settings, database_url: str) -> AsyncIterator[KeyRing]:
    """Open only the keys, which need neither working memory nor a model."""
    async with open_postgres(settings, database_url) as database:
        clock, ids = SystemClock(), TimeOrderedIds()
        gate = AccessGate(PostgresAudit(database), PostgresGroups(database), clock, ids)
        yield make_keys(settings, PostgresKeys(database), clock, ids, gate)


async def record_operation(
    settings: Settings, database_url: str, action: AuditAction, *, by: str, subject: str
) -> None:
    """Record what an operator does to the whole installation in the audit."""
    async with open_postgres(settings, database_url) as database:
        event = AuditEvents(SystemClock(), TimeOrderedIds()).make(action, subject, INSTALLATION, by=by)
        await PostgresAudit(database).add(event)


@asynccontextmanager
async def open_acceptance(settings: Settings, database_url: str) -> AsyncIterator[TrailAcceptance]:
    """Open what accepts a trail of the audit: the events, and the heads in the data folder."""
    async with open_postgres(settings, database_url) as database:
        clock = SystemClock()
        yield TrailAcceptance(PostgresAudit(database), open_heads(settings, clock), clock, TimeOrderedIds())


@asynccontextmanager
async def open_reembedding(
    settings: Settings, database_url: str, *, wait: float | None = None
) -> AsyncIterator[Reembedder]:
    """Open what a re-embedding needs and nothing else.

    Running programs notice a re-embedding at the next sweep or search.
    """
    async with open_postgres(settings, database_url) as database:
        yield Reembedder(
            PostgresReembeddings(database),
            SystemClock(),
            loading_seconds=settings.sweep_seconds + LOADING_SECONDS if wait is None else wait,
            search_seconds=settings.retrieve_timeout_seconds,
        )


@asynccontextmanager
async def open_rebuild(settings: Settings, servers: Servers) -> AsyncIterator[MemoryRebuilder]:
    """Open what makes lost chunks again: the stores and the embedding model."""
    clock, ids = SystemClock(), TimeOrderedIds()
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(open_postgres(settings, servers.database_url))
        embedder = make_embedder(settings)
        stack.push_async_callback(embedder.close)
        stores = await stack.enter_async_context(open_stores(settings, database, servers.redis_url, clock, ids))
        await require_model(stores.reembeddings, embedder, configured_model(settings))
        models = EmbeddingModels(embedder, stores.reembeddings, lambda choice: make_model(choice, settings))
        stack.push_async_callback(models.close)
        await models.refresh()
        await models.wait_until_loaded()
        yield MemoryRebuilder(
            PostgresLostMemories(database, Bm25()),
            stores.groups,
            stores.lexical_index,
            ValueHasher(stores.tombstones),
            Chunker(models, settings),
            clock,
            ids,
        )


@asynccontextmanager
async def open_indexes(settings: Settings, database_url: str) -> AsyncIterator[tuple[GroupIndexBuilder, str]]:
    """Open only the indexes of large groups, with the model that they are for."""
    async with open_postgres(settings, database_url) as database:
        reembedding = await PostgresReembeddings(database).last()
        model = make_embedder(settings).model if reembedding is None else reembedding.to_model
        yield GroupIndexBuilder(database, IndexedGroups(database), SystemClock(), rows=settings.exact_scan_rows), model


async def _load(embedder: Embedder) -> None:
    """Load the word lists and the model.

    Without the model, capture still works, and other operations report that it is missing.
    """
    await asyncio.to_thread(comparison.read_features, "")
    try:
        await embedder.load()
    except Unavailable as error:
        log.error("embedding model not loaded", reason=str(error))


async def require_model(
    reembeddings: ReembeddingStore, embedder: Embedder, configured: ModelChoice | None = None
) -> None:
    """Refuse to start on vectors of another model, whose distances would mean nothing.

    During a re-embedding, both of its models are accepted.
    """
    stored, reembedding = await reembeddings.models(), await reembeddings.last()
    usable = list_startable(stored, reembedding)
    if stored and embedder.model not in usable:
        wanted = configured if configured is not None else ModelChoice.parse(embedder.model)
        raise ModelMismatch(
            "model_mismatch",
            stored=", ".join(sorted(usable)),
            configured=embedder.model,
            settings=next(iter(usable.values())).assignments(),
            command=wanted.command(),
        )
    if embedder.model in stored:
        (vector,) = await embedder.embed(["dimensions?"])
        if len(vector) != stored[embedder.model]:
            raise ModelMismatch(
                "model_dimensions", model=embedder.model, stored=stored[embedder.model], configured=len(vector)
            )
