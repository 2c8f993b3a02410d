"""The two servers: at their addresses, or bundled ones that run as long as they are needed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import structlog

from clearwell.embedded import EmbeddedPostgres, EmbeddedServer, EmbeddedValkey, RunningServer
from clearwell.errors import EmbeddedStoreError
from clearwell.settings import Settings
from clearwell.stores.postgres import database_address
from clearwell.stores.valkey import working_address

log = structlog.get_logger(__name__)
T = TypeVar("T")
WATCH_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Servers:
    """Where the two servers are, and which of them this program runs itself."""

    database_url: str
    redis_url: str
    embedded: tuple[RunningServer, ...]


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
    async with _run_bundled(EmbeddedPostgres(settings.data_dir)) as running:
        yield ServerAt(running.url, running)


@asynccontextmanager
async def running_valkey(settings: Settings) -> AsyncIterator[ServerAt]:
    """Redis or Valkey alone: at its address, or a bundled one that runs as long as this lasts."""
    if settings.redis_url is not None:
        yield ServerAt(working_address(settings.redis_url.get_secret_value()))
        return
    async with _run_bundled(EmbeddedValkey(settings.data_dir)) as running:
        yield ServerAt(running.url, running)


async def is_bundled_postgres_running(settings: Settings) -> bool:
    return await asyncio.to_thread(EmbeddedPostgres(settings.data_dir).is_running)


async def is_bundled_valkey_running(settings: Settings) -> bool:
    return await asyncio.to_thread(EmbeddedValkey(settings.data_dir).is_running)


@asynccontextmanager
async def _run_bundled(server: EmbeddedServer) -> AsyncIterator[RunningServer]:
    """The server, started again whenever it ends before we do."""
    watching: asyncio.Task[None] | None = None
    try:
        running = await _wait_to_end(server.start)
        watching = asyncio.create_task(_watch(server, running.name), name=f"watch {running.name}")
        yield running
    finally:
        if watching is not None:
            watching.cancel()
            await asyncio.wait([watching])
        await asyncio.to_thread(server.stop)


async def _watch(server: EmbeddedServer, name: str) -> None:
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        if await asyncio.to_thread(server.alive):
            continue
        log.error("bundled server ended unexpectedly, restarting", name=name)
        try:
            await _wait_to_end(server.start)
        except EmbeddedStoreError as error:
            log.error("bundled server not restarted", name=name, reason=str(error))


async def _wait_to_end(work: Callable[[], T]) -> T:
    """A thread cannot be interrupted: a caller that is cancelled waits for its end, or a server would stay behind."""
    task = asyncio.create_task(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        task.exception()
        raise
