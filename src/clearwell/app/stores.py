"""Opens the stores on real servers. Nothing else names the concrete ones."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta

from clearwell.embedded import program_url
from clearwell.flow.ingress.fingerprint import fingerprint
from clearwell.flow.retrieval.bm25 import Bm25
from clearwell.flow.working.capacity import read_capacity
from clearwell.ports import BackOff, Clock, Ids, Stores
from clearwell.settings import Settings
from clearwell.signing import load_signing_key
from clearwell.stores.files import FileAuditHeads
from clearwell.stores.postgres import (
    Database,
    GroupIndexBuilder,
    IndexedGroups,
    PostgresAdmissions,
    PostgresArchive,
    PostgresAudit,
    PostgresCaptures,
    PostgresDecisions,
    PostgresDigestMaterial,
    PostgresDigestRuns,
    PostgresDigests,
    PostgresErasure,
    PostgresGroups,
    PostgresIdempotency,
    PostgresKeys,
    PostgresLexicalIndex,
    PostgresLongTerm,
    PostgresQuarantine,
    PostgresReembeddings,
    PostgresReview,
    PostgresStatements,
    PostgresTombstones,
    Role,
    migrate,
    name_database,
    open_database,
    require_schema,
)
from clearwell.stores.valkey import (
    TimedClient,
    ValkeyEvents,
    ValkeyHeartbeats,
    ValkeyPauses,
    ValkeyRecalls,
    ValkeyWorkingStore,
    open_client,
)

BUNDLED = "bundled"


@asynccontextmanager
async def open_stores(
    settings: Settings, database: Database, redis_url: str, clock: Clock, ids: Ids
) -> AsyncIterator[Stores]:
    """Open all stores on an open database and the Valkey at this address, until the block ends."""
    async with AsyncExitStack() as stack:
        client = open_client(
            redis_url, pool_max=settings.redis_pool_max, timeout_seconds=settings.redis_timeout_seconds
        )
        stack.push_async_callback(client.aclose)
        indexed = IndexedGroups(database)
        stack.push_async_callback(indexed.close)
        # The first search must already know which groups have indexes.
        await indexed.refresh()
        yield make_stores(settings, database, client, indexed, clock, ids)


def make_stores(
    settings: Settings,
    database: Database,
    client: TimedClient,
    indexed: IndexedGroups,
    clock: Clock,
    ids: Ids,
) -> Stores:
    """Make all stores on connections that the caller opens and closes."""
    review = PostgresReview(database)
    return Stores(
        captures=PostgresCaptures(database),
        quarantine=PostgresQuarantine(database),
        admissions=_make_admissions(settings, database, clock),
        statements=PostgresStatements(database),
        working=ValkeyWorkingStore(
            client, clock, capacity=read_capacity(settings), content_bytes=settings.working_content_bytes
        ),
        recalls=ValkeyRecalls(client, clock, remember=timedelta(seconds=settings.recall_seconds)),
        events=ValkeyEvents(
            client, length=settings.event_stream_length, keep=timedelta(seconds=settings.event_stream_seconds)
        ),
        tombstones=PostgresTombstones(database),
        longterm=PostgresLongTerm(database, indexed=indexed),
        longterm_for_worker=PostgresLongTerm(database, Role.WORKER, indexed=indexed),
        longterm_for_reviewer=PostgresLongTerm(database, Role.REVIEWER, indexed=indexed),
        digests=PostgresDigests(database),
        digest_runs=PostgresDigestRuns(database),
        digest_material=PostgresDigestMaterial(database),
        decisions=PostgresDecisions(database, Bm25(), clock),
        review=review,
        provenance=review,
        statistics=review,
        groups=PostgresGroups(database),
        keys=PostgresKeys(database),
        audit=PostgresAudit(database),
        audit_heads=open_heads(settings, clock),
        erasure=PostgresErasure(database, Bm25(), ids),
        archive=PostgresArchive(database, Bm25()),
        idempotency=PostgresIdempotency(database, clock, ids, keep=timedelta(hours=settings.idempotency_hours)),
        reembeddings=PostgresReembeddings(database),
        lexical_index=PostgresLexicalIndex(database, Bm25()),
        vector_indexes=GroupIndexBuilder(database, indexed, clock, rows=settings.exact_scan_rows),
        heartbeats=ValkeyHeartbeats(client, clock, me=ids.new(), decides=fingerprint(settings)),
        pauses=ValkeyPauses(client),
    )


def open_heads(settings: Settings, clock: Clock) -> FileAuditHeads:
    """The heads of the audit of the configured database. The bundled one has them wherever its folder is moved."""
    url = settings.database_url
    return FileAuditHeads(settings.data_dir, BUNDLED if url is None else name_database(url.get_secret_value()), clock)


@asynccontextmanager
async def open_postgres(settings: Settings, url: str) -> AsyncIterator[Database]:
    """Open the database at this address. A bundled one is migrated; others must be up to date.

    Requests are served on a bundled one with a plain login, whatever statement somebody may bring into them.
    """
    if settings.database_url is None:
        await migrate(url)
    else:
        await require_schema(url)
    database = await open_database(
        program_url(url) if settings.database_url is None else url,
        owner_url=url,
        pool_min=settings.postgres_pool_min,
        pool_max=settings.postgres_pool_max,
        connect_seconds=settings.postgres_connect_seconds,
        statement_seconds=settings.postgres_statement_seconds,
        prepare=settings.postgres_prepare,
        signer=load_signing_key(settings),
    )
    try:
        yield database
    finally:
        await database.close()


def _make_admissions(settings: Settings, database: Database, clock: Clock) -> PostgresAdmissions:
    back_off = BackOff(
        first=timedelta(seconds=settings.judge_retry_seconds),
        longest=timedelta(seconds=settings.judge_longest_wait_seconds),
    )
    ttl = timedelta(seconds=settings.working_ttl_seconds)
    return PostgresAdmissions(database, clock, ttl=ttl, judge_back_off=back_off)
