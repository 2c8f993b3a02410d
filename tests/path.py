"""The whole path on twins, and words for tests of it."""

from dataclasses import dataclass, field
from datetime import timedelta

from clearwell.flow.access.gate import Gate
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
from clearwell.flow.ingress.knowledge import Knowledge
from clearwell.flow.ingress.queue import AdmissionQueue
from clearwell.flow.ingress.requeue import Requeuer
from clearwell.flow.promotion.chunks import Chunker
from clearwell.flow.promotion.lifting import TombstoneLifter
from clearwell.flow.promotion.promoter import Promoter
from clearwell.flow.promotion.texts import Promoting
from clearwell.flow.promotion.tombstones import TombstoneRegistry
from clearwell.flow.promotion.waiting import WaitingPromotions
from clearwell.flow.retrieval.bm25 import Bm25
from clearwell.flow.retrieval.retriever import Retriever
from clearwell.flow.review import AtDesk, Deciding, Retracting, Reviewing, Showing, Undoing
from clearwell.flow.working.rebuild import WorkingMemoryRebuilder
from clearwell.flow.working.recalls import RecallLog
from clearwell.flow.working.removal import EntryRemover
from clearwell.ports import Embedder, InsightWriter, Judge, LongTermSearch, WorkingStore
from clearwell.records import NewCapture, Principal, Right
from clearwell.service import MemoryManager
from clearwell.settings import Settings
from clearwell.testing import (
    CountedIds,
    ManualClock,
    MemoryAudit,
    MemoryDecisions,
    MemoryDigestQueue,
    MemoryDigests,
    MemoryGroups,
    MemoryIdempotency,
    MemoryLedger,
    MemoryLongTerm,
    MemoryQuarantine,
    MemoryRecalls,
    MemoryReview,
    MemoryTombstones,
    MemoryWorking,
    WordEmbedder,
)

PERSON = Principal.local()
AGENT = Principal(name="bot", rights=frozenset({Right.CAPTURE, Right.READ}), groups=frozenset({"g"}))
LONG = "The payment service was moved to the new cluster on Monday without any downtime at all."
OTHER = "Nightly backups of the billing database now take eleven minutes instead of forty minutes."


@dataclass
class Path:
    """Every part within reach of a test."""

    settings: Settings = field(default_factory=Settings)
    clock: ManualClock = field(default_factory=ManualClock)
    embedder: Embedder = field(default_factory=WordEmbedder)
    working: WorkingStore | None = None
    search: LongTermSearch | None = None
    judge: Judge | None = None
    groups: MemoryGroups = field(default_factory=MemoryGroups)
    writer: InsightWriter | None = None

    def __post_init__(self) -> None:
        self.ids = CountedIds()
        self.quarantine = MemoryQuarantine(self.clock, ttl=timedelta(seconds=self.settings.working_ttl_seconds))
        self.idempotency = MemoryIdempotency(self.clock, self.ids)
        self.longterm = MemoryLongTerm(Bm25())
        working = self.working or MemoryWorking(self.clock, size=self.settings.working_size)
        search = self.search or self.longterm
        self.recalls, self.tombstones = RecallLog(MemoryRecalls(self.clock)), MemoryTombstones()
        self.counters = Counters()
        knowledge = Knowledge(working, search, self.quarantine, self.tombstones, self.recalls, self.embedder)
        self.admitter = Admitter(
            self.quarantine, working, knowledge, self.embedder, self.judge, self.counters, self.clock, self.settings
        )
        self.rebuilder = WorkingMemoryRebuilder(self.quarantine, working, knowledge, self.clock, self.settings)
        self.queue = AdmissionQueue(self.admitter, batch=self.settings.admission_batch)
        self.retriever = Retriever(working, search, self.recalls, self.embedder, self.clock, self.settings)
        self.history = HistoryRetriever(self.retriever, self.clock, self.settings)
        self.ledger = MemoryLedger()
        self.digests = MemoryDigests(self.quarantine, self.longterm, self.tombstones, self.ledger, self.groups)
        self.digest_queue = MemoryDigestQueue()
        reading = MaterialReader(self.digests, knowledge, self.embedder, self.settings)
        writing = InsightComposer(self.writer, reading, self.embedder, self.ids)
        self.runner = DigestRunner(
            self.digests, self.digests, reading, writing, self.embedder, self.clock, self.ids, self.settings
        )
        self.scheduler = DigestScheduler(self.digests, self.digest_queue, self.clock, self.ids, self.settings)
        self.decisions = MemoryDecisions(self.ledger, self.longterm, self.tombstones, self.idempotency, self.clock)
        self.reviewed = MemoryReview(self.ledger, self.quarantine, self.longterm, self.digests)
        self.audit = MemoryAudit()
        self.gate, self.chunking = Gate(self.audit, self.clock, self.ids), Chunker(self.embedder, self.settings)
        self.promoter = Promoter(knowledge, self.chunking, self.clock, self.ids)
        self.promoting = Promoting(
            self.gate, self.promoter, self.decisions, self.idempotency, self.counters, self.settings
        )
        self.review = Reviewing(
            gate=self.gate,
            showing=Showing(
                self.reviewed, self.quarantine, search, self.tombstones, self.embedder, self.clock, self.settings
            ),
            deciding=Deciding(
                self.reviewed,
                self.promoter,
                knowledge,
                self.embedder,
                self.clock,
                self.ids,
                self.settings,
            ),
            undoing=Undoing(self.promoter, TombstoneLifter(self.embedder, self.settings), self.clock, self.ids),
            retracting=Retracting(self.reviewed, self.clock, self.ids),
            promoting=self.promoting,
            desk=AtDesk(self.decisions, self.idempotency, self.counters),
            reviewed=self.reviewed,
            quarantine=self.quarantine,
            working=working,
            idempotency=self.idempotency,
            clock=self.clock,
        )
        self.waiting_promotions = WaitingPromotions(
            self.decisions, self.tombstones, knowledge, self.chunking, self.clock, self.ids
        )
        recorder, audit_events = (
            CaptureRecorder(self.quarantine, self.clock, self.ids, self.settings),
            AuditEvents(self.clock, self.ids),
        )
        remover = EntryRemover(working, self.quarantine, audit_events)
        self.memory = MemoryManager(
            recorder=recorder,
            intake=Intake(recorder, self.queue, self.quarantine, self.settings),
            admitter=self.admitter,
            requeuer=Requeuer(self.quarantine, self.queue, self.idempotency, audit_events),
            admissions=self.quarantine,
            quarantine=self.quarantine,
            working=working,
            rebuilder=self.rebuilder,
            remover=remover,
            tombstones=TombstoneRegistry(
                self.gate,
                self.tombstones,
                self.decisions,
                knowledge,
                remover,
                self.idempotency,
                self.embedder,
                self.clock,
                self.ids,
                self.settings,
            ),
            idempotency=self.idempotency,
            review=self.review,
            retriever=self.retriever,
            digests=DigestRequests(self.digests, self.digest_queue, self.idempotency, self.clock, self.ids),
            profiles=GroupProfiles(self.groups, self.idempotency, self.clock, self.ids, self.settings),
            contexts=ContextBuilder(self.groups, self.retriever, EstimatedTokens(), self.settings),
            history=self.history,
            promoting=self.promoting,
            settings=self.settings,
        )


def said(content: str = LONG, group_id: str | None = "g", **metadata: object) -> NewCapture:
    return NewCapture(
        content=content,
        group_id=group_id,
        session_id="s1",
        node_id="n1",
        agent_id="a1",
        metadata=metadata,  # type: ignore[arg-type]
    )
