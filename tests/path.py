"""The whole program on twins, and words for tests of it."""

from dataclasses import dataclass, field, replace

from httpx import ASGITransport

from clearwell.adapters.http.app import create_app
from clearwell.app import Clearwell, build
from clearwell.client.api import ApiConnection
from clearwell.client.routes import ApiClient
from clearwell.flow.retrieval.bm25 import Bm25
from clearwell.ports import (
    Embedder,
    ErasureStore,
    EventStore,
    EvidenceAssessor,
    GroupStore,
    InsightWriter,
    Judge,
    LongTermSearch,
    Segmenter,
    Stores,
    WorkingStore,
)
from clearwell.records import ModelChoice, NewCapture, Principal, Right
from clearwell.settings import Settings
from clearwell.signing import SigningKey
from clearwell.testing import CountedIds, ManualClock, MemoryStores, WordEmbedder

PERSON = Principal.local()
AGENT = Principal(name="bot", rights=frozenset({Right.CAPTURE, Right.READ}), groups=frozenset({"g"}))
LONG = "The payment service was moved to the new cluster on Monday without any downtime at all."
OTHER = "Nightly backups of the billing database now take eleven minutes instead of forty minutes."


@dataclass
class Path:
    """The program on twins, with the parts that tests look into. A store that is given replaces its twin.

    ``memory`` and ``review`` are those of the local person.
    """

    settings: Settings = field(default_factory=Settings)
    clock: ManualClock = field(default_factory=ManualClock)
    embedder: Embedder = field(default_factory=WordEmbedder)
    working: WorkingStore | None = None
    search: LongTermSearch | None = None
    judge: Judge | None = None
    assessor: EvidenceAssessor | None = None
    prompts: GroupStore | None = None
    writer: InsightWriter | None = None
    segmenter: Segmenter | None = None
    event_store: EventStore | None = None
    erasure: ErasureStore | None = None

    def __post_init__(self) -> None:
        self.ids = CountedIds()
        twins = MemoryStores(self.settings, self.clock, self.ids, Bm25())
        self.quarantine, self.longterm, self.ledger = twins.quarantine, twins.longterm, twins.ledger
        self.digest_store, self.groups, self.statements = twins.digests, twins.groups, twins.statements
        self.decisions, self.audit, self.idempotency, self.review_store = (
            twins.decisions,
            twins.audit,
            twins.idempotency,
            twins.review,
        )
        stores = twins.stores
        if self.working is not None:
            stores = replace(stores, working=self.working)
        if self.search is not None:
            stores = replace(
                stores,
                longterm=self.search,
                longterm_for_worker=self.search,
                longterm_for_reviewer=self.search,
            )
        if self.event_store is not None:
            stores = replace(stores, events=self.event_store)
        if self.erasure is not None:
            stores = replace(stores, erasure=self.erasure)
        if self.prompts is not None:
            stores = replace(stores, groups=self.prompts)
        self.program = self.build(stores)
        self.events = stores.events
        self.memory = self.program.memory.acting_as(PERSON)
        self.review, self.queue = self.memory.review, self.program.queue
        self.admitter, self.retriever = self.program.admitter, self.program.retriever
        self.promotion_completer, self.recalls = self.program.promotion_completer, self.program.recalls
        self.counters, self.statement_updater = self.program.counters, self.program.statement_updater
        self.runner, self.scheduler = self.program.digests.runner, self.program.digests.scheduler

    def build(self, stores: Stores) -> Clearwell:
        """The program on these stores."""
        return build(
            self.settings,
            stores,
            self.clock,
            self.ids,
            embedder=self.embedder,
            make_model=self._make_model,
            signer=SigningKey.generate(),
            judge=self.judge,
            assessor=self.assessor,
            writer=self.writer,
            segmenter=self.segmenter,
        )

    def _make_model(self, choice: ModelChoice) -> Embedder:
        raise AssertionError(f"no test migrates to {choice.model}")


def said(content: str = LONG, group_id: str | None = "g", **metadata: object) -> NewCapture:
    return NewCapture(
        content=content,
        group_id=group_id,
        session_id="s1",
        node_id="n1",
        agent_id="a1",
        metadata=metadata,  # type: ignore[arg-type]
    )


def client_of(path: Path) -> ApiClient:
    """A client of the API on this program. It is the person at the machine."""
    app = create_app(path.settings)
    app.state.clearwell = path.program
    path.program.keys.trust("token", PERSON)
    return ApiClient(ApiConnection("http://127.0.0.1", secret="token", transport=ASGITransport(app)))
