"""The memory that the middleware works on: ``MemoryManager`` of the library, or a client of a remote server."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from clearwell.errors import ClearwellError
from clearwell.flow.context.builder import ContextRequest
from clearwell.flow.context.retrieval_node import NodeOptions
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.messages import Language
from clearwell.records import BuiltContext, CaptureReceipt, NewCapture, NodeRun, Retrieval


class RetrievalNode(Protocol):
    """The memory-retrieval node of a workflow."""

    async def run(self, state: Mapping[str, object]) -> NodeRun:
        """Add ``history_context`` to a state. Errors of retrieval become events."""
        ...


class AgentMemory(Protocol):
    """What agents do with a memory. It is bound to its caller, and methods raise ClearwellError."""

    @property
    def destination(self) -> str:
        """Names the memory and its caller. What was spooled for one destination is delivered to no other."""
        ...

    async def capture(self, new: NewCapture, *, wait: bool = False) -> CaptureReceipt:
        """Store one output in quarantine."""
        ...

    async def capture_many(
        self, news: Sequence[NewCapture], *, wait: bool = False
    ) -> Sequence[CaptureReceipt | ClearwellError]:
        """Capture many outputs; a receipt or an error in the place of each. Raises if none could be stored."""
        ...

    async def retrieve(self, query: str, *, group: str, options: RetrieveOptions | None = None) -> Retrieval:
        """Search working and long-term memory together."""
        ...

    async def build_context(self, request: ContextRequest, *, group: str) -> BuiltContext:
        """Build the prompt of an agent within a token budget."""
        ...

    def retrieval_node(
        self, *, group: str, options: NodeOptions | None = None, language: Language = "en"
    ) -> RetrievalNode:
        """Make the memory-retrieval node of a group."""
        ...
