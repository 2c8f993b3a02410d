"""The protocols of everything that the path uses from outside: stores, models, the clock and ids.

``clearwell.testing`` has in-memory twins of stores. Twins and real stores pass the same contract tests.
"""

from clearwell.ports.access import AuditStore, Claim, IdempotencyStore, KeyStore
from clearwell.ports.comparison import StatementComparison
from clearwell.ports.digest import (
    CandidateFilter,
    DigestMaterial,
    DigestRuns,
    DigestStore,
    Due,
    InsightWriter,
    KnownVector,
    OpenDigest,
    RejectedVector,
    Run,
    Schedule,
)
from clearwell.ports.events import BEGINNING, EventPage, EventStore
from clearwell.ports.groups import GroupStore
from clearwell.ports.longterm import Fusion, LongTermSearch, QueryTerms, SearchQuery, SparseEncoder
from clearwell.ports.maintenance import GroupPauses, Heartbeats, LexicalIndex, VectorIndexes
from clearwell.ports.models import (
    AnswerForm,
    ChatMessage,
    ChatModel,
    Embedder,
    EvidenceAssessor,
    Judge,
    TokenCounter,
    TokenMeter,
)
from clearwell.ports.program import Clock, Ids
from clearwell.ports.quarantine import (
    AdmissionBatch,
    AdmissionResult,
    AdmissionStore,
    BackOff,
    CaptureStore,
    Lease,
    PendingOutput,
    QuarantineFilter,
    QuarantineStore,
    StoredCapture,
    TombstoneLookup,
    TombstoneStore,
)
from clearwell.ports.reembedding import ReembeddingStore
from clearwell.ports.review import (
    TOMBSTONED,
    DecisionStore,
    DecisionTransaction,
    MemoryFilter,
    PromotionKey,
    ProvenanceStore,
    RecordedDecision,
    ReviewStore,
    StatisticsStore,
    WaitingPromotion,
)
from clearwell.ports.statements import OutdatedOutput, SegmentedOutput, StatementStore
from clearwell.ports.stores import Stores
from clearwell.ports.working import RecallReader, RecallStore, WorkingStore

__all__ = [
    "BEGINNING",
    "TOMBSTONED",
    "AdmissionBatch",
    "AdmissionResult",
    "AdmissionStore",
    "AnswerForm",
    "AuditStore",
    "BackOff",
    "CandidateFilter",
    "CaptureStore",
    "ChatMessage",
    "ChatModel",
    "Claim",
    "Clock",
    "DecisionStore",
    "DecisionTransaction",
    "DigestMaterial",
    "DigestRuns",
    "DigestStore",
    "Due",
    "Embedder",
    "EventPage",
    "EventStore",
    "EvidenceAssessor",
    "Fusion",
    "GroupPauses",
    "GroupStore",
    "Heartbeats",
    "IdempotencyStore",
    "Ids",
    "InsightWriter",
    "Judge",
    "KeyStore",
    "KnownVector",
    "Lease",
    "LexicalIndex",
    "LongTermSearch",
    "MemoryFilter",
    "OpenDigest",
    "OutdatedOutput",
    "PendingOutput",
    "PromotionKey",
    "ProvenanceStore",
    "QuarantineFilter",
    "QuarantineStore",
    "QueryTerms",
    "RecallReader",
    "RecallStore",
    "RecordedDecision",
    "ReembeddingStore",
    "RejectedVector",
    "ReviewStore",
    "Run",
    "Schedule",
    "SearchQuery",
    "SegmentedOutput",
    "SparseEncoder",
    "StatementComparison",
    "StatementStore",
    "StatisticsStore",
    "StoredCapture",
    "Stores",
    "TokenCounter",
    "TokenMeter",
    "TombstoneLookup",
    "TombstoneStore",
    "VectorIndexes",
    "WaitingPromotion",
    "WorkingStore",
]
