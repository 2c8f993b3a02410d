"""``ClearwellMiddleware``: memory for an agent that ``create_agent`` makes."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Final, NotRequired, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import PrivateStateAttr, ToolCallRequest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime
from langgraph.types import Command

from clearwell.adapters.chat.messages import find_question, insert_context, list_tool_results, read_text
from clearwell.adapters.chat.pieces import PieceCollector, use_config
from clearwell.adapters.chat.runs import claim_output, is_remembered, read_agent_name, read_group, read_session_id
from clearwell.middleware import MemoryMiddleware, Node, Session
from clearwell.middleware.bridge import MiddlewareBridge
from clearwell.middleware.nodes import format_output
from clearwell.middleware.run import describe_end

AGENT: Final = "agent"
"""The name of an agent that has none."""


class ContextState(AgentState[Any]):
    """The state of an agent with the context of this run. It is neither input, output nor part of a checkpoint."""

    clearwell_context: NotRequired[Annotated[str, UntrackedValue, PrivateStateAttr]]


class ClearwellMiddleware(AgentMiddleware[ContextState, Any, Any]):
    """Memory for an agent: ``create_agent(model, tools, middleware=[ClearwellMiddleware(middleware)])``.

    Before the agent runs, memory is read for the last message of the user. The model gets it as data in a user message
    before the question; the messages of the agent do not change. What the agent answers at the end and what its tools
    return is captured, and what a model had written when it failed as partial. Memory never breaks the agent.

    The session is the ``thread_id`` of the run, and the group is ``group`` of its ``configurable``, else ``group``.
    ``agent_id`` is the name of the agent by default.
    """

    state_schema = ContextState

    def __init__(
        self,
        middleware: MemoryMiddleware,
        *,
        group: str | None = None,
        agent_id: str | None = None,
        tools: bool = True,
    ) -> None:
        super().__init__()
        self._bridge = MiddlewareBridge(middleware)
        self._group = group
        self._agent_id = agent_id
        self._captures_tools = tools

    # before the agent

    def before_agent(self, state: ContextState, runtime: Runtime[Any]) -> dict[str, Any]:  # noqa: ARG002
        return {"clearwell_context": self._read(state["messages"])}

    async def abefore_agent(self, state: ContextState, runtime: Runtime[Any]) -> dict[str, Any]:  # noqa: ARG002
        return {"clearwell_context": await self._read_async(state["messages"])}

    # around the model

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        context = _find_context(request.state)
        if context is None:
            context = self._read(request.messages)
        with self._observe():
            return handler(_add_context(request, context))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        context = _find_context(request.state)
        if context is None:
            context = await self._read_async(request.messages)
        with self._observe():
            return await handler(_add_context(request, context))

    # around tools

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        claim_output(get_config(), tools=True)
        result = handler(request)
        self._capture_results(request, result)
        return result

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        claim_output(get_config(), tools=True)
        result = await handler(request)
        self._capture_results(request, result)
        return result

    # after the agent

    def after_agent(self, state: ContextState, runtime: Runtime[Any]) -> None:  # noqa: ARG002
        self._capture(find_answer(state))

    async def aafter_agent(self, state: ContextState, runtime: Runtime[Any]) -> None:  # noqa: ARG002
        self._capture(find_answer(state))

    # memory

    def _read(self, messages: Sequence[AnyMessage]) -> str:
        return self._bridge.read_sync(self._make_session(messages), self._make_node()).memories

    async def _read_async(self, messages: Sequence[AnyMessage]) -> str:
        return (await self._bridge.read(self._make_session(messages), self._make_node())).memories

    @contextmanager
    def _observe(self) -> Iterator[None]:
        """Capture what the model has written as partial, if it fails or is cancelled."""
        config, pieces = get_config(), PieceCollector()
        claim_output(config)
        try:
            with use_config(config, {"callbacks": [pieces]}):
                yield
        except GraphBubbleUp:
            raise
        except BaseException as error:
            self._capture(pieces.text, reason=describe_end(error))
            raise

    def _capture_results(self, request: ToolCallRequest, result: ToolMessage | Command[Any]) -> None:
        if not self._captures_tools or is_remembered(get_config()):
            return
        agent = self._make_node().agent_id
        for message in _list_results(result):
            node = Node(message.name or request.tool_call["name"], type="tool", agent_id=agent)
            self._bridge.capture(self._make_session(()), node, read_text(message))

    def _capture(self, text: str, *, reason: str | None = None) -> None:
        if not is_remembered(get_config()):
            self._bridge.capture(self._make_session(()), self._make_node(), text, reason=reason)

    def _make_session(self, messages: Sequence[BaseMessage]) -> Session:
        config = cast(Mapping[str, object], get_config())
        group = read_group(config) or self._group
        return Session(read_session_id(config), group_id=group, state={"content": find_question(messages)})

    def _make_node(self) -> Node:
        config = cast(Mapping[str, object], get_config())
        name = self._agent_id or read_agent_name(config) or AGENT
        return Node(name, agent_id=name)


def find_answer(state: ContextState) -> str:
    """What the agent answered at the end: a text, or the structured response as JSON. Empty if it did not answer."""
    last = next((one for one in reversed(state["messages"]) if isinstance(one, AIMessage | HumanMessage)), None)
    if isinstance(last, AIMessage) and not last.tool_calls and read_text(last).strip():
        return read_text(last)
    return format_output(state.get("structured_response"))


def _find_context(state: Mapping[str, object]) -> str | None:
    """The context of this run; None if the run was resumed, which begins without the untracked part of the state."""
    value = state.get("clearwell_context")
    return value if isinstance(value, str) else None


def _add_context(request: ModelRequest[Any], context: str) -> ModelRequest[Any]:
    return request.override(messages=cast(list[AnyMessage], insert_context(request.messages, context)))


def _list_results(result: ToolMessage | Command[Any]) -> list[ToolMessage]:
    if isinstance(result, ToolMessage):
        return [result]
    update = result.update
    messages = update.get("messages") if isinstance(update, Mapping) else None
    return list_tool_results(messages) if isinstance(messages, list) else []
