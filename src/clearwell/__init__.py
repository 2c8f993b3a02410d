"""Clearwell: three-tier memory for multi-agent systems.

Every output of an agent is kept. An output that passes the ingress pipeline can be retrieved at once, marked as
unverified. Nothing becomes knowledge until a person promotes it.

The public names are imported when they are first used: importing the package alone loads no driver, no framework and no
model.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from clearwell.version import __version__

if TYPE_CHECKING:
    from clearwell.client.client import AsyncClient
    from clearwell.client.review import AsyncReviewClient
    from clearwell.errors import (
        ClearwellError,
        ConfigurationError,
        Conflict,
        DatabaseUnavailable,
        EmbeddedStoreError,
        EmbedderUnavailable,
        IdempotencyMismatch,
        InvalidInput,
        JudgeUnavailable,
        ModelMismatch,
        NotAllowed,
        NotFound,
        ReembeddingStarted,
        RequestInProgress,
        SchemaError,
        TooLarge,
        TooManyReaders,
        Unauthenticated,
        Unavailable,
        UnexpectedError,
        WorkingMemoryUnavailable,
        WriterUnavailable,
        WrongStructure,
    )
    from clearwell.flow.context.builder import ContextBuilder, ContextRequest
    from clearwell.flow.context.retrieval_node import MemoryRetrievalNode, NodeOptions
    from clearwell.flow.context.tokens import FunctionTokenCounter
    from clearwell.flow.factcheck.checker import FactCheckOptions
    from clearwell.flow.factcheck.node import FactCheckNode
    from clearwell.flow.retrieval.options import RetrieveOptions
    from clearwell.flow.review import ReviewService
    from clearwell.middleware import AgentMemory, HookPolicy, Injection, MemoryMiddleware, Node, NodeContext, Session
    from clearwell.ports import QuarantineFilter, TokenCounter
    from clearwell.records import (
        Action,
        Admission,
        Agent,
        BuiltContext,
        CalibrationRow,
        CaptureReceipt,
        ContextItem,
        Decision,
        DecisionRequest,
        DecisionResult,
        Digest,
        DigestStatus,
        Dossier,
        DryRun,
        Event,
        EventType,
        FactCheck,
        Group,
        GroupChange,
        IngressCount,
        Insight,
        InsightState,
        MemoryEntry,
        NewCapture,
        NewMemory,
        NodeEvent,
        Origin,
        Principal,
        PromotionResult,
        Provenance,
        QuarantineRow,
        Requeued,
        RetractionPreview,
        Retrieval,
        ReviewStatistics,
        Right,
        Source,
        SourceSelector,
        Tombstone,
        Verdict,
        VerifiedMemory,
        WorkingEntry,
    )
    from clearwell.service import MemoryManager
    from clearwell.settings import Settings
    from clearwell.sync.client import Client, ReviewClient
    from clearwell.sync.memory import SyncMemoryManager, SyncReviewService
    from clearwell.sync.node import SyncNode
    from clearwell.sync.opener import open_memory

__all__ = [
    "Action",
    "Admission",
    "Agent",
    "AgentMemory",
    "AsyncClient",
    "AsyncReviewClient",
    "BuiltContext",
    "CalibrationRow",
    "CaptureReceipt",
    "ClearwellError",
    "Client",
    "ConfigurationError",
    "Conflict",
    "ContextBuilder",
    "ContextItem",
    "ContextRequest",
    "DatabaseUnavailable",
    "Decision",
    "DecisionRequest",
    "DecisionResult",
    "Digest",
    "DigestStatus",
    "Dossier",
    "DryRun",
    "EmbeddedStoreError",
    "EmbedderUnavailable",
    "Event",
    "EventType",
    "FactCheck",
    "FactCheckNode",
    "FactCheckOptions",
    "FunctionTokenCounter",
    "Group",
    "GroupChange",
    "HookPolicy",
    "IdempotencyMismatch",
    "IngressCount",
    "Injection",
    "Insight",
    "InsightState",
    "InvalidInput",
    "JudgeUnavailable",
    "MemoryEntry",
    "MemoryManager",
    "MemoryMiddleware",
    "MemoryRetrievalNode",
    "ModelMismatch",
    "NewCapture",
    "NewMemory",
    "Node",
    "NodeContext",
    "NodeEvent",
    "NodeOptions",
    "NotAllowed",
    "NotFound",
    "Origin",
    "Principal",
    "PromotionResult",
    "Provenance",
    "QuarantineFilter",
    "QuarantineRow",
    "ReembeddingStarted",
    "RequestInProgress",
    "Requeued",
    "RetractionPreview",
    "Retrieval",
    "RetrieveOptions",
    "ReviewClient",
    "ReviewService",
    "ReviewStatistics",
    "Right",
    "SchemaError",
    "Session",
    "Settings",
    "Source",
    "SourceSelector",
    "SyncMemoryManager",
    "SyncNode",
    "SyncReviewService",
    "TokenCounter",
    "Tombstone",
    "TooLarge",
    "TooManyReaders",
    "Unauthenticated",
    "Unavailable",
    "UnexpectedError",
    "Verdict",
    "VerifiedMemory",
    "WorkingEntry",
    "WorkingMemoryUnavailable",
    "WriterUnavailable",
    "WrongStructure",
    "__version__",
    "open_memory",
]

_NAMES_BY_MODULE = {
    "clearwell.client.client": ("AsyncClient",),
    "clearwell.client.review": ("AsyncReviewClient",),
    "clearwell.errors": (
        "ClearwellError",
        "ConfigurationError",
        "Conflict",
        "DatabaseUnavailable",
        "EmbeddedStoreError",
        "EmbedderUnavailable",
        "IdempotencyMismatch",
        "InvalidInput",
        "JudgeUnavailable",
        "ModelMismatch",
        "NotAllowed",
        "NotFound",
        "ReembeddingStarted",
        "RequestInProgress",
        "SchemaError",
        "TooLarge",
        "TooManyReaders",
        "Unauthenticated",
        "Unavailable",
        "UnexpectedError",
        "WorkingMemoryUnavailable",
        "WriterUnavailable",
        "WrongStructure",
    ),
    "clearwell.flow.context.builder": (
        "ContextBuilder",
        "ContextRequest",
    ),
    "clearwell.flow.context.retrieval_node": (
        "MemoryRetrievalNode",
        "NodeOptions",
    ),
    "clearwell.flow.context.tokens": ("FunctionTokenCounter",),
    "clearwell.flow.factcheck.checker": ("FactCheckOptions",),
    "clearwell.flow.factcheck.node": ("FactCheckNode",),
    "clearwell.flow.retrieval.options": ("RetrieveOptions",),
    "clearwell.flow.review": ("ReviewService",),
    "clearwell.middleware": (
        "AgentMemory",
        "HookPolicy",
        "Injection",
        "MemoryMiddleware",
        "Node",
        "NodeContext",
        "Session",
    ),
    "clearwell.ports": (
        "QuarantineFilter",
        "TokenCounter",
    ),
    "clearwell.records": (
        "Action",
        "Admission",
        "Agent",
        "BuiltContext",
        "CalibrationRow",
        "CaptureReceipt",
        "ContextItem",
        "Decision",
        "DecisionRequest",
        "DecisionResult",
        "Digest",
        "DigestStatus",
        "Dossier",
        "DryRun",
        "Event",
        "EventType",
        "FactCheck",
        "Group",
        "GroupChange",
        "IngressCount",
        "Insight",
        "InsightState",
        "MemoryEntry",
        "NewCapture",
        "NewMemory",
        "NodeEvent",
        "Origin",
        "Principal",
        "PromotionResult",
        "Provenance",
        "QuarantineRow",
        "Requeued",
        "RetractionPreview",
        "Retrieval",
        "ReviewStatistics",
        "Right",
        "Source",
        "SourceSelector",
        "Tombstone",
        "Verdict",
        "VerifiedMemory",
        "WorkingEntry",
    ),
    "clearwell.service": ("MemoryManager",),
    "clearwell.settings": ("Settings",),
    "clearwell.sync.client": (
        "Client",
        "ReviewClient",
    ),
    "clearwell.sync.memory": (
        "SyncMemoryManager",
        "SyncReviewService",
    ),
    "clearwell.sync.node": ("SyncNode",),
    "clearwell.sync.opener": ("open_memory",),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
