"""What runs and how much there is, found out without starting anything."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from clearwell.adapters.cli.port import api_answers
from clearwell.app import make_embedder
from clearwell.errors import ClearwellError
from clearwell.servers import (
    ServerAt,
    is_bundled_postgres_running,
    is_bundled_valkey_running,
    running_postgres,
    running_valkey,
)
from clearwell.settings import Settings
from clearwell.stores.postgres.overview import Counts, Keys, Overview, ServerFacts, open_overview
from clearwell.stores.valkey.overview import WorkingFacts, working_facts


@dataclass(slots=True)
class DatabaseSeen:
    """What the database told. Keys, models and counts need the schema; counts also a login that sees all groups."""

    at: ServerAt
    facts: ServerFacts
    keys: Keys | None = None
    models: dict[str, int] | None = None
    counts: Counts | None = None


@dataclass(slots=True)
class WorkingSeen:
    at: ServerAt
    facts: WorkingFacts


@dataclass(slots=True)
class Seen:
    """A part that does not run is None; one that did not answer is its problem."""

    api: bool
    model: str
    database: DatabaseSeen | ClearwellError | None
    working: WorkingSeen | ClearwellError | None


async def look(settings: Settings) -> Seen:
    embedder = make_embedder(settings)
    await embedder.close()
    return Seen(
        api=api_answers(settings),
        model=embedder.model,
        database=await _database_or_problem(settings),
        working=await _working_or_problem(settings),
    )


def overview_of(settings: Settings, url: str) -> AbstractAsyncContextManager[Overview]:
    return open_overview(
        url, connect_seconds=settings.postgres_connect_seconds, statement_seconds=settings.postgres_statement_seconds
    )


async def _database_or_problem(settings: Settings) -> DatabaseSeen | ClearwellError | None:
    if settings.database_url is None and not await is_bundled_postgres_running(settings):
        return None
    try:
        async with running_postgres(settings) as at, overview_of(settings, at.url) as overview:
            seen = DatabaseSeen(at, await overview.server())
            if seen.facts.schema == seen.facts.newest_schema:
                seen.keys, seen.models = await overview.keys(), await overview.models()
                seen.counts = await overview.counts() if await overview.sees_all() else None
            return seen
    except ClearwellError as problem:
        return problem


async def _working_or_problem(settings: Settings) -> WorkingSeen | ClearwellError | None:
    if settings.redis_url is None and not await is_bundled_valkey_running(settings):
        return None
    try:
        async with running_valkey(settings) as at:
            return WorkingSeen(at, await working_facts(at.url, timeout_seconds=settings.redis_timeout_seconds))
    except ClearwellError as problem:
        return problem
