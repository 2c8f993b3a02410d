"""Clearwell: three-tier memory for multi-agent systems.

Everything an agent says is kept, what passes the filter is usable at once and marked as unverified, and nothing
becomes knowledge until a person promotes it.
"""

from clearwell.app import open_memory
from clearwell.errors import ClearwellError, InvalidInput, NotAllowed, NotFound, Unavailable
from clearwell.flow.retrieve import RetrieveOptions
from clearwell.records import (
    Admission,
    CaptureReceipt,
    ContextItem,
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
    "CaptureReceipt",
    "ClearwellError",
    "ContextItem",
    "InvalidInput",
    "MemoryEntry",
    "MemoryManager",
    "NewCapture",
    "NewMemory",
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
