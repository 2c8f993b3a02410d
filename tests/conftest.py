"""Real servers for every test that needs one: a PostgreSQL and a Valkey for the whole run, a fresh database each."""

import asyncio
import logging
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
import redis

from clearwell.app import Clearwell, open_clearwell
from clearwell.embedded import EmbeddedPostgres, EmbeddedValkey
from clearwell.logs import configure_logs
from clearwell.models import OfflineEmbedder
from clearwell.ports import Embedder
from clearwell.servers import Servers
from clearwell.settings import Settings
from clearwell.stores.postgres import migrate
from tests.places import make_folder

_numbers = count()


def pytest_configure() -> None:
    """Accept interrupts again. A background job of a shell ignores them, and so would every program that it starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what cannot be met here: a user is root or is not."""
    absent = {"not_root" if os.geteuid() == 0 else "root", *(() if sys.platform == "linux" else ("linux",))}
    left_out = [item for item in items if absent & {mark.name for mark in item.iter_markers()}]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session", autouse=True)
def plain_logs() -> None:
    """As the program does it. The default of structlog draws every variable of a failing call, for half a minute."""
    configure_logs("en", level=logging.INFO, colors=False)


@pytest.fixture(autouse=True)
def no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is printed to a file is not wrapped, whatever terminal started the tests or xdist's processes."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(autouse=True)
def own_spool(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A spool of each test's own, so that no test delivers what another one left."""
    monkeypatch.setenv("CLEARWELL_SPOOL_DIR", str(tmp_path_factory.getbasetemp() / f"spool-{next(_numbers)}"))


@pytest.fixture(scope="session")
def data_dir() -> Iterator[Path]:
    folder = make_folder("cw-test-")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres_url(data_dir: Path) -> Iterator[str]:
    """A running PostgreSQL with a migrated database to copy from."""
    with EmbeddedPostgres(data_dir) as running:
        with psycopg.connect(running.url, autocommit=True) as connection:
            # Hundreds of databases are made and dropped: waiting for the disk each time can stall a slow one for
            # seconds. What must survive a crash is tested on servers of its own.
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("ALTER SYSTEM SET max_wal_size = '128MB'")  # it may be kept in memory
            connection.execute("SELECT pg_reload_conf()")
            connection.execute("CREATE DATABASE template_clearwell")
        # In a thread of its own: a loop may already run in this one.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, migrate(with_database(running.url, "template_clearwell"))).result()
        yield running.url


@pytest.fixture(scope="session")
def valkey_server(data_dir: Path) -> Iterator[str]:
    with EmbeddedValkey(data_dir) as running:
        yield running.url


@pytest.fixture
def empty_database_url(postgres_url: str) -> Iterator[str]:
    """A database with nothing in it."""
    with copy_database(postgres_url, "template1") as url:
        yield url


@pytest.fixture
def database_url(postgres_url: str) -> Iterator[str]:
    """A migrated database of this test's own."""
    with copy_database(postgres_url, "template_clearwell") as url:
        yield url


@contextmanager
def copy_database(postgres_url: str, template: str) -> Iterator[str]:
    """A copy of a database, removed afterwards."""
    name = f"test_{next(_numbers)}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        # A copy of files costs half as much as the default, which writes every page to the log.
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY FILE_COPY')
        yield with_database(postgres_url, name)
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def redis_url(valkey_server: str) -> str:
    """An empty database of the Valkey server."""
    separator = "&" if "?" in valkey_server else "?"
    url = f"{valkey_server}{separator}db={next(_numbers) % 16}"
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return url


@pytest.fixture(scope="session")
async def offline_embedder() -> AsyncIterator[OfflineEmbedder]:
    """The real model, loaded once."""
    embedder = OfflineEmbedder()
    yield embedder
    await embedder.close()


@pytest.fixture
def settings(database_url: str, redis_url: str, tmp_path: Path) -> Settings:
    return Settings(
        database_url=database_url,
        redis_url=redis_url,
        data_dir=tmp_path,
        sweep_seconds=0.2,
        postgres_connect_seconds=10,
    )


@pytest.fixture
async def clearwell(settings: Settings, offline_embedder: OfflineEmbedder) -> AsyncIterator[Clearwell]:
    """The whole path on real servers, without its worker."""
    async with opened(settings, offline_embedder) as running:
        yield running


@asynccontextmanager
async def opened(settings: Settings, embedder: Embedder | None = None) -> AsyncIterator[Clearwell]:
    assert settings.database_url is not None
    assert settings.redis_url is not None
    servers = Servers(
        database_url=settings.database_url.get_secret_value(),
        redis_url=settings.redis_url.get_secret_value(),
        embedded=(),
    )
    async with open_clearwell(settings, servers, embedder=embedder) as running:
        yield running


def with_database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def with_login(url: str, user: str) -> str:
    """The same server and database for another login."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{user}@{parts.netloc.rpartition('@')[2]}"))
