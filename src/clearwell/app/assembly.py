"""Wires the path to its stores and models."""

from datetime import timedelta

from clearwell.app.models import make_model
from clearwell.app.program import SystemClock, TimeOrderedIds
from clearwell.app.running import Clearwell, Digests
from clearwell.flow.admit import Admitting
from clearwell.flow.alike import fingerprint
from clearwell.flow.audit import Audited
from clearwell.flow.capture import Capturing
from clearwell.flow.carry_out import CarryingOut
from clearwell.flow.chunks import Chunking
from clearwell.flow.context import ContextBuilder
from clearwell.flow.digesting import DigestDesk, Digesting, Reading, Scheduling, Writing
from clearwell.flow.gate import Gate
from clearwell.flow.intake import Intake
from clearwell.flow.keyring import KeyRing
from clearwell.flow.known import Knowledge
from clearwell.flow.lexical import Bm25
from clearwell.flow.lifting import Lifting
from clearwell.flow.moving import Models, MovingLongTerm
from clearwell.flow.node import MemoryRetrieving
from clearwell.flow.profiles import Profiles
from clearwell.flow.promote import Promoting
from clearwell.flow.promoter import Promoter
from clearwell.flow.queue import AdmissionQueue
from clearwell.flow.rebuild import Rebuilding
from clearwell.flow.recalling import Recalling
from clearwell.flow.removing import Removing
from clearwell.flow.requeue import Requeueing
from clearwell.flow.retrieve import Retrieving
from clearwell.flow.review import AtDesk, Deciding, Gauges, Retracting, Reviewing, Showing, Undoing
from clearwell.flow.tally import Tally
from clearwell.flow.tokens import EstimatedTokens
from clearwell.flow.tombstones import Tombstoning
from clearwell.flow.uses import Uses
from clearwell.ports import BackOff, Clock, Embedder, IdempotencyStore, Ids, InsightWriter, Judge
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
)
from clearwell.stores.valkey import ValkeyBeats, ValkeyRecalls, ValkeyWorking, open_client


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
    recalls = Recalling(ValkeyRecalls(client, clock, remember=timedelta(seconds=settings.recall_seconds)))
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
        deciding=Deciding(reviewed, promoter, knowledge, embedder, clock, ids, settings),
        undoing=Undoing(promoter, Lifting(embedder, settings), clock, ids),
        retracting=Retracting(reviewed, clock, ids),
        promoting=promoting,
        desk=AtDesk(decisions, idempotency, tally),
        reviewed=reviewed,
        quarantine=quarantine,
        working=working,
        idempotency=idempotency,
        clock=clock,
    )
    capturing, audited = Capturing(PostgresCaptures(database), clock, ids, settings), Audited(clock, ids)
    removing = Removing(working, admissions, audited)
    memory = MemoryManager(
        capturing=capturing,
        intake=Intake(capturing, queue, admissions, settings),
        admitting=admitting,
        requeueing=Requeueing(admissions, queue, idempotency, audited),
        admissions=admissions,
        quarantine=quarantine,
        working=working,
        removing=removing,
        rebuilding=rebuilding,
        tombstoning=Tombstoning(
            gate, tombstones, decisions, knowledge, removing, idempotency, embedder, clock, ids, settings
        ),
        idempotency=idempotency,
        digests=digests.desk,
        review=review,
        promoting=promoting,
        retrieving=retrieving,
        profiles=Profiles(groups, idempotency, clock, ids, settings),
        contexts=ContextBuilder(groups, retrieving, EstimatedTokens(), settings),
        history=MemoryRetrieving(retrieving, clock, settings),
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
