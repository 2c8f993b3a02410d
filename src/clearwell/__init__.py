"""Clearwell: three-tier memory for multi-agent systems.

Everything an agent says is kept, what passes the filter is usable at once and marked as unverified, and nothing
becomes knowledge until a person promotes it.
"""

from clearwell.app import open_memory
from clearwell.errors import ClearwellError, InvalidInput, NotAllowed, NotFound, Unavailable
from clearwell.flow.context.builder import ContextBuilder, ContextRequest
from clearwell.flow.context.retrieval_node import MemoryRetrievalNode, NodeOptions
from clearwell.flow.context.tokens import CountedBy
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.records import (
    Action,
    Admission,
    BuiltContext,
    CaptureReceipt,
    ContextItem,
    DecisionRequest,
    GroupChange,
    InsightState,
    MemoryEntry,
    NewCapture,
    NewMemory,
    Principal,
    Retrieval,
    Right,
    SourceSelector,
)
from clearwell.service import MemoryManager
from clearwell.settings import Settings
from clearwell.version import __version__

__all__ = [
    "Action",
    "Admission",
    "BuiltContext",
    "CaptureReceipt",
    "ClearwellError",
    "ContextBuilder",
    "ContextItem",
    "ContextRequest",
    "CountedBy",
    "DecisionRequest",
    "GroupChange",
    "InsightState",
    "InvalidInput",
    "MemoryEntry",
    "MemoryManager",
    "MemoryRetrievalNode",
    "NewCapture",
    "NewMemory",
    "NodeOptions",
    "NotAllowed",
    "NotFound",
    "Principal",
    "Retrieval",
    "RetrieveOptions",
    "Right",
    "Settings",
    "SourceSelector",
    "Unavailable",
    "__version__",
    "open_memory",
]
