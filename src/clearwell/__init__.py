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
    from clearwell.app import open_memory
    from clearwell.client.client import AsyncClient
    from clearwell.errors import ClearwellError, InvalidInput, NotAllowed, NotFound, Unavailable
    from clearwell.flow.context.builder import ContextBuilder, ContextRequest
    from clearwell.flow.context.retrieval_node import MemoryRetrievalNode, NodeOptions
    from clearwell.flow.context.tokens import FunctionTokenCounter
    from clearwell.flow.factcheck.checker import FactCheckOptions
    from clearwell.flow.factcheck.node import FactCheckNode
    from clearwell.flow.retrieval.options import RetrieveOptions
    from clearwell.middleware import AgentMemory, HookPolicy, Injection, MemoryMiddleware, Node, NodeContext, Session
    from clearwell.records import (
        Action,
        Admission,
        BuiltContext,
        CaptureReceipt,
        ContextItem,
        DecisionRequest,
        Event,
        EventType,
        FactCheck,
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

__all__ = [
    "Action",
    "Admission",
    "AgentMemory",
    "AsyncClient",
    "BuiltContext",
    "CaptureReceipt",
    "ClearwellError",
    "ContextBuilder",
    "ContextItem",
    "ContextRequest",
    "DecisionRequest",
    "Event",
    "EventType",
    "FactCheck",
    "FactCheckNode",
    "FactCheckOptions",
    "FunctionTokenCounter",
    "GroupChange",
    "HookPolicy",
    "Injection",
    "InsightState",
    "InvalidInput",
    "MemoryEntry",
    "MemoryManager",
    "MemoryMiddleware",
    "MemoryRetrievalNode",
    "NewCapture",
    "NewMemory",
    "Node",
    "NodeContext",
    "NodeOptions",
    "NotAllowed",
    "NotFound",
    "Principal",
    "Retrieval",
    "RetrieveOptions",
    "Right",
    "Session",
    "Settings",
    "SourceSelector",
    "Unavailable",
    "__version__",
    "open_memory",
]

_NAMES_BY_MODULE = {
    "clearwell.app": ("open_memory",),
    "clearwell.client.client": ("AsyncClient",),
    "clearwell.errors": (
        "ClearwellError",
        "InvalidInput",
        "NotAllowed",
        "NotFound",
        "Unavailable",
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
    "clearwell.middleware": (
        "AgentMemory",
        "HookPolicy",
        "Injection",
        "MemoryMiddleware",
        "Node",
        "NodeContext",
        "Session",
    ),
    "clearwell.records": (
        "Action",
        "Admission",
        "BuiltContext",
        "CaptureReceipt",
        "ContextItem",
        "DecisionRequest",
        "Event",
        "EventType",
        "FactCheck",
        "GroupChange",
        "InsightState",
        "MemoryEntry",
        "NewCapture",
        "NewMemory",
        "Principal",
        "Retrieval",
        "Right",
        "SourceSelector",
    ),
    "clearwell.service": ("MemoryManager",),
    "clearwell.settings": ("Settings",),
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
