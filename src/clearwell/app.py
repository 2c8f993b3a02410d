"""Puts the parts together. The only place that names concrete stores and models."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import structlog
import uuid_utils.compat

from clearwell.errors import ConfigurationError, ModelMismatch, Unavailable
from clearwell.flow import sameness
from clearwell.flow.admit import Admitting
from clearwell.flow.capture import Capturing
from clearwell.flow.carry_out import CarryingOut
from clearwell.flow.chunks import Chunking
from clearwell.flow.context import ContextBuilder
from clearwell.flow.deciding import fingerprint
from clearwell.flow.digesting import DigestDesk, Digesting, Reading, Scheduling, Writing
from clearwell.flow.gate import Gate
from clearwell.flow.keyring import KeyRing
from clearwell.flow.known import Knowledge
from clearwell.flow.lexical import Bm25
from clearwell.flow.moving import Models, MovingLongTerm, startable
from clearwell.flow.node import MemoryRetrieving
from clearwell.flow.profiles import Profiles
from clearwell.flow.promote import Promoting
from clearwell.flow.promoter import Promoter
from clearwell.flow.queue import AdmissionQueue
from clearwell.flow.rebuild import Rebuilding
from clearwell.flow.reembed import Reembedding
from clearwell.flow.retrieve import Retrieving
from clearwell.flow.review import Gauges, Reviewing
from clearwell.flow.review.beside import Showing
from clearwell.flow.review.decide import Deciding
from clearwell.flow.review.retract import Retracting
from clearwell.flow.review.undo import Undoing
from clearwell.flow.tally import Tally
from clearwell.flow.tokens import EstimatedTokens
from clearwell.flow.tombstones import Tombstoning
from clearwell.flow.uses import Uses
from clearwell.logs import configure_logs_if_nobody_has
from clearwell.models import OFFLINE_MODEL, LLMJudge, LLMWriter, OfflineEmbedder, OpenAIChat, OpenAIEmbedder
from clearwell.ports import (
    AdmissionStore,
    BackOff,
    Clock,
    Embedder,
    IdempotencyStore,
    Ids,
    InsightWriter,
    Judge,
    MoveStore,
)
from clearwell.records import ModelChoice
from clearwell.servers import Servers, running_servers
from clearwell.service import MemoryManager
from clearwell.settings import Settings
from clearwell.stores.postgres import (
    Database,
    GroupIndexes,
    LargeGroups,
    PostgresAdmissions,
    PostgresAudit,
    PostgresCaptures,
    PostgresDecisions,
    PostgresDigestMaterial,
    PostgresDigestRuns,
    PostgresDigests,
    PostgresGroups,
    PostgresIdempotency,
    PostgresJobs,
    PostgresKeys,
    PostgresLongTerm,
    PostgresMoves,
    PostgresQuarantine,
    PostgresReview,
    PostgresTombstones,
    Role,
    migrate,
    open_database,
    require_schema,
)
from clearwell.stores.valkey import ValkeyBeats, ValkeyRecalls, ValkeyWorking, open_client

log = structlog.get_logger(__name__)
LOADING_SECONDS = 5.0
"""How long a model of this process takes to load, on a slow machine."""


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class TimeOrderedIds:
    """UUIDv7: an id made later sorts after one made earlier."""

    def new(self) -> UUID:
        return uuid_utils.compat.uuid7()


@dataclass(frozen=True, slots=True)
class Health:
    """``ready`` once PostgreSQL is reachable and migrated and the model has embedded; the rest is ``degraded``."""

    ready: bool
    problems: dict[str, str]


@dataclass(frozen=True, slots=True)
class Digests:
    """What asks for digests, finds those that are due, and makes them."""

    desk: DigestDesk
    scheduling: Scheduling
    digesting: Digesting
    runs: PostgresDigestRuns
    jobs: PostgresJobs


@dataclass(frozen=True, slots=True)
class Clearwell:
    """Everything that runs, for the ways in."""

    settings: Settings
    memory: MemoryManager
    review: Reviewing
    carrying_out: CarryingOut
    uses: Uses
    gauges: Gauges
    keys: KeyRing
    queue: AdmissionQueue
    admitting: Admitting
    retrieving: Retrieving
    admissions: AdmissionStore
    rebuilding: Rebuilding
    digests: Digests
    tally: Tally
    audit: PostgresAudit
    idempotency: PostgresIdempotency
    models: Models
    large: LargeGroups
    indexes: GroupIndexes
    database: Database
    working: ValkeyWorking
    beats: ValkeyBeats
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


def configured_model(settings: Settings) -> ModelChoice:
    if settings.embedder == "offline":
        return ModelChoice(embedder="offline", model=OFFLINE_MODEL)
    return ModelChoice(
        embedder="openai",
        model=settings.embedding_model,
        base_url=settings.embedding_base_url,
        dimensions=settings.embedding_dimensions,
    )


def make_embedder(settings: Settings) -> Embedder:
    return make_model(configured_model(settings), settings)


def make_model(choice: ModelChoice, settings: Settings) -> Embedder:
    """The configured model, or the other one of a move: that has a key of its own where its address is another."""
    if choice.embedder == "offline":
        return OfflineEmbedder()
    base_url = choice.base_url or settings.embedding_base_url
    key = settings.embedding_api_key if base_url == settings.embedding_base_url else None
    if choice != configured_model(settings):
        key = settings.other_embedding_api_key or key
    return OpenAIEmbedder(
        base_url=base_url,
        model=choice.model,
        api_key=key.get_secret_value() if key else None,
        dimensions=choice.dimensions,
        timeout_seconds=settings.embedding_timeout_seconds,
        retries=settings.embedding_retries,
        batch=settings.embedding_batch,
    )


def make_chat(settings: Settings) -> OpenAIChat | None:
    """The language model that judges, where one is configured."""
    if settings.judge_base_url is None:
        return None
    return OpenAIChat(
        base_url=settings.judge_base_url,
        model=settings.judge_model,
        api_key=settings.judge_api_key.get_secret_value() if settings.judge_api_key else None,
        timeout_seconds=settings.judge_timeout_seconds,
        concurrency=settings.judge_concurrency,
        budget_per_hour=settings.judge_budget_per_hour,
        max_tokens=settings.judge_max_tokens,
        longest_wait_seconds=settings.judge_longest_wait_seconds,
    )


WRITER_CODES = {
    "judge_address_invalid": "writer_address_invalid",
    "judge_key_invalid": "writer_key_invalid",
    "judge_model_missing": "writer_model_missing",
}


def make_writing_chat(settings: Settings) -> OpenAIChat | None:
    """The language model that writes insights, where one is configured."""
    if settings.digest_llm_base_url is None:
        return None
    key = settings.digest_llm_api_key
    try:
        return OpenAIChat(
            base_url=settings.digest_llm_base_url,
            model=settings.digest_llm_model,
            api_key=key.get_secret_value() if key else None,
            timeout_seconds=settings.digest_llm_timeout_seconds,
            max_tokens=settings.digest_llm_max_tokens,
        )
    except ConfigurationError as error:
        raise ConfigurationError(WRITER_CODES[error.code]) from error


@asynccontextmanager
async def open_clearwell(
    settings: Settings, servers: Servers, *, embedder: Embedder | None = None
) -> AsyncIterator[Clearwell]:
    """The whole path on these servers. A bundled PostgreSQL is migrated; any other must have been."""
    configure_logs_if_nobody_has()
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(_open_database(settings, servers.database_url))
        configured = configured_model(settings) if embedder is None else None
        if embedder is None:
            embedder = make_embedder(settings)
            stack.push_async_callback(embedder.close)
        chat = make_chat(settings)
        if chat is not None:
            stack.push_async_callback(chat.close)
        judge = None if chat is None else LLMJudge(chat, max_chars=settings.judge_max_chars)
        writing = make_writing_chat(settings)
        if writing is not None:
            stack.push_async_callback(writing.close)
        writer = None if writing is None else LLMWriter(writing, max_chars=settings.digest_llm_max_chars)
        clearwell = assemble(settings, database, servers.redis_url, embedder, judge, writer=writer)
        await clearwell.digests.jobs.open()
        stack.push_async_callback(clearwell.digests.jobs.close)
        stack.push_async_callback(clearwell.working.close)
        stack.push_async_callback(clearwell.queue.close)
        stack.push_async_callback(clearwell.retrieving.noted)
        stack.push_async_callback(clearwell.models.close)
        stack.push_async_callback(clearwell.large.close)
        await require_model(PostgresMoves(database), embedder, configured)
        await _loaded(embedder)
        await _followed(clearwell)
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
async def open_reembedding(
    settings: Settings, database_url: str, *, wait: float | None = None
) -> AsyncIterator[Reembedding]:
    """The move to another model alone. Programs that run look for moves once a sweep, and in every search."""
    async with _open_database(settings, database_url) as database:
        yield Reembedding(
            PostgresMoves(database),
            SystemClock(),
            loading_seconds=settings.sweep_seconds + LOADING_SECONDS if wait is None else wait,
            search_seconds=settings.retrieve_timeout_seconds,
        )


@asynccontextmanager
async def open_indexes(settings: Settings, database_url: str) -> AsyncIterator[tuple[GroupIndexes, str]]:
    """The indexes of large groups alone, and the model that they are for."""
    async with _open_database(settings, database_url) as database:
        move = await PostgresMoves(database).last()
        model = make_embedder(settings).model if move is None else move.to_model
        yield GroupIndexes(database, LargeGroups(database), SystemClock(), rows=settings.exact_scan_rows), model


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
    patience = timedelta(seconds=settings.retrieve_timeout_seconds)
    return KeyRing(PostgresKeys(database), SystemClock(), TimeOrderedIds(), remember=remember, patience=patience)


def assemble(
    settings: Settings,
    database: Database,
    redis_url: str,
    embedder: Embedder,
    judge: Judge | None = None,
    clock: Clock | None = None,
    *,
    writer: InsightWriter | None = None,
) -> Clearwell:
    """Wire the path to these stores and this model."""
    clock, ids = clock or SystemClock(), TimeOrderedIds()
    models = Models(embedder, PostgresMoves(database), lambda choice: make_model(choice, settings))
    large = LargeGroups(database)
    compared = MovingLongTerm(PostgresLongTerm(database, Role.WORKER, large=large), models)
    longterm = MovingLongTerm(PostgresLongTerm(database, large=large), models)
    client = open_client(redis_url, pool_max=settings.redis_pool_max, timeout_seconds=settings.redis_timeout_seconds)
    working = ValkeyWorking(client, clock, size=settings.working_size, content_bytes=settings.working_content_bytes)
    admissions = PostgresAdmissions(
        database,
        clock,
        ttl=timedelta(seconds=settings.working_ttl_seconds),
        judge_back_off=BackOff(
            first=timedelta(seconds=settings.judge_retry_seconds),
            longest=timedelta(seconds=settings.judge_longest_wait_seconds),
        ),
    )
    idempotency = PostgresIdempotency(database, clock, ids, keep=timedelta(hours=settings.idempotency_hours))
    recalls = ValkeyRecalls(client, clock, remember=timedelta(seconds=settings.recall_seconds))
    tombstones = PostgresTombstones(database)
    knowledge = Knowledge(working, compared, admissions, tombstones, recalls, embedder)
    tally = Tally()
    admitting = Admitting(admissions, working, knowledge, embedder, judge, tally, clock, settings)
    queue = AdmissionQueue(admitting, batch=settings.admission_batch)
    rebuilding = Rebuilding(admissions, working, knowledge, clock, settings)
    retrieving = Retrieving(working, longterm, recalls, embedder, clock, settings)
    groups = PostgresGroups(database)
    digests = make_digests(settings, database, knowledge, embedder, writer, idempotency, clock, ids)
    quarantine, audit = PostgresQuarantine(database), PostgresAudit(database)
    gate, chunking = Gate(audit, clock, ids), Chunking(embedder, settings, models)
    decisions, reviewed = PostgresDecisions(database, Bm25(), clock), PostgresReview(database)
    promoter = Promoter(knowledge, chunking, clock, ids)
    promoting = Promoting(gate, promoter, decisions, idempotency, tally, settings)
    nearby = MovingLongTerm(PostgresLongTerm(database, Role.REVIEWER, large=large), models)
    review = Reviewing(
        gate=gate,
        showing=Showing(reviewed, quarantine, nearby, tombstones, embedder, clock, settings),
        deciding=Deciding(decisions, reviewed, promoter, knowledge, embedder, clock, ids, settings),
        undoing=Undoing(promoter, clock, ids),
        retracting=Retracting(reviewed, clock, ids),
        promoting=promoting,
        decisions=decisions,
        reviewed=reviewed,
        quarantine=quarantine,
        working=working,
        idempotency=idempotency,
        tally=tally,
        clock=clock,
    )
    memory = MemoryManager(
        capturing=Capturing(PostgresCaptures(database), clock, ids, settings),
        admitting=admitting,
        queue=queue,
        admissions=admissions,
        quarantine=quarantine,
        working=working,
        rebuilding=rebuilding,
        tombstoning=Tombstoning(gate, tombstones, knowledge, embedder, clock, ids, settings),
        idempotency=idempotency,
        digests=digests.desk,
        promoting=promoting,
        retrieving=retrieving,
        profiles=Profiles(groups, idempotency, clock, ids, settings),
        contexts=ContextBuilder(groups, retrieving, EstimatedTokens(), settings),
        history=MemoryRetrieving(retrieving, clock, settings),
        clock=clock,
        ids=ids,
        settings=settings,
    )
    return Clearwell(
        settings=settings,
        memory=memory,
        review=review,
        carrying_out=CarryingOut(decisions, tombstones, knowledge, chunking, clock, ids),
        uses=Uses(recalls, reviewed, clock),
        gauges=Gauges(reviewed, clock),
        keys=make_keys(settings, database),
        queue=queue,
        admitting=admitting,
        retrieving=retrieving,
        admissions=admissions,
        rebuilding=rebuilding,
        digests=digests,
        tally=tally,
        audit=audit,
        idempotency=idempotency,
        models=models,
        large=large,
        indexes=GroupIndexes(database, large, clock, rows=settings.exact_scan_rows),
        database=database,
        working=working,
        beats=ValkeyBeats(client, clock, me=ids.new(), decides=fingerprint(settings)),
        embedder=embedder,
    )


def make_digests(
    settings: Settings,
    database: Database,
    knowledge: Knowledge,
    embedder: Embedder,
    writer: InsightWriter | None,
    idempotency: IdempotencyStore,
    clock: Clock,
    ids: Ids,
) -> Digests:
    """The parts of the digest on this database. Its queue has connections of its own, made when they are needed."""
    runs, material = PostgresDigestRuns(database), PostgresDigestMaterial(database)
    jobs = PostgresJobs(
        database.url,
        connect_seconds=settings.postgres_connect_seconds,
        statement_seconds=settings.postgres_statement_seconds,
        stalled_seconds=settings.digest_stalled_seconds,
    )
    reading = Reading(material, knowledge, embedder, settings)
    writing = Writing(writer, reading, embedder, ids)
    return Digests(
        desk=DigestDesk(PostgresDigests(database), jobs, idempotency, clock, ids),
        scheduling=Scheduling(runs, jobs, clock, ids, settings),
        digesting=Digesting(runs, material, reading, writing, embedder, clock, ids, settings),
        runs=runs,
        jobs=jobs,
    )


async def _loaded(embedder: Embedder) -> None:
    """Load the word lists and the model before anybody waits for them.

    Without the model capture still works, and the rest says what is missing.
    """
    await asyncio.to_thread(sameness.features, "")
    try:
        await embedder.load()
    except Unavailable as error:
        log.error("the model cannot be loaded", reason=str(error))


async def _followed(clearwell: Clearwell) -> None:
    """Know which groups have indexes and whether the database moves to another model, before anybody searches."""
    await clearwell.large.look()
    await clearwell.models.follow()
    await clearwell.models.loaded()


async def require_model(moves: MoveStore, embedder: Embedder, configured: ModelChoice | None = None) -> None:
    """Refuse to start on vectors of another model: their distances would mean nothing. A move has two models."""
    stored, move = await moves.models(), await moves.last()
    usable = startable(stored, move)
    if stored and embedder.model not in usable:
        wanted = configured if configured is not None else ModelChoice.named(embedder.model)
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


__all__ = [
    "Clearwell",
    "Health",
    "assemble",
    "configured_model",
    "make_embedder",
    "make_model",
    "open_clearwell",
    "open_indexes",
    "open_keys",
    "open_memory",
    "open_reembedding",
    "require_model",
]
