"""The application on real servers, in this process: one for each module, and one for each test that makes keys."""

from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import httpx
import psycopg
import pytest
import redis
from fastapi import FastAPI

from clearwell.settings import Settings
from tests.conftest import with_database
from tests.integration.http.serving import Api, client_of, served

_numbers = count()


@pytest.fixture(scope="module")
def module_settings(
    postgres_url: str, valkey_server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Settings]:
    """A database and an empty working memory that a module's tests share."""
    redis_url = f"{valkey_server}{'&' if '?' in valkey_server else '?'}db=15"
    with redis.Redis.from_url(redis_url) as working:
        working.flushdb()
    name = f"http_{next(_numbers)}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE template_clearwell')
        yield settings_of(with_database(postgres_url, name), redis_url, tmp_path_factory.mktemp("data"))
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def settings_of(database_url: str, redis_url: str, data_dir: Path) -> Settings:
    return Settings(database_url=database_url, redis_url=redis_url, data_dir=data_dir, sweep_seconds=0.2)


@pytest.fixture(scope="module")
async def module_app(module_settings: Settings) -> AsyncIterator[FastAPI]:
    async with served(module_settings) as app:
        yield app


@pytest.fixture(scope="module")
async def http(module_app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """The person at the machine, without a key."""
    async with client_of(module_app) as client:
        yield client


@pytest.fixture
async def app(settings: Settings) -> AsyncIterator[FastAPI]:
    """An application of the test's own."""
    async with served(settings) as running:
        yield running


@pytest.fixture
async def api(app: FastAPI) -> AsyncIterator[Api]:
    async with Api(app) as running:
        yield running


@pytest.fixture(scope="module")
async def module_api(module_app: FastAPI) -> AsyncIterator[Api]:
    async with Api(module_app) as running:
        yield running
