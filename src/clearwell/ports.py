"""What the path needs from outside: the stores, the model, the clock and the ids.

``clearwell.testing`` has an in-memory twin of each store; twins and real stores pass the same contract tests.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, Protocol
from uuid import UUID

from clearwell.records import (
    Admission,
    ApiKey,
    AuditEvent,
    Capture,
    Found,
    IdempotencyKey,
    IngressCount,
    Json,
    Judgement,
    KeyLookup,
    Memory,
    Promotion,
    QuarantineRow,
    Sighting,
    Tombstone,
    Vector,
    Verdict,
    WorkingEntry,
)


class Clock(Protocol):
    def now(self) -> datetime:
        """The time, aware and in UTC."""
        ...


class Ids(Protocol):
    def new(self) -> UUID:
        """A new id; later ids sort after earlier ones."""
        ...


class Embedder(Protocol):
    """Turns text into vectors of unit length, and knows how to read their cosine."""

    @property
    def model(self) -> str:
        """The name that is stored with each vector. Another model has another name."""
        ...

    async def load(self) -> None:
        """Get ready, where that takes time: a model of this process is loaded, a server elsewhere is not asked."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector a text, in one batch. Raises EmbedderUnavailable."""
        ...

    def similarity(self, cosine: float) -> float:
        """How alike two texts are, 0 to 1, on the scale that thresholds are set on."""
        ...

    def relevance(self, cosine: float) -> float:
        """How well a text answers a query, 0 to 1, on the scale that thresholds are set on."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """What is said to a language model, by the program or as the matter at hand."""

    role: Literal["system", "user"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerForm:
    """The form an answer must have. One of the two requests ends the last message: not every server knows schemas."""

    name: str
    schema: Mapping[str, Json]
    in_json: str
    in_words: str


class ChatModel(Protocol):
    """A language model that is asked one thing at a time."""

    @property
    def model(self) -> str: ...

    async def complete(self, messages: Sequence[ChatMessage], *, form: AnswerForm | None = None) -> str:
        """The answer's text, whole but unchecked. One try: raises JudgeUnavailable."""
        ...

    async def close(self) -> None: ...


class Judge(Protocol):
    """Tells whether a text contradicts itself or evidently makes things up."""

    @property
    def model(self) -> str:
        """The name that is recorded with each judgement."""
        ...

    async def judge(self, content: str) -> Judgement:
        """One try: raises JudgeUnavailable, and the caller tries again later."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What became of a capture in quarantine: a new row, or the one an earlier try made."""

    id: UUID
    replayed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A row whose admission is work to do."""

    group_id: str
    log_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The end of one row's admission, with what must be kept of it."""

    log_id: UUID
    state: Admission
    at: datetime
    agent_id: str | None = None
    verdicts: Sequence[Verdict] = ()
    flags: Sequence[str] = ()
    embedding: Vector | None = None
    embedding_model: str | None = None
    sighting: Sighting | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineFilter:
    """Which rows of a group's quarantine to list."""

    session_id: str | None = None
    agent_id: str | None = None
    node_type: str | None = None
    admission: Admission | None = None
    since: datetime | None = None
    until: datetime | None = None


class CaptureStore(Protocol):
    """The agent's side of quarantine: it can add and never read."""

    async def add(
        self, captures: Sequence[Capture], *, request: IdempotencyKey | None = None, settled: Sequence[Verdict] = ()
    ) -> list[Stored]:
        """Commit captures of one group, all or none. ``settled`` refuses them at once, for these reasons.

        With ``request`` a repeated call finds its first rows again; raises IdempotencyMismatch where the
        same key came with another request.
        """
        ...


class QuarantineStore(Protocol):
    """The reviewer's side of quarantine."""

    async def get(self, group_id: str, log_id: UUID) -> QuarantineRow | None:
        """One row with its whole fate: also who said the same."""
        ...

    async def page(
        self, group_id: str, *, where: QuarantineFilter, before: UUID | None = None, limit: int = 50
    ) -> Sequence[QuarantineRow]:
        """Newest first; ``before`` is the last id of the page before."""
        ...


class AdmissionBatch(Protocol):
    """Rows of one group while nobody else admits in that group."""

    @property
    def pending(self) -> frozenset[UUID]:
        """The rows that nobody has settled in the meantime."""
        ...

    async def settle(self, settled: Sequence[Settled]) -> None: ...


class AdmissionStore(Protocol):
    """The worker's side of quarantine: find pending rows, read them, settle them."""

    async def pending(self, *, limit: int) -> list[Pending]:
        """Rows of any group that are due, oldest first."""
        ...

    async def load(self, group_id: str, log_ids: Sequence[UUID]) -> list[Capture]:
        """The rows among these that are still pending."""
        ...

    def open(self, group_id: str, log_ids: Sequence[UUID]) -> AbstractAsyncContextManager["AdmissionBatch"]:
        """Be alone in this group's admission until the block ends. What was settled is committed at its end."""
        ...

    async def postpone(self, group_id: str, log_ids: Sequence[UUID]) -> None:
        """Count a failed try and set when to try again, later each time."""
        ...

    async def judge_tries(self, group_id: str, log_id: UUID) -> int:
        """How often the judge was asked about this row in vain."""
        ...

    async def hold(
        self, group_id: str, log_id: UUID, verdict: Verdict, *, tries: int, wait: timedelta | None = None
    ) -> None:
        """Keep a row pending for the judge: record why, and try again after ``wait`` or later each time."""
        ...

    async def requeue(self, group_id: str, log_id: UUID, *, event: AuditEvent) -> bool:
        """Make a refused row pending again; False where there is none."""
        ...

    async def receipts(
        self, group_id: str, log_ids: Sequence[UUID]
    ) -> Mapping[UUID, tuple[Admission, tuple[Verdict, ...]]]:
        """Where these rows stand, each with its latest verdicts."""
        ...

    async def admitted(self, group_id: str, *, since: datetime, limit: int) -> list[WorkingEntry]:
        """What working memory should hold, newest first: to rebuild it."""
        ...

    async def working_groups(self, *, since: datetime) -> Sequence[str]:
        """The groups in which something was admitted since then."""
        ...

    async def mark_removed(self, group_id: str, log_id: UUID, *, event: AuditEvent) -> bool:
        """Keep a rebuild from bringing an entry back; False where nothing was admitted by that id."""
        ...

    async def counts(self, group_id: str) -> Sequence[IngressCount]:
        """How often each check ended how, by agent."""
        ...


class WorkingStore(Protocol):
    """Working memory: one list per group, newest first."""

    async def push(self, entry: WorkingEntry) -> None:
        """Put an entry first, once, and keep the newest ``size``, in one atomic step."""
        ...

    async def entries(self, group_id: str) -> list[WorkingEntry]:
        """The live entries, newest first. Never one past its ``expires_at``."""
        ...

    async def remove(self, group_id: str, entry_id: UUID) -> bool: ...

    async def replace(self, group_id: str, entries: Sequence[WorkingEntry]) -> None:
        """Hold exactly these entries, newest first, in one atomic step."""
        ...

    async def is_new(self) -> bool:
        """Whether the server has lost what it held, or never held anything. Asking marks it as seen."""
        ...

    async def cleanup(self, group_id: str | None = None) -> int:
        """Remove expired entries, of one group or of all; how many there were."""
        ...

    async def ping(self) -> None: ...


class RecallStore(Protocol):
    """What retrieval gave to whom in the last day, so that an echo of it can be told from evidence."""

    async def note(self, group_id: str, ids: Sequence[UUID], *, agent_id: str | None) -> None: ...

    async def recalled(self, group_id: str, *, agent_id: str | None) -> frozenset[UUID]:
        """What was given to this agent, or to nobody in particular."""
        ...


class TombstoneStore(Protocol):
    """Values that must not come back, by their digest."""

    async def secret(self, group_id: str) -> bytes:
        """The key of the group's digests, made when it is first asked for."""
        ...

    async def look(
        self, group_id: str, digests: Sequence[bytes], *, embedding: Vector | None = None, model: str = ""
    ) -> tuple[Tombstone | None, tuple[Tombstone, float] | None]:
        """The tombstone that stands for one of these values, and the rejected value most like it, with the cosine."""
        ...

    async def add(
        self, tombstone: Tombstone, digest: bytes, *, embedding: Vector | None, model: str | None, event: AuditEvent
    ) -> bool:
        """False where the value has a standing tombstone."""
        ...

    async def lift(self, group_id: str, tombstone_id: UUID, *, event: AuditEvent) -> bool:
        """False where there is none that can be lifted."""
        ...

    async def all(self, group_id: str) -> Sequence[Tombstone]: ...


class Lexicon(Protocol):
    """What the words of a memory become. Dimensions count from 1."""

    version: int

    def dimensions(self, text: str) -> frozenset[int]:
        """The terms that stand in a text."""
        ...

    def lexemes(self, text: str, near: Sequence[str]) -> Mapping[int, float]:
        """What is stored with a text that has these neighbours in its session."""
        ...

    def name(self, name: str) -> str:
        """A name as it is looked for in ``Asked.spoken``; empty where it cannot be."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The words of a query: how much each term counts, and the text in which names are looked for."""

    weights: Mapping[int, float]
    spoken: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """How much each part counts in the order of results. 0 switches a part off.

    The words count as a share of the best that the query's words could reach, so that words which say little leave
    the order to the vectors. The best ``pool`` chunks are then lifted by the best beside them and in their session.
    """

    dense: float = 1 / 3
    lexical: float = 0.7
    author: float = 0.2
    beside: float = 0.15
    session: float = 0.15
    pool: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """A cold search in one group. Without an agent only group memory is found, and without words only vectors count.

    ``fusion.dense`` is per unit of cosine.
    """

    group_id: str
    embedding: Vector
    model: str
    limit: int
    agent_id: str | None = None
    asked: Asked | None = None
    fusion: Fusion = Fusion()


class LongTermSearch(Protocol):
    """What retrieval is given of long-term memory."""

    async def search(self, query: SearchQuery) -> list[Found]:
        """The best memories, best first, one chunk each, exactly."""
        ...

    async def get(self, group_id: str, ids: Sequence[UUID], *, agent_id: str | None = None) -> Sequence[Memory]:
        """All chunks of these memories that the agent may see, in order."""
        ...

    async def ping(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A running request that holds an Idempotency-Key."""

    request: IdempotencyKey
    token: UUID


class PromotionStore(Protocol):
    """The reviewer's side of long-term memory."""

    async def add(
        self,
        group_id: str,
        promotions: Sequence[tuple[Promotion, Sequence[Memory]]],
        *,
        events: Sequence[AuditEvent],
        claim: Claim | None = None,
        answer: Json = None,
    ) -> None:
        """Commit decisions with their chunks, audit events and the answer to the claim: all or nothing."""
        ...

    async def models(self) -> dict[str, int]:
        """The embedding models that stored vectors were made with, and their dimensions."""
        ...


class IdempotencyStore(Protocol):
    async def claim(self, request: IdempotencyKey) -> Claim | Json:
        """Start a request, or get the answer its first run gave.

        Raises StillRunning while the first run lasts and IdempotencyMismatch for another request.
        """
        ...

    async def complete(self, claim: Claim, answer: Json) -> None:
        """Keep the answer of a request that has ended. Raises StillRunning where another holds the key now."""
        ...

    async def release(self, claim: Claim) -> None:
        """Give up a claim whose request failed, so that it can be tried again."""
        ...


class KeyStore(Protocol):
    async def add(self, key: ApiKey, secret_hash: bytes, *, event: AuditEvent) -> None: ...

    async def find(self, secret_hash: bytes | None) -> KeyLookup: ...

    async def all(self) -> Sequence[ApiKey]: ...

    async def revoke(self, key_id: UUID, *, at: datetime, event: AuditEvent) -> bool:
        """False where there is no such key, or it was revoked before."""
        ...


class AuditStore(Protocol):
    async def add(self, event: AuditEvent) -> None: ...
