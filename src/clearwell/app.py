"""Puts the parts together. The only place that names concrete stores and models."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from uuid import UUID

import structlog
import uuid_utils.compat

from clearwell.embedded import EmbeddedPostgres, EmbeddedServer, EmbeddedValkey, RunningServer
from clearwell.embedded.look import is_running
from clearwell.errors import ModelMismatch, Unavailable
from clearwell.flow.admit import AdmissionQueue, Admitting
from clearwell.flow.capture import Capturing
from clearwell.flow.keyring import KeyRing
from clearwell.flow.promote import Promoting
from clearwell.flow.retrieve import Retrieving
from clearwell.logs import configure_logs_if_nobody_has
from clearwell.models import OfflineEmbedder, OpenAIEmbedder
from clearwell.ports import AdmissionStore, Embedder, PromotionStore
from clearwell.service import MemoryManager
from clearwell.settings import Settings
from clearwell.stores.postgres import (
    Database,
    PostgresAdmissions,
    PostgresAudit,
    PostgresCaptures,
    PostgresIdempotency,
    PostgresKeys,
    PostgresLongTerm,
    PostgresPromotions,
    PostgresQuarantine,
    Role,
    database_address,
    migrate,
    open_database,
    require_schema,
)
from clearwell.stores.valkey import ValkeyWorking, open_client, working_address

T = TypeVar("T")


log = structlog.get_logger(__name__)


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class TimeOrderedIds:
    """UUIDv7: an id made later sorts after one made earlier."""

    def new(self) -> UUID:
        return uuid_utils.compat.uuid7()


@dataclass(frozen=True, slots=True)
class Servers:
    """Where the two servers are, and which of them this program runs itself."""

    database_url: str
    redis_url: str
    embedded: tuple[RunningServer, ...]


@dataclass(frozen=True, slots=True)
class Health:
    """``ready`` once PostgreSQL is reachable and migrated and the model has embedded; the rest is ``degraded``."""

    ready: bool
    problems: dict[str, str]


@dataclass(frozen=True, slots=True)
class Clearwell:
    """Everything that runs, for the ways in."""

    settings: Settings
    memory: MemoryManager
    keys: KeyRing
    queue: AdmissionQueue
    admissions: AdmissionStore
    audit: PostgresAudit
    idempotency: PostgresIdempotency
    database: Database
    working: ValkeyWorking
    embedder: Embedder

    async def health(self) -> Health:
        """Ask every part at once, each for at most the time that retrieval would wait for it."""
        parts: dict[str, Awaitable[object]] = {
            "database": self.database.ping(),
            "working_memory": self.working.ping(),
            "embedder": self.embedder.embed(["ready?"]),
        }
        answers = await asyncio.gather(*(self._problem(asked) for asked in parts.values()))
        problems = {name: problem for name, problem in zip(parts, answers, strict=True) if problem is not None}
        return Health(ready="database" not in problems and "embedder" not in problems, problems=problems)

    async def _problem(self, asked: Awaitable[object]) -> str | None:
        seconds = self.settings.retrieve_timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                await asked
        except Unavailable as error:
            return str(error)
        except TimeoutError:
            return f"no answer in {seconds:g} s"
        return None


@dataclass(frozen=True, slots=True)
class ServerAt:
    """A server's address, and the bundled server behind it where it is one."""

    url: str
    bundled: RunningServer | None = None


@asynccontextmanager
async def running_servers(settings: Settings) -> AsyncIterator[Servers]:
    """The servers at the configured addresses, or bundled ones that run as long as this lasts."""
    async with running_postgres(settings) as postgres, running_valkey(settings) as valkey:
        embedded = tuple(one.bundled for one in (postgres, valkey) if one.bundled is not None)
        yield Servers(database_url=postgres.url, redis_url=valkey.url, embedded=embedded)


@asynccontextmanager
async def running_postgres(settings: Settings) -> AsyncIterator[ServerAt]:
    """PostgreSQL alone: at its address, or a bundled one that runs as long as this lasts."""
    if settings.database_url is not None:
        yield ServerAt(database_address(settings.database_url.get_secret_value()))
        return
    async with _bundled(EmbeddedPostgres(settings.data_dir)) as running:
        yield ServerAt(running.url, running)


@asynccontextmanager
async def running_valkey(settings: Settings) -> AsyncIterator[ServerAt]:
    """Redis or Valkey alone: at its address, or a bundled one that runs as long as this lasts."""
    if settings.redis_url is not None:
        yield ServerAt(working_address(settings.redis_url.get_secret_value()))
        return
    async with _bundled(EmbeddedValkey(settings.data_dir)) as running:
        yield ServerAt(running.url, running)


async def is_bundled_postgres_running(settings: Settings) -> bool:
    return await asyncio.to_thread(is_running, EmbeddedPostgres(settings.data_dir))


async def is_bundled_valkey_running(settings: Settings) -> bool:
    return await asyncio.to_thread(is_running, EmbeddedValkey(settings.data_dir))


@asynccontextmanager
async def _bundled(server: EmbeddedServer) -> AsyncIterator[RunningServer]:
    try:
        yield await _to_its_end(server.start)
    finally:
        await asyncio.to_thread(server.stop)


async def _to_its_end(work: Callable[[], T]) -> T:
    """A thread cannot be interrupted: a caller that is cancelled waits for its end, or a server would stay behind."""
    task = asyncio.create_task(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        task.exception()
        raise


def make_embedder(settings: Settings) -> Embedder:
    if settings.embedder == "offline":
        return OfflineEmbedder()
    return OpenAIEmbedder(
        base_url=settings.embedding_base_url,
        model=settings.embedding_model,
        api_key=settings.embedding_api_key.get_secret_value() if settings.embedding_api_key else None,
        dimensions=settings.embedding_dimensions,
        timeout_seconds=settings.embedding_timeout_seconds,
        retries=settings.embedding_retries,
        batch=settings.embedding_batch,
    )


@asynccontextmanager
async def open_clearwell(
    settings: Settings, servers: Servers, *, embedder: Embedder | None = None
) -> AsyncIterator[Clearwell]:
    """The whole path on these servers. A bundled PostgreSQL is migrated; any other must have been."""
    configure_logs_if_nobody_has()
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(_open_database(settings, servers.database_url))
        if embedder is None:
            embedder = make_embedder(settings)
            stack.push_async_callback(embedder.close)
        clearwell = assemble(settings, database, servers.redis_url, embedder)
        stack.push_async_callback(clearwell.working.close)
        stack.push_async_callback(clearwell.queue.close)
        await require_model(PostgresPromotions(database), embedder)
        await _loaded(embedder)
        yield clearwell


@asynccontextmanager
async def open_memory(settings: Settings | None = None) -> AsyncIterator[MemoryManager]:
    """The memory manager for a program of your own: by the environment, on bundled servers where none is named."""
    settings = settings or Settings()
    async with running_servers(settings) as servers, open_clearwell(settings, servers) as clearwell:
        yield clearwell.memory
        await clearwell.queue.drained()


@asynccontextmanager
async def open_keys(settings: Settings, database_url: str) -> AsyncIterator[KeyRing]:
    """The keys alone: they need neither working memory nor a model."""
    async with _open_database(settings, database_url) as database:
        yield make_keys(settings, database)


@asynccontextmanager
async def _open_database(settings: Settings, url: str) -> AsyncIterator[Database]:
    if settings.database_url is None:
        await migrate(url)
    else:
        await require_schema(url)
    database = await open_database(
        url,
        pool_min=settings.postgres_pool_min,
        pool_max=settings.postgres_pool_max,
        connect_seconds=settings.postgres_connect_seconds,
        statement_seconds=settings.postgres_statement_seconds,
        prepare=settings.postgres_prepare,
    )
    try:
        yield database
    finally:
        await database.close()


def make_keys(settings: Settings, database: Database) -> KeyRing:
    remember = timedelta(seconds=settings.key_memory_seconds)
    return KeyRing(PostgresKeys(database), SystemClock(), TimeOrderedIds(), remember=remember)


def assemble(settings: Settings, database: Database, redis_url: str, embedder: Embedder) -> Clearwell:
    """Wire the path to these stores and this model."""
    clock, ids = SystemClock(), TimeOrderedIds()
    client = open_client(redis_url, pool_max=settings.redis_pool_max, timeout_seconds=settings.redis_timeout_seconds)
    working = ValkeyWorking(client, clock, size=settings.working_size, content_bytes=settings.working_content_bytes)
    admissions = PostgresAdmissions(database, clock, ttl=timedelta(seconds=settings.working_ttl_seconds))
    idempotency = PostgresIdempotency(database, clock, ids, keep=timedelta(hours=settings.idempotency_hours))
    admitting = Admitting(admissions, working, PostgresLongTerm(database, Role.WORKER), embedder, clock, settings)
    queue = AdmissionQueue(admitting, batch=settings.admission_batch)
    memory = MemoryManager(
        capturing=Capturing(PostgresCaptures(database), clock, ids, settings),
        queue=queue,
        admissions=admissions,
        quarantine=PostgresQuarantine(database),
        working=working,
        promoting=Promoting(PostgresPromotions(database), idempotency, embedder, clock, ids, settings),
        retrieving=Retrieving(working, PostgresLongTerm(database), embedder, settings),
        settings=settings,
    )
    return Clearwell(
        settings=settings,
        memory=memory,
        keys=make_keys(settings, database),
        queue=queue,
        admissions=admissions,
        audit=PostgresAudit(database),
        idempotency=idempotency,
        database=database,
        working=working,
        embedder=embedder,
    )


async def _loaded(embedder: Embedder) -> None:
    """Load the model before anybody waits for it. Without it capture still works, and the rest says what is missing."""
    try:
        await embedder.load()
    except Unavailable as error:
        log.error("the model cannot be loaded", reason=str(error))


async def require_model(promotions: PromotionStore, embedder: Embedder) -> None:
    """Refuse to start on vectors of another model: their distances would mean nothing."""
    stored = await promotions.models()
    if stored and embedder.model not in stored:
        raise ModelMismatch("model_mismatch", stored=", ".join(sorted(stored)), configured=embedder.model)
    if embedder.model in stored:
        (vector,) = await embedder.embed(["dimensions?"])
        if len(vector) != stored[embedder.model]:
            raise ModelMismatch(
                "model_dimensions", model=embedder.model, stored=stored[embedder.model], configured=len(vector)
            )


__all__ = [
    "Clearwell",
    "Health",
    "ServerAt",
    "Servers",
    "assemble",
    "is_bundled_postgres_running",
    "is_bundled_valkey_running",
    "make_embedder",
    "open_clearwell",
    "open_keys",
    "open_memory",
    "require_model",
    "running_postgres",
    "running_servers",
    "running_valkey",
]
