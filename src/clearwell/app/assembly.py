"""Wires the path to its stores and models."""

from datetime import timedelta

from clearwell.app.models import make_model
from clearwell.app.program import SystemClock, TimeOrderedIds
from clearwell.app.running import Clearwell, Digests
from clearwell.flow.access.gate import Gate
from clearwell.flow.access.keys import KeyRing
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.capture.intake import Intake
from clearwell.flow.capture.recorder import CaptureRecorder
from clearwell.flow.context.builder import ContextBuilder
from clearwell.flow.context.retrieval_node import HistoryRetriever
from clearwell.flow.context.tokens import EstimatedTokens
from clearwell.flow.counters import Counters
from clearwell.flow.digest import DigestRequests, DigestRunner, DigestScheduler, InsightComposer, MaterialReader
from clearwell.flow.groups import GroupProfiles
from clearwell.flow.ingress.admission import Admitter
from clearwell.flow.ingress.fingerprint import fingerprint
from clearwell.flow.ingress.knowledge import Knowledge
from clearwell.flow.ingress.queue import AdmissionQueue
from clearwell.flow.ingress.requeue import Requeuer
from clearwell.flow.promotion.chunks import Chunker
from clearwell.flow.promotion.lifting import TombstoneLifter
from clearwell.flow.promotion.promoter import Promoter
from clearwell.flow.promotion.texts import Promoting
from clearwell.flow.promotion.tombstones import TombstoneRegistry
from clearwell.flow.promotion.waiting import WaitingPromotions
from clearwell.flow.reembedding.models import Models, MovingLongTerm
from clearwell.flow.retrieval.bm25 import Bm25
from clearwell.flow.retrieval.retriever import Retriever
from clearwell.flow.review import AtDesk, Deciding, Gauges, Retracting, Reviewing, Showing, Undoing
from clearwell.flow.working.rebuild import WorkingMemoryRebuilder
from clearwell.flow.working.recalls import RecallLog
from clearwell.flow.working.removal import EntryRemover
from clearwell.flow.working.usage import UsageRecorder
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
    recalls = RecallLog(ValkeyRecalls(client, clock, remember=timedelta(seconds=settings.recall_seconds)))
    tombstones = PostgresTombstones(database)
    knowledge = Knowledge(working, compared, admissions, tombstones, recalls, embedder)
    counters = Counters()
    admitter = Admitter(admissions, working, knowledge, embedder, judge, counters, clock, settings)
    queue = AdmissionQueue(admitter, batch=settings.admission_batch)
    rebuilder = WorkingMemoryRebuilder(admissions, working, knowledge, clock, settings)
    retriever = Retriever(working, longterm, recalls, embedder, clock, settings)
    groups = PostgresGroups(database)
    digests = make_digests(settings, database, knowledge, embedder, writer, idempotency, clock, ids)
    quarantine, audit = PostgresQuarantine(database), PostgresAudit(database)
    gate, chunking = Gate(audit, clock, ids), Chunker(embedder, settings, models)
    decisions, reviewed = PostgresDecisions(database, Bm25(), clock), PostgresReview(database)
    promoter = Promoter(knowledge, chunking, clock, ids)
    promoting = Promoting(gate, promoter, decisions, idempotency, counters, settings)
    nearby = MovingLongTerm(PostgresLongTerm(database, Role.REVIEWER, large=large), models)
    review = Reviewing(
        gate=gate,
        showing=Showing(reviewed, quarantine, nearby, tombstones, embedder, clock, settings),
        deciding=Deciding(reviewed, promoter, knowledge, embedder, clock, ids, settings),
        undoing=Undoing(promoter, TombstoneLifter(embedder, settings), clock, ids),
        retracting=Retracting(reviewed, clock, ids),
        promoting=promoting,
        desk=AtDesk(decisions, idempotency, counters),
        reviewed=reviewed,
        quarantine=quarantine,
        working=working,
        idempotency=idempotency,
        clock=clock,
    )
    recorder, audit_events = CaptureRecorder(PostgresCaptures(database), clock, ids, settings), AuditEvents(clock, ids)
    remover = EntryRemover(working, admissions, audit_events)
    memory = MemoryManager(
        recorder=recorder,
        intake=Intake(recorder, queue, admissions, settings),
        admitter=admitter,
        requeuer=Requeuer(admissions, queue, idempotency, audit_events),
        admissions=admissions,
        quarantine=quarantine,
        working=working,
        remover=remover,
        rebuilder=rebuilder,
        tombstones=TombstoneRegistry(
            gate, tombstones, decisions, knowledge, remover, idempotency, embedder, clock, ids, settings
        ),
        idempotency=idempotency,
        digests=digests.desk,
        review=review,
        promoting=promoting,
        retriever=retriever,
        profiles=GroupProfiles(groups, idempotency, clock, ids, settings),
        contexts=ContextBuilder(groups, retriever, EstimatedTokens(), settings),
        history=HistoryRetriever(retriever, clock, settings),
        settings=settings,
    )
    return Clearwell(
        settings=settings,
        memory=memory,
        review=review,
        waiting_promotions=WaitingPromotions(decisions, tombstones, knowledge, chunking, clock, ids),
        uses=UsageRecorder(recalls, reviewed, clock),
        gauges=Gauges(reviewed, clock),
        keys=make_keys(settings, database),
        queue=queue,
        admitter=admitter,
        retriever=retriever,
        admissions=admissions,
        rebuilder=rebuilder,
        digests=digests,
        counters=counters,
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
    reading = MaterialReader(material, knowledge, embedder, settings)
    writing = InsightComposer(writer, reading, embedder, ids)
    return Digests(
        desk=DigestRequests(PostgresDigests(database), jobs, idempotency, clock, ids),
        scheduler=DigestScheduler(runs, jobs, clock, ids, settings),
        runner=DigestRunner(runs, material, reading, writing, embedder, clock, ids, settings),
        runs=runs,
        jobs=jobs,
    )
