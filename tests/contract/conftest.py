"""Each port twice: the in-memory twin and the real store."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from clearwell.app import open_stores
from clearwell.flow.retrieval.bm25 import Bm25
from clearwell.ports import Stores
from clearwell.settings import Settings
from clearwell.stores.postgres import open_database
from clearwell.testing import CountedIds, ManualClock, MemoryStores
from tests.conftest import copy_database, with_database

DELETIONS = """SELECT string_agg(format('DELETE FROM %I', tablename), '; ') FROM pg_tables
    WHERE schemaname = 'public' AND tablename <> 'schema_migrations'"""
RESTART = "SELECT setval(oid, 1, false) FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace"


@pytest.fixture(scope="session")
def contract_database(postgres_url: str) -> Iterator[psycopg.Connection]:
    """A connection to the one database of all contract tests: a database for each would take half of their time."""
    with copy_database(postgres_url, "template_clearwell") as url, psycopg.connect(url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def database_url(contract_database: psycopg.Connection, postgres_url: str) -> str:
    """The migrated database, as empty as a new one."""
    ((deletions,),) = contract_database.execute(DELETIONS)
    # Without triggers, which forbid to delete some rows and check the references of others.
    contract_database.execute(f"SET session_replication_role = replica; {deletions}; {RESTART}")
    return with_database(postgres_url, contract_database.info.dbname)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["twin", "real"])
async def stores(request: pytest.FixtureRequest, clock: ManualClock) -> AsyncIterator[Stores]:
    if request.param == "twin":
        yield MemoryStores(Settings(), clock, CountedIds(), Bm25()).stores
        return
    async with open_real(
        request.getfixturevalue("database_url"), request.getfixturevalue("redis_url"), clock
    ) as opened:
        yield opened


@pytest.fixture
async def real_stores(database_url: str, redis_url: str, clock: ManualClock) -> AsyncIterator[Stores]:
    """For ports that have no twin, because they are SQL."""
    async with open_real(database_url, redis_url, clock) as opened:
        yield opened


@asynccontextmanager
async def open_real(database_url: str, redis_url: str, clock: ManualClock) -> AsyncIterator[Stores]:
    database = await open_database(
        database_url, pool_min=2, pool_max=8, connect_seconds=5, statement_seconds=10, prepare=True
    )
    try:
        async with open_stores(Settings(), database, redis_url, clock, CountedIds()) as opened:
            yield opened
    finally:
        await database.close()
