"""Builds the program from ports: from the real stores, or in tests from their in-memory twins."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from clearwell.comparison import RuleComparison
from clearwell.errors import Unavailable
from clearwell.flow.access.gate import AccessGate
from clearwell.flow.access.keys import KeyRing
from clearwell.flow.access.rates import RequestRates
from clearwell.flow.access.turns import RequestTurns
from clearwell.flow.archive.exporter import GroupExporter
from clearwell.flow.archive.importer import GroupImporter
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.audit.seals import AuditSealer
from clearwell.flow.audit.trail import AuditTrail
from clearwell.flow.audit.verification import AuditVerifier
from clearwell.flow.capture.assignment import OutputAssigner
from clearwell.flow.capture.intake import CaptureRecorder, Intake
from clearwell.flow.capture.quarantine import QuarantineReader
from clearwell.flow.context.builder import ContextBuilder
from clearwell.flow.context.retrieval_node import HistoryRetriever
from clearwell.flow.context.tokens import TokenEstimator
from clearwell.flow.counters import Counters
from clearwell.flow.digest import DigestRequests, DigestRunner, DigestScheduler, InsightComposer, MaterialReader
from clearwell.flow.erasure.forgetter import Forgetter
from clearwell.flow.erasure.planning import ErasurePlanner
from clearwell.flow.events.decisions import DecisionAnnouncer
from clearwell.flow.events.feed import EventFeed
from clearwell.flow.events.publisher import EventPublisher
from clearwell.flow.factcheck.assessor import RuleAssessor
from clearwell.flow.factcheck.checker import FactChecker
from clearwell.flow.groups import GroupProfiles
from clearwell.flow.ingress.admission import Admitter
from clearwell.flow.ingress.known_texts import KnownTextReader
from clearwell.flow.ingress.override import RefusalOverride
from clearwell.flow.ingress.queue import AdmissionQueue
from clearwell.flow.ingress.refinement import StatementRefiner
from clearwell.flow.ingress.requeue import Requeuer
from clearwell.flow.ingress.segmentation import StatementMaker, StatementUpdater
from clearwell.flow.promotion.completion import PromotionCompleter
from clearwell.flow.promotion.conflicts import ConflictFinder
from clearwell.flow.promotion.copies import CopyFinder
from clearwell.flow.promotion.outputs import OutputPromoter
from clearwell.flow.promotion.planning import Chunker, PromotionPlanner
from clearwell.flow.promotion.texts import TextPromoter
from clearwell.flow.promotion.withdrawal import Withdrawal
from clearwell.flow.promotion.writing import PromotionWriter
from clearwell.flow.reembedding.models import EmbeddingModels, MultiModelSearch
from clearwell.flow.retrieval.agent_names import NAMES_SHARE, AgentNames
from clearwell.flow.retrieval.memories import MemoryReader
from clearwell.flow.retrieval.rejections import Rejections
from clearwell.flow.retrieval.retriever import Retriever
from clearwell.flow.review import ReviewService, StatisticsCache
from clearwell.flow.review.dossier import DossierBuilder
from clearwell.flow.review.executor import DecisionExecutor
from clearwell.flow.review.merge import InsightMerge
from clearwell.flow.review.origins import OriginReader
from clearwell.flow.review.promotion import InsightPromotion
from clearwell.flow.review.recorder import DecisionRecorder
from clearwell.flow.review.rejection import InsightRejection
from clearwell.flow.review.retraction import Retraction
from clearwell.flow.review.snooze import InsightSnooze
from clearwell.flow.review.undo import DecisionUndo
from clearwell.flow.review.validity import MemoryValidity
from clearwell.flow.tombstones.hashing import ValueHasher
from clearwell.flow.tombstones.registry import TombstoneLifter, TombstoneRegistry
from clearwell.flow.tombstones.rejection import ValueRejection
from clearwell.flow.working.maintenance import EntryRemover, WorkingMemoryRebuilder
from clearwell.flow.working.recalls import RecallLog, UsageRecorder
from clearwell.messages import say
from clearwell.ports import (
    Clock,
    Embedder,
    EvidenceAssessor,
    Ids,
    InsightWriter,
    Judge,
    KeyStore,
    Lease,
    Segmenter,
    Signer,
    StatementComparison,
    Stores,
)
from clearwell.records import NOBODY, ModelChoice
from clearwell.service import MemoryManager
from clearwell.settings import Settings
from clearwell.vocabulary import RULES


@dataclass(frozen=True, slots=True)
class Health:
    """``ready`` once PostgreSQL is reachable and migrated and the model has embedded; the rest is ``degraded``.

    ``workers`` are the processes that do the duties of the worker; None if Redis or Valkey, where they report, does not
    respond.
    """

    ready: bool
    problems: dict[str, str]
    workers: int | None = None


@dataclass(frozen=True, slots=True)
class Digests:
    """The parts that accept requests for digests, find those that are due, and make them."""

    requests: DigestRequests
    scheduler: DigestScheduler
    runner: DigestRunner


@dataclass(frozen=True, slots=True)
class Clearwell:
    """The program: its parts in the order of the path, and the stores that it was built from.

    ``memory`` and ``review`` have no rights until they are bound to a caller by ``acting_as``.
    """

    settings: Settings
    stores: Stores
    memory: MemoryManager
    admitter: Admitter
    queue: AdmissionQueue
    rebuilder: WorkingMemoryRebuilder
    recalls: RecallLog
    events: EventPublisher
    feed: EventFeed
    digests: Digests
    review: ReviewService
    statement_updater: StatementUpdater
    statement_refiner: StatementRefiner
    promotion_completer: PromotionCompleter
    retriever: Retriever
    history: HistoryRetriever
    uses: UsageRecorder
    keys: KeyRing
    turns: RequestTurns
    gate: AccessGate
    sealer: AuditSealer
    forgetter: Forgetter
    counters: Counters
    statistics: StatisticsCache
    models: EmbeddingModels
    embedder: Embedder

    async def health(self) -> Health:
        """Check all components concurrently, with the time limit of retrieval for each."""
        parts: dict[str, Awaitable[object]] = {
            "database": self.stores.longterm.ping(),
            "working_memory": self.stores.working.ping(),
            "embedder": self.embedder.embed(["ready?"]),
        }
        workers, answers = await asyncio.gather(
            self._count_workers(), asyncio.gather(*(self._find_problem(asked) for asked in parts.values()))
        )
        problems = {name: problem for name, problem in zip(parts, answers, strict=True) if problem is not None}
        if (resumes_at := self.admitter.judge_resumes_at) is not None:
            problems["judge"] = say("judge_waits", at=f"{resumes_at:%Y-%m-%d %H:%M} UTC")
        is_ready = "database" not in problems and "embedder" not in problems
        return Health(ready=is_ready, problems=problems, workers=workers)

    async def _count_workers(self) -> int | None:
        try:
            async with asyncio.timeout(self.settings.retrieve_timeout_seconds):
                return await self.stores.heartbeats.count_alive()
        except (Unavailable, TimeoutError):
            return None

    async def _find_problem(self, asked: Awaitable[object]) -> str | None:
        seconds = self.settings.retrieve_timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                await asked
        except Unavailable as error:
            return str(error)
        except TimeoutError:
            return f"no answer in {seconds:g} s"
        return None


def make_keys(settings: Settings, keys: KeyStore, clock: Clock, ids: Ids, gate: AccessGate) -> KeyRing:
    remember = timedelta(seconds=settings.key_memory_seconds)
    patience = timedelta(seconds=settings.retrieve_timeout_seconds)
    rates = RequestRates(settings.key_requests_per_minute)
    return KeyRing(keys, clock, ids, gate, remember=remember, rates=rates, patience=patience)


def make_comparison(settings: Settings) -> RuleComparison:
    return RuleComparison(
        duplicate_similarity=settings.duplicate_similarity, conflict_similarity=settings.conflict_similarity
    )


def build(
    settings: Settings,
    stores: Stores,
    clock: Clock,
    ids: Ids,
    *,
    embedder: Embedder,
    make_model: Callable[[ModelChoice], Embedder],
    signer: Signer,
    judge: Judge | None = None,
    assessor: EvidenceAssessor | None = None,
    writer: InsightWriter | None = None,
    segmenter: Segmenter | None = None,
) -> Clearwell:
    """Build the program on these stores and models. ``make_model`` makes the other model of a re-embedding, ``signer``
    signs the seals of the audit.

    Without an ``assessor``, claims are checked by the comparison rules.
    """
    models = EmbeddingModels(embedder, stores.reembeddings, make_model)
    counters, audit_events, recalls = Counters(), AuditEvents(clock, ids), RecallLog(stores.recalls)
    events = EventPublisher(stores.events, clock, counters)
    announcer = DecisionAnnouncer(events)
    feed = EventFeed(
        stores.events, clock, max_readers=settings.event_readers_max, max_own=settings.event_readers_per_key
    )
    gate, chunker = AccessGate(stores.audit, clock, ids), Chunker(models, settings)
    known = MultiModelSearch(stores.longterm_for_worker, models)
    hasher = ValueHasher(stores.tombstones)
    known_texts = KnownTextReader(
        stores.working, known, stores.admissions, stores.tombstones, hasher, recalls, embedder
    )
    comparison = make_comparison(settings)
    lease = Lease(holder=ids.new(), lasts=timedelta(seconds=settings.admission_lease_seconds))
    admitter = Admitter(
        stores.admissions,
        stores.working,
        known_texts,
        hasher,
        comparison,
        embedder,
        judge,
        counters,
        events,
        audit_events,
        clock,
        settings,
        lease,
    )
    turns = RequestTurns(settings.key_requests_waiting)
    queue = AdmissionQueue(
        admitter, stores.admissions, lease, batch=settings.admission_batch, is_behind=lambda: turns.behind
    )
    rebuilder = WorkingMemoryRebuilder(
        stores.admissions, stores.statements, stores.working, known_texts, clock, settings
    )
    longterm = MultiModelSearch(stores.longterm, models)
    memories, keys = MemoryReader(longterm), make_keys(settings, stores.keys, clock, ids, gate)
    names = AgentNames(stores.groups, seconds=NAMES_SHARE * settings.retrieve_timeout_seconds)
    retriever = Retriever(
        stores.working,
        longterm,
        recalls,
        events,
        embedder,
        clock,
        names,
        Rejections(stores.tombstones, hasher),
        settings,
    )
    history = HistoryRetriever(retriever, events, clock, settings)
    fact_checker = FactChecker(retriever, assessor or RuleAssessor(comparison, embedder), events, clock, settings)
    conflicts = ConflictFinder(MultiModelSearch(stores.longterm_for_reviewer, models), comparison, embedder)
    planner = PromotionPlanner(chunker, hasher, conflicts)
    texts = TextPromoter(
        gate=gate,
        planner=planner,
        writer=PromotionWriter(clock, ids),
        decisions=stores.decisions,
        idempotency=stores.idempotency,
        counters=counters,
        announcer=announcer,
        settings=settings,
    )
    digests = _build_digests(settings, stores, hasher, comparison, embedder, writer, events, clock, ids)
    remover = EntryRemover(stores.working, stores.admissions, audit_events, events)
    copies = CopyFinder(stores.review, stores.working, remover)
    review = _build_review(
        settings, stores, gate, models, hasher, comparison, planner, texts, copies, counters, announcer, clock, ids
    )
    statements = StatementMaker(known_texts, embedder, settings)
    recorder = CaptureRecorder(stores.captures, events, clock, ids, settings)
    forgetter = Forgetter(
        planner=ErasurePlanner(stores.erasure, hasher),
        erasure=stores.erasure,
        working=stores.working,
        recalls=stores.recalls,
        events=stores.events,
        signer=signer,
        clock=clock,
        ids=ids,
    )
    sealer = AuditSealer(stores.audit, stores.audit_heads, signer, clock)
    memory = MemoryManager(
        by=NOBODY,
        gate=gate,
        forgetter=forgetter,
        exporter=GroupExporter(stores.archive, stores.audit, signer, clock, ids),
        importer=GroupImporter(stores.archive, hasher, chunker, signer, clock, ids),
        assigner=OutputAssigner(stores.quarantine, recorder, queue, stores.audit, clock, ids),
        trail=AuditTrail(stores.audit, sealer, AuditVerifier(stores.audit, stores.audit_heads, signer, clock)),
        intake=Intake(recorder, admitter, queue, stores.admissions, settings),
        requeuer=Requeuer(stores.admissions, queue, stores.idempotency, audit_events, events),
        quarantine=QuarantineReader(stores.quarantine, stores.admissions),
        override=RefusalOverride(
            gate=gate,
            quarantine=stores.quarantine,
            admissions=stores.admissions,
            admitter=admitter,
            idempotency=stores.idempotency,
            audit_events=audit_events,
        ),
        working=stores.working,
        remover=remover,
        rebuilder=rebuilder,
        tombstones=TombstoneRegistry(
            gate=gate,
            tombstones=stores.tombstones,
            decisions=stores.decisions,
            lifter=TombstoneLifter(embedder, settings),
            rejection=ValueRejection(hasher, embedder, ids),
            copies=copies,
            withdrawal=Withdrawal(clock, ids),
            idempotency=stores.idempotency,
            events=events,
            announcer=announcer,
            clock=clock,
            ids=ids,
            settings=settings,
        ),
        idempotency=stores.idempotency,
        digests=digests.requests,
        review=review,
        texts=texts,
        retriever=retriever,
        memories=memories,
        origins=OriginReader(memories, stores.provenance, keys),
        profiles=GroupProfiles(stores.groups, stores.idempotency, clock, ids, settings),
        contexts=ContextBuilder(stores.groups, retriever, TokenEstimator(), clock, settings),
        history=history,
        feed=feed,
        fact_checker=fact_checker,
        settings=settings,
    )
    return Clearwell(
        settings=settings,
        stores=stores,
        memory=memory,
        admitter=admitter,
        queue=queue,
        rebuilder=rebuilder,
        recalls=recalls,
        events=events,
        feed=feed,
        digests=digests,
        review=review,
        statement_updater=StatementUpdater(
            stores.statements, statements, RULES if segmenter is None else segmenter.model, clock, settings
        ),
        statement_refiner=StatementRefiner(stores.statements, statements, segmenter, clock),
        promotion_completer=PromotionCompleter(
            stores.decisions,
            stores.tombstones,
            hasher,
            chunker,
            ConflictFinder(known, comparison, embedder),
            announcer,
            clock,
            ids,
        ),
        retriever=retriever,
        history=history,
        uses=UsageRecorder(recalls, stores.statistics, clock),
        keys=keys,
        turns=turns,
        gate=gate,
        sealer=sealer,
        forgetter=forgetter,
        counters=counters,
        statistics=StatisticsCache(stores.statistics, clock),
        models=models,
        embedder=embedder,
    )


def _build_review(
    settings: Settings,
    stores: Stores,
    gate: AccessGate,
    models: EmbeddingModels,
    hasher: ValueHasher,
    comparison: RuleComparison,
    planner: PromotionPlanner,
    texts: TextPromoter,
    copies: CopyFinder,
    counters: Counters,
    announcer: DecisionAnnouncer,
    clock: Clock,
    ids: Ids,
) -> ReviewService:
    longterm = MultiModelSearch(stores.longterm_for_reviewer, models)
    writer = PromotionWriter(clock, ids)
    recorder, embedder = DecisionRecorder(clock, ids), models.embedder
    withdrawal, rejection = Withdrawal(clock, ids), ValueRejection(hasher, embedder, ids)
    retraction = Retraction(stores.provenance, copies, withdrawal, rejection, clock)
    return ReviewService(
        by=NOBODY,
        gate=gate,
        dossiers=DossierBuilder(
            stores.review, stores.quarantine, longterm, stores.tombstones, comparison, embedder, clock, settings
        ),
        executor=DecisionExecutor(
            promotion=InsightPromotion(stores.review, planner, writer, clock, settings),
            rejection=InsightRejection(stores.review, rejection, recorder, copies, withdrawal, clock, ids),
            merge=InsightMerge(recorder, clock, ids, settings),
            snooze=InsightSnooze(recorder, clock, ids),
            undo=DecisionUndo(MemoryValidity(hasher), TombstoneLifter(embedder, settings), clock, ids),
            retraction=retraction,
            decisions=stores.decisions,
            idempotency=stores.idempotency,
            counters=counters,
            announcer=announcer,
        ),
        retraction=retraction,
        outputs=OutputPromoter(
            gate=gate,
            texts=texts,
            quarantine=stores.quarantine,
            working=stores.working,
            idempotency=stores.idempotency,
        ),
        review=stores.review,
        provenance=stores.provenance,
        statistics=stores.statistics,
        clock=clock,
    )


def _build_digests(
    settings: Settings,
    stores: Stores,
    hasher: ValueHasher,
    comparison: StatementComparison,
    embedder: Embedder,
    writer: InsightWriter | None,
    events: EventPublisher,
    clock: Clock,
    ids: Ids,
) -> Digests:
    runs, material = stores.digest_runs, stores.digest_material
    reader = MaterialReader(material, hasher, embedder, settings)
    composer = InsightComposer(writer, reader, embedder, ids)
    return Digests(
        requests=DigestRequests(stores.digests, stores.idempotency, events, clock, ids),
        scheduler=DigestScheduler(runs, events, clock, ids, settings),
        runner=DigestRunner(runs, material, reader, composer, comparison, embedder, events, clock, ids, settings),
    )
