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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Foundation:
    """What the parts of several stages are built on."""

    settings: Settings
    stores: Stores
    clock: Clock
    ids: Ids
    models: EmbeddingModels
    embedder: Embedder
    comparison: RuleComparison
    chunker: Chunker
    hasher: ValueHasher
    gate: AccessGate
    counters: Counters
    audit_events: AuditEvents
    events: EventPublisher
    announcer: DecisionAnnouncer
    recalls: RecallLog


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ingress:
    """The parts from the capture of an output to working memory."""

    recorder: CaptureRecorder
    admitter: Admitter
    turns: RequestTurns
    queue: AdmissionQueue
    rebuilder: WorkingMemoryRebuilder
    remover: EntryRemover
    statement_updater: StatementUpdater
    statement_refiner: StatementRefiner


@dataclass(frozen=True, slots=True, kw_only=True)
class _Promotion:
    """The parts that write long-term memory, and those that keep a rejected text out of it."""

    planner: PromotionPlanner
    texts: TextPromoter
    copies: CopyFinder
    completer: PromotionCompleter
    tombstones: TombstoneRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class _Retrieval:
    """The parts that read memory for agents."""

    retriever: Retriever
    memories: MemoryReader
    history: HistoryRetriever
    contexts: ContextBuilder
    fact_checker: FactChecker


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
    base = _build_foundation(settings, stores, clock, ids, models)
    feed = EventFeed(
        stores.events, clock, max_readers=settings.event_readers_max, max_own=settings.event_readers_per_key
    )
    keys = make_keys(settings, stores.keys, clock, ids, base.gate)
    ingress = _build_ingress(base, judge, segmenter)
    promotion = _build_promotion(base, ingress.remover)
    retrieval = _build_retrieval(base, assessor)
    digests = _build_digests(base, writer)
    review = _build_review(base, promotion)
    forgetter, sealer = _build_forgetter(base, signer), AuditSealer(stores.audit, stores.audit_heads, signer, clock)
    memory = _build_memory(
        base, ingress, promotion, retrieval, digests, review, forgetter, sealer, signer=signer, keys=keys, feed=feed
    )
    return Clearwell(
        settings=settings,
        stores=stores,
        memory=memory,
        admitter=ingress.admitter,
        queue=ingress.queue,
        rebuilder=ingress.rebuilder,
        recalls=base.recalls,
        events=base.events,
        feed=feed,
        digests=digests,
        review=review,
        statement_updater=ingress.statement_updater,
        statement_refiner=ingress.statement_refiner,
        promotion_completer=promotion.completer,
        retriever=retrieval.retriever,
        history=retrieval.history,
        uses=UsageRecorder(base.recalls, stores.statistics, clock),
        keys=keys,
        turns=ingress.turns,
        gate=base.gate,
        sealer=sealer,
        forgetter=forgetter,
        counters=base.counters,
        statistics=StatisticsCache(stores.statistics, clock),
        models=models,
        embedder=embedder,
    )


def _build_foundation(
    settings: Settings, stores: Stores, clock: Clock, ids: Ids, models: EmbeddingModels
) -> _Foundation:
    counters = Counters()
    events = EventPublisher(stores.events, clock, counters)
    return _Foundation(
        settings=settings,
        stores=stores,
        clock=clock,
        ids=ids,
        models=models,
        embedder=models.embedder,
        comparison=make_comparison(settings),
        chunker=Chunker(models, settings),
        hasher=ValueHasher(stores.tombstones),
        gate=AccessGate(stores.audit, stores.groups, clock, ids),
        counters=counters,
        audit_events=AuditEvents(clock, ids),
        events=events,
        announcer=DecisionAnnouncer(events),
        recalls=RecallLog(stores.recalls),
    )


def _build_ingress(base: _Foundation, judge: Judge | None, segmenter: Segmenter | None) -> _Ingress:
    settings, stores, clock = base.settings, base.stores, base.clock
    known_texts = KnownTextReader(
        stores.working,
        MultiModelSearch(stores.longterm_for_worker, base.models),
        stores.admissions,
        stores.tombstones,
        base.hasher,
        base.recalls,
        base.embedder,
    )
    lease = Lease(holder=base.ids.new(), lasts=timedelta(seconds=settings.admission_lease_seconds))
    admitter = Admitter(
        stores.admissions,
        stores.working,
        known_texts,
        base.hasher,
        base.comparison,
        base.embedder,
        judge,
        base.counters,
        base.events,
        base.audit_events,
        clock,
        settings,
        lease,
    )
    turns = RequestTurns(settings.key_requests_waiting)
    statements = StatementMaker(known_texts, base.embedder, settings)
    return _Ingress(
        recorder=CaptureRecorder(stores.captures, base.events, clock, base.ids, settings),
        admitter=admitter,
        turns=turns,
        queue=AdmissionQueue(
            admitter, stores.admissions, lease, batch=settings.admission_batch, is_behind=lambda: turns.behind
        ),
        rebuilder=WorkingMemoryRebuilder(
            stores.admissions, stores.statements, stores.working, known_texts, clock, settings
        ),
        remover=EntryRemover(stores.working, stores.admissions, base.audit_events, base.events),
        statement_updater=StatementUpdater(
            stores.statements, statements, RULES if segmenter is None else segmenter.model, clock, settings
        ),
        statement_refiner=StatementRefiner(stores.statements, statements, segmenter, clock),
    )


def _build_promotion(base: _Foundation, remover: EntryRemover) -> _Promotion:
    settings, stores, clock, ids = base.settings, base.stores, base.clock, base.ids
    known = MultiModelSearch(stores.longterm_for_worker, base.models)
    reviewed = MultiModelSearch(stores.longterm_for_reviewer, base.models)
    planner = PromotionPlanner(base.chunker, base.hasher, ConflictFinder(reviewed, base.comparison, base.embedder))
    copies = CopyFinder(stores.review, stores.working, remover)
    return _Promotion(
        planner=planner,
        texts=TextPromoter(
            gate=base.gate,
            planner=planner,
            writer=PromotionWriter(clock, ids),
            copies=copies,
            decisions=stores.decisions,
            idempotency=stores.idempotency,
            counters=base.counters,
            announcer=base.announcer,
            settings=settings,
        ),
        copies=copies,
        completer=PromotionCompleter(
            stores.decisions,
            stores.tombstones,
            base.hasher,
            base.chunker,
            ConflictFinder(known, base.comparison, base.embedder),
            copies,
            base.announcer,
            clock,
            ids,
        ),
        tombstones=TombstoneRegistry(
            gate=base.gate,
            tombstones=stores.tombstones,
            decisions=stores.decisions,
            lifter=TombstoneLifter(base.embedder, settings),
            rejection=ValueRejection(base.hasher, base.embedder, ids),
            copies=copies,
            withdrawal=Withdrawal(clock, ids),
            idempotency=stores.idempotency,
            events=base.events,
            announcer=base.announcer,
            clock=clock,
            ids=ids,
            settings=settings,
        ),
    )


def _build_retrieval(base: _Foundation, assessor: EvidenceAssessor | None) -> _Retrieval:
    settings, stores, clock = base.settings, base.stores, base.clock
    longterm = MultiModelSearch(stores.longterm, base.models)
    retriever = Retriever(
        stores.working,
        longterm,
        base.recalls,
        base.events,
        base.embedder,
        clock,
        AgentNames(stores.groups, seconds=NAMES_SHARE * settings.retrieve_timeout_seconds),
        Rejections(stores.tombstones, base.hasher),
        settings,
    )
    return _Retrieval(
        retriever=retriever,
        memories=MemoryReader(longterm),
        history=HistoryRetriever(retriever, base.events, clock, settings),
        contexts=ContextBuilder(stores.groups, retriever, TokenEstimator(), clock, settings),
        fact_checker=FactChecker(
            retriever, assessor or RuleAssessor(base.comparison, base.embedder), base.events, clock, settings
        ),
    )


def _build_digests(base: _Foundation, writer: InsightWriter | None) -> Digests:
    settings, stores, clock, ids = base.settings, base.stores, base.clock, base.ids
    runs, material = stores.digest_runs, stores.digest_material
    reader = MaterialReader(material, base.hasher, base.embedder, settings)
    composer = InsightComposer(writer, reader, base.embedder, ids)
    return Digests(
        requests=DigestRequests(stores.digests, stores.idempotency, base.events, clock, ids),
        scheduler=DigestScheduler(runs, base.events, clock, ids, settings),
        runner=DigestRunner(
            runs, material, reader, composer, base.comparison, base.embedder, base.events, clock, ids, settings
        ),
    )


def _build_review(base: _Foundation, promotion: _Promotion) -> ReviewService:
    settings, stores, clock, ids = base.settings, base.stores, base.clock, base.ids
    longterm = MultiModelSearch(stores.longterm_for_reviewer, base.models)
    recorder, withdrawal = DecisionRecorder(clock, ids), Withdrawal(clock, ids)
    rejection = ValueRejection(base.hasher, base.embedder, ids)
    retraction = Retraction(stores.provenance, promotion.copies, withdrawal, rejection, clock)
    return ReviewService(
        by=NOBODY,
        gate=base.gate,
        dossiers=DossierBuilder(
            stores.review,
            stores.quarantine,
            longterm,
            stores.tombstones,
            base.comparison,
            base.embedder,
            clock,
            settings,
        ),
        executor=DecisionExecutor(
            promotion=InsightPromotion(stores.review, promotion.planner, PromotionWriter(clock, ids), clock, settings),
            rejection=InsightRejection(stores.review, rejection, recorder, promotion.copies, withdrawal, clock, ids),
            merge=InsightMerge(recorder, clock, ids, settings),
            snooze=InsightSnooze(recorder, clock, ids),
            undo=DecisionUndo(MemoryValidity(base.hasher), TombstoneLifter(base.embedder, settings), clock, ids),
            retraction=retraction,
            copies=promotion.copies,
            decisions=stores.decisions,
            idempotency=stores.idempotency,
            counters=base.counters,
            announcer=base.announcer,
        ),
        retraction=retraction,
        outputs=OutputPromoter(
            gate=base.gate,
            texts=promotion.texts,
            quarantine=stores.quarantine,
            working=stores.working,
            idempotency=stores.idempotency,
        ),
        review=stores.review,
        provenance=stores.provenance,
        statistics=stores.statistics,
        clock=clock,
    )


def _build_forgetter(base: _Foundation, signer: Signer) -> Forgetter:
    stores = base.stores
    return Forgetter(
        planner=ErasurePlanner(stores.erasure, base.hasher),
        erasure=stores.erasure,
        working=stores.working,
        recalls=stores.recalls,
        events=stores.events,
        signer=signer,
        clock=base.clock,
        ids=base.ids,
    )


def _build_memory(
    base: _Foundation,
    ingress: _Ingress,
    promotion: _Promotion,
    retrieval: _Retrieval,
    digests: Digests,
    review: ReviewService,
    forgetter: Forgetter,
    sealer: AuditSealer,
    *,
    signer: Signer,
    keys: KeyRing,
    feed: EventFeed,
) -> MemoryManager:
    settings, stores, clock, ids = base.settings, base.stores, base.clock, base.ids
    return MemoryManager(
        by=NOBODY,
        gate=base.gate,
        forgetter=forgetter,
        exporter=GroupExporter(stores.archive, stores.audit, signer, clock, ids),
        importer=GroupImporter(stores.archive, base.hasher, base.chunker, signer, clock, ids),
        assigner=OutputAssigner(stores.quarantine, ingress.recorder, ingress.queue, stores.audit, clock, ids),
        trail=AuditTrail(stores.audit, sealer, AuditVerifier(stores.audit, stores.audit_heads, signer, clock)),
        intake=Intake(ingress.recorder, ingress.admitter, ingress.queue, stores.admissions, settings),
        requeuer=Requeuer(stores.admissions, ingress.queue, stores.idempotency, base.audit_events, base.events),
        quarantine=QuarantineReader(stores.quarantine, stores.admissions),
        override=RefusalOverride(
            gate=base.gate,
            quarantine=stores.quarantine,
            admissions=stores.admissions,
            admitter=ingress.admitter,
            idempotency=stores.idempotency,
            audit_events=base.audit_events,
        ),
        working=stores.working,
        remover=ingress.remover,
        rebuilder=ingress.rebuilder,
        tombstones=promotion.tombstones,
        idempotency=stores.idempotency,
        digests=digests.requests,
        review=review,
        texts=promotion.texts,
        retriever=retrieval.retriever,
        memories=retrieval.memories,
        origins=OriginReader(retrieval.memories, stores.provenance, keys),
        profiles=GroupProfiles(stores.groups, stores.idempotency, clock, ids, settings),
        contexts=retrieval.contexts,
        history=retrieval.history,
        feed=feed,
        fact_checker=retrieval.fact_checker,
        settings=settings,
    )
