"""Each port twice: the in-memory twin and the real store."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from clearwell.app import open_stores
from clearwell.flow.retrieval.bm25 import Bm25
from clearwell.ports import Stores
from clearwell.settings import Settings
from clearwell.stores.postgres import open_database
from clearwell.testing import CountedIds, ManualClock, MemoryStores


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
