"""The whole path on twins, and words for tests of it."""

from dataclasses import dataclass, field
from datetime import timedelta

from clearwell.flow.admit import Admitting
from clearwell.flow.audit import Audited
from clearwell.flow.capture import Capturing
from clearwell.flow.carry_out import CarryingOut
from clearwell.flow.chunks import Chunking
from clearwell.flow.context import ContextBuilder
from clearwell.flow.digesting import DigestDesk, Digesting, Reading, Scheduling, Writing
from clearwell.flow.gate import Gate
from clearwell.flow.intake import Intake
from clearwell.flow.known import Knowledge
from clearwell.flow.lexical import Bm25
from clearwell.flow.lifting import Lifting
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
from clearwell.flow.review import AtDesk, Deciding, Retracting, Reviewing, Showing, Undoing
from clearwell.flow.tally import Tally
from clearwell.flow.tokens import EstimatedTokens
from clearwell.flow.tombstones import Tombstoning
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
        self.recalls, self.tombstones = Recalling(MemoryRecalls(self.clock)), MemoryTombstones()
        self.tally = Tally()
        knowledge = Knowledge(working, search, self.quarantine, self.tombstones, self.recalls, self.embedder)
        self.admitting = Admitting(
            self.quarantine, working, knowledge, self.embedder, self.judge, self.tally, self.clock, self.settings
        )
        self.rebuilding = Rebuilding(self.quarantine, working, knowledge, self.clock, self.settings)
        self.queue = AdmissionQueue(self.admitting, batch=self.settings.admission_batch)
        self.retrieving = Retrieving(working, search, self.recalls, self.embedder, self.clock, self.settings)
        self.history = MemoryRetrieving(self.retrieving, self.clock, self.settings)
        self.ledger = MemoryLedger()
        self.digests = MemoryDigests(self.quarantine, self.longterm, self.tombstones, self.ledger, self.groups)
        self.digest_queue = MemoryDigestQueue()
        reading = Reading(self.digests, knowledge, self.embedder, self.settings)
        writing = Writing(self.writer, reading, self.embedder, self.ids)
        self.digesting = Digesting(
            self.digests, self.digests, reading, writing, self.embedder, self.clock, self.ids, self.settings
        )
        self.scheduling = Scheduling(self.digests, self.digest_queue, self.clock, self.ids, self.settings)
        self.decisions = MemoryDecisions(self.ledger, self.longterm, self.tombstones, self.idempotency, self.clock)
        self.reviewed = MemoryReview(self.ledger, self.quarantine, self.longterm, self.digests)
        self.audit = MemoryAudit()
        self.gate, self.chunking = Gate(self.audit, self.clock, self.ids), Chunking(self.embedder, self.settings)
        self.promoter = Promoter(knowledge, self.chunking, self.clock, self.ids)
        self.promoting = Promoting(
            self.gate, self.promoter, self.decisions, self.idempotency, self.tally, self.settings
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
            undoing=Undoing(self.promoter, Lifting(self.embedder, self.settings), self.clock, self.ids),
            retracting=Retracting(self.reviewed, self.clock, self.ids),
            promoting=self.promoting,
            desk=AtDesk(self.decisions, self.idempotency, self.tally),
            reviewed=self.reviewed,
            quarantine=self.quarantine,
            working=working,
            idempotency=self.idempotency,
            clock=self.clock,
        )
        self.carrying_out = CarryingOut(self.decisions, self.tombstones, knowledge, self.chunking, self.clock, self.ids)
        capturing, audited = (
            Capturing(self.quarantine, self.clock, self.ids, self.settings),
            Audited(self.clock, self.ids),
        )
        removing = Removing(working, self.quarantine, audited)
        self.memory = MemoryManager(
            capturing=capturing,
            intake=Intake(capturing, self.queue, self.quarantine, self.settings),
            admitting=self.admitting,
            requeueing=Requeueing(self.quarantine, self.queue, self.idempotency, audited),
            admissions=self.quarantine,
            quarantine=self.quarantine,
            working=working,
            rebuilding=self.rebuilding,
            removing=removing,
            tombstoning=Tombstoning(
                self.gate,
                self.tombstones,
                self.decisions,
                knowledge,
                removing,
                self.idempotency,
                self.embedder,
                self.clock,
                self.ids,
                self.settings,
            ),
            idempotency=self.idempotency,
            review=self.review,
            retrieving=self.retrieving,
            digests=DigestDesk(self.digests, self.digest_queue, self.idempotency, self.clock, self.ids),
            profiles=Profiles(self.groups, self.idempotency, self.clock, self.ids, self.settings),
            contexts=ContextBuilder(self.groups, self.retrieving, EstimatedTokens(), self.settings),
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
