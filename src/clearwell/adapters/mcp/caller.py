"""The caller of a tool: the memory that it may use, and the defaults that its connection was configured with."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from mcp.server.mcpserver import Context

from clearwell.errors import InvalidInput
from clearwell.flow.context.builder import ContextRequest
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.records import BuiltContext, CaptureReceipt, MemoryOrigin, NewCapture, Retrieval, VerifiedMemory


class ToolMemory(Protocol):
    """What the tools do with a memory: ``MemoryManager`` of an agent, or ``AsyncClient``."""

    async def capture(self, new: NewCapture, *, wait: bool = False) -> CaptureReceipt: ...

    async def retrieve(self, query: str, *, group: str, options: RetrieveOptions | None = None) -> Retrieval: ...

    async def build_context(self, request: ContextRequest, *, group: str) -> BuiltContext: ...

    async def memory(self, memory_id: UUID, *, group: str, agent_id: str | None = None) -> VerifiedMemory: ...

    async def memory_origin(self, memory_id: UUID, *, group: str, agent_id: str | None = None) -> MemoryOrigin: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """The group, agent and session of calls that name none."""

    group: str | None = None
    agent: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who calls. ``url`` is the address of the server on which a person can review, if there is one."""

    memory: ToolMemory
    defaults: Defaults = Defaults()
    url: str | None = None

    def choose_group(self, named: str | None) -> str:
        """The group that the call names, or the configured one. Raises InvalidInput if there is neither."""
        group = named or self.defaults.group
        if group is None:
            raise InvalidInput("mcp_group_missing", field="group")
        return group

    def choose_agent(self, named: str | None) -> str | None:
        return named or self.defaults.agent

    def choose_session(self, named: str | None) -> str | None:
        return named or self.defaults.session


FindCaller = Callable[[Context[None, Any]], Awaitable[Caller]]
"""Finds out who calls, from the context of a call."""
