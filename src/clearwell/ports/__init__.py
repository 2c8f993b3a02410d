"""What the path needs from outside: the stores, the models, the clock and the ids.

``clearwell.testing`` has an in-memory twin of each store; twins and real stores pass the same contract tests.
"""

from clearwell.ports.access import AuditStore, Claim, IdempotencyStore, KeyStore
from clearwell.ports.digest import (
    CandidateFilter,
    DigestMaterial,
    DigestQueue,
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
from clearwell.ports.groups import GroupStore
from clearwell.ports.longterm import Asked, Fusion, Lexicon, LongTermSearch, SearchQuery
from clearwell.ports.models import AnswerForm, ChatMessage, ChatModel, Embedder, Judge, TokenCounter
from clearwell.ports.moving import MoveStore
from clearwell.ports.program import Clock, Ids
from clearwell.ports.quarantine import (
    AdmissionBatch,
    AdmissionStore,
    BackOff,
    CaptureStore,
    Pending,
    QuarantineFilter,
    QuarantineStore,
    Settled,
    Stored,
    TombstoneStore,
)
from clearwell.ports.review import TOMBSTONED, DecisionStore, Desk, RestsOn, ReviewStore, Waiting
from clearwell.ports.working import Recalled, RecallStore, WorkingStore

__all__ = [
    "TOMBSTONED",
    "AdmissionBatch",
    "AdmissionStore",
    "AnswerForm",
    "Asked",
    "AuditStore",
    "BackOff",
    "CandidateFilter",
    "CaptureStore",
    "ChatMessage",
    "ChatModel",
    "Claim",
    "Clock",
    "DecisionStore",
    "Desk",
    "DigestMaterial",
    "DigestQueue",
    "DigestRuns",
    "DigestStore",
    "Due",
    "Embedder",
    "Fusion",
    "GroupStore",
    "IdempotencyStore",
    "Ids",
    "InsightWriter",
    "Judge",
    "KeyStore",
    "KnownVector",
    "Lexicon",
    "LongTermSearch",
    "MoveStore",
    "OpenDigest",
    "Pending",
    "QuarantineFilter",
    "QuarantineStore",
    "RecallStore",
    "Recalled",
    "RejectedVector",
    "RestsOn",
    "ReviewStore",
    "Run",
    "Schedule",
    "SearchQuery",
    "Settled",
    "Stored",
    "TokenCounter",
    "TombstoneStore",
    "Waiting",
    "WorkingStore",
]
