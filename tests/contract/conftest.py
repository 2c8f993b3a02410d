"""Each port twice: the in-memory twin and the real store."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from clearwell.flow.retrieval.bm25 import Bm25
from clearwell.ports import RecallStore, WorkingStore
from clearwell.stores.postgres import (
    Database,
    PostgresAdmissions,
    PostgresCaptures,
    PostgresDecisions,
    PostgresDigestMaterial,
    PostgresDigestRuns,
    PostgresDigests,
    PostgresGroups,
    PostgresIdempotency,
    PostgresKeys,
    PostgresLongTerm,
    PostgresQuarantine,
    PostgresReembeddings,
    PostgresReview,
    PostgresTombstones,
    open_database,
)
from clearwell.stores.valkey import ValkeyRecalls, ValkeyWorking, open_client
from clearwell.testing import (
    CountedIds,
    ManualClock,
    MemoryDecisions,
    MemoryDigests,
    MemoryGroups,
    MemoryIdempotency,
    MemoryKeys,
    MemoryLedger,
    MemoryLongTerm,
    MemoryMoves,
    MemoryQuarantine,
    MemoryRecalls,
    MemoryReview,
    MemoryTombstones,
    MemoryWorking,
)
from clearwell.testing.review import PostgresOnly
from tests.contract.ports import Stores

TTL = timedelta(hours=24)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["twin", "real"])
async def stores(request: pytest.FixtureRequest, clock: ManualClock) -> AsyncIterator[Stores]:
    if request.param == "twin":
        yield twins(clock)
        return
    async with open_real(request.getfixturevalue("database_url"), request.getfixturevalue("redis_url"), clock) as found:
        yield found


@pytest.fixture
async def real_stores(database_url: str, redis_url: str, clock: ManualClock) -> AsyncIterator[Stores]:
    """For ports that have no twin, because they are SQL."""
    async with open_real(database_url, redis_url, clock) as found:
        yield found


@asynccontextmanager
async def open_real(database_url: str, redis_url: str, clock: ManualClock) -> AsyncIterator[Stores]:
    database = await open_database(
        database_url, pool_min=2, pool_max=8, connect_seconds=5, statement_seconds=10, prepare=True
    )
    client = open_client(redis_url, pool_max=8, timeout_seconds=2)
    working = ValkeyWorking(client, clock, size=50, content_bytes=16384)
    yield real(database, working, ValkeyRecalls(client, clock, remember=TTL), clock)
    await working.close()
    await database.close()


def twins(clock: ManualClock) -> Stores:
    tombstones, ledger = MemoryTombstones(), MemoryLedger()
    quarantine = MemoryQuarantine(clock, ttl=TTL, tombstones=tombstones)
    idempotency = MemoryIdempotency(clock, CountedIds())
    longterm = MemoryLongTerm(Bm25())
    groups = MemoryGroups()
    digests = MemoryDigests(quarantine, longterm, tombstones, ledger, groups)
    return Stores(
        captures=quarantine,
        quarantine=quarantine,
        admissions=quarantine,
        working=MemoryWorking(clock),
        search=longterm,
        moves=MemoryMoves(longterm),
        idempotency=idempotency,
        keys=MemoryKeys(),
        tombstones=tombstones,
        recalls=MemoryRecalls(clock),
        digests=digests,
        runs=digests,
        material=digests,
        groups=groups,
        decisions=MemoryDecisions(ledger, longterm, tombstones, idempotency, clock),
        reviewed=MemoryReview(ledger, quarantine, longterm),
        provenance=PostgresOnly(),
        statistics=PostgresOnly(),
    )


def real(database: Database, working: WorkingStore, recalls: RecallStore, clock: ManualClock) -> Stores:
    review = PostgresReview(database)
    return Stores(
        captures=PostgresCaptures(database),
        quarantine=PostgresQuarantine(database),
        admissions=PostgresAdmissions(database, clock, ttl=TTL),
        working=working,
        search=PostgresLongTerm(database),
        moves=PostgresReembeddings(database),
        idempotency=PostgresIdempotency(database, clock, CountedIds(), keep=timedelta(hours=24)),
        keys=PostgresKeys(database),
        tombstones=PostgresTombstones(database),
        recalls=recalls,
        digests=PostgresDigests(database),
        runs=PostgresDigestRuns(database),
        material=PostgresDigestMaterial(database),
        groups=PostgresGroups(database),
        decisions=PostgresDecisions(database, Bm25(), clock),
        reviewed=review,
        provenance=review,
        statistics=review,
    )
