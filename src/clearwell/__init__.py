"""Clearwell: three-tier memory for multi-agent systems.

Everything an agent says is kept, what passes the filter is usable at once and marked as unverified, and nothing
becomes knowledge until a person promotes it.
"""

from clearwell.app import open_memory
from clearwell.errors import ClearwellError, InvalidInput, NotAllowed, NotFound, Unavailable
from clearwell.flow.context import ContextBuilder, ContextRequest
from clearwell.flow.node import MemoryRetrievalNode, NodeOptions
from clearwell.flow.options import RetrieveOptions
from clearwell.flow.tokens import CountedBy
from clearwell.records import (
    Admission,
    BuiltContext,
    CaptureReceipt,
    ContextItem,
    GroupChange,
    MemoryEntry,
    NewCapture,
    NewMemory,
    Principal,
    Retrieval,
    Right,
)
from clearwell.service import MemoryManager
from clearwell.settings import Settings
from clearwell.version import __version__

__all__ = [
    "Admission",
    "BuiltContext",
    "CaptureReceipt",
    "ClearwellError",
    "ContextBuilder",
    "ContextItem",
    "ContextRequest",
    "CountedBy",
    "GroupChange",
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
    "Unavailable",
    "__version__",
    "open_memory",
]
