"""``ClearwellMemory``: memory as a capability of an agent."""

from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Final

from pydantic_ai import AgentRunResult, DeferredToolRequests, RunContext, ToolDefinition
from pydantic_ai.capabilities import AbstractCapability, ValidatedToolArgs, WrapRunHandler
from pydantic_ai.messages import ModelMessage, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import AgentDepsT

from clearwell.adapters.pydantic_ai.messages import (
    find_question,
    insert_context,
    read_tool_result,
    read_unfinished,
)
from clearwell.middleware import MemoryMiddleware, Node, Session
from clearwell.middleware.bridge import MiddlewareBridge
from clearwell.middleware.nodes import format_output
from clearwell.middleware.run import describe_end

AGENT: Final = "agent"
"""The name of an agent that has none."""


@dataclass
class ClearwellMemory(AbstractCapability[AgentDepsT]):
    """Memory for an agent: ``Agent(model, capabilities=[ClearwellMemory(middleware)])``, or for one run of it.

    Models read memories as data, in a part of the user before the question; the history of the run does not change.
    The output of a run is captured, the results of its tools, and what a model had written when a run was stopped, as
    partial. Memory never breaks the run.

    The session is ``session_id``, else the ``conversation_id`` of the run. ``group`` counts instead of that of the
    middleware, and ``agent_id`` instead of the name of the agent. With ``tools=False`` the results of tools are not
    captured. The capability of a run replaces that of its agent.
    """

    middleware: MemoryMiddleware
    _: KW_ONLY
    group: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    tools: bool = True
    id: str | None = "clearwell_memory"
    _bridge: MiddlewareBridge = field(init=False, repr=False, compare=False)
    _contexts: dict[str, str] = field(init=False, repr=False, compare=False, default_factory=dict)
    _history: list[ModelMessage] = field(init=False, repr=False, compare=False, default_factory=list)

    def __post_init__(self) -> None:
        self._bridge = MiddlewareBridge(self.middleware)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """It needs a middleware, so it is not made from a specification."""
        return None

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> "ClearwellMemory[AgentDepsT]":
        fresh = copy(self)
        fresh._contexts, fresh._history = {}, []
        return fresh

    # before the model

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        self._history = ctx.messages  # the history of the run itself, to which a stopped response is added
        question = find_question(request_context.messages)
        if question is None:
            return request_context
        place, text = question
        if text not in self._contexts:
            node = replace(self._make_node(ctx), input=text)
            self._contexts[text] = (await self._bridge.read(self._make_session(ctx), node)).memories
        if not self._contexts[text]:
            return request_context
        messages = insert_context(request_context.messages, place, self._contexts[text])
        return replace(request_context, messages=messages)

    # what is produced

    async def after_tool_execute(
        self,
        ctx: RunContext[AgentDepsT],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: ValidatedToolArgs,
        result: Any,
    ) -> Any:
        if self.tools:
            node = Node(call.tool_name, type="tool", agent_id=self._make_node(ctx).agent_id)
            text = read_tool_result(call.tool_name, call.tool_call_id, result)
            self._bridge.capture(self._make_session(ctx), node, text)
        return result

    async def wrap_run(self, ctx: RunContext[AgentDepsT], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        session, node = self._make_session(ctx), self._make_node(ctx)
        try:
            result = await handler()
        except BaseException as error:
            self._bridge.capture(session, node, read_unfinished(self._history), reason=describe_end(error))
            raise
        if not isinstance(result.output, DeferredToolRequests):
            self._bridge.capture(session, node, format_output(result.output))
        return result

    def _make_session(self, ctx: RunContext[AgentDepsT]) -> Session:
        return Session(self.session_id or ctx.conversation_id, group_id=self.group)

    def _make_node(self, ctx: RunContext[AgentDepsT]) -> Node:
        name = self.agent_id or (ctx.agent.name if ctx.agent is not None else None) or AGENT
        return Node(name, agent_id=name)
