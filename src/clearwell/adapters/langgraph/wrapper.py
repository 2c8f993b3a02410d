"""``remember``: the node of an agent with memory around it."""

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeAlias, cast

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.config import merge_configs
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp, ParentCommand

from clearwell.adapters.chat.messages import read_text
from clearwell.adapters.chat.pieces import PieceCollector, use_config
from clearwell.adapters.chat.runs import REMEMBERED, claim_output
from clearwell.adapters.langgraph.scope import NodeScope, make_tool_node
from clearwell.adapters.langgraph.state import add_context, read_channels, read_output, remove_from_output
from clearwell.middleware import MemoryMiddleware, Node, NodeContext, Session
from clearwell.middleware.bridge import MiddlewareBridge
from clearwell.middleware.run import describe_end

GraphNode: TypeAlias = Callable[..., Any] | Runnable[Any, Any]
"""What LangGraph accepts as a node: a function, an object that can be called, or a runnable, as a compiled graph is."""


def remember(
    node: GraphNode,
    middleware: MemoryMiddleware,
    *,
    group: str | None = None,
    node_type: str = "agent",
    agent_id: str | None = None,
    name: str | None = None,
    context_channel: str | None = None,
    output_channel: str | None = None,
) -> GraphNode:
    """Wrap a node: it reads its context before it runs, and its output is captured after.

    The context is data in a user message before the question if the state has ``messages``; else it is in the channel
    ``history_context``, or in ``context_channel``. Only the node sees it: it is not written to the state. What is
    captured is the text that the node wrote into the messages, or into ``output_channel``. If the node fails or is
    cancelled, what its models had written until then is captured as partial.

    The session is the ``thread_id`` of the run, and the group is ``group`` of its ``configurable``, else ``group``.
    ``name`` and ``agent_id`` are the name of the node in the graph by default.
    """
    remembered = _RememberedNode(
        bridge=MiddlewareBridge(middleware),
        scope=NodeScope(group=group, node_type=node_type, name=name, agent_id=agent_id),
        context_channel=context_channel,
        output_channel=output_channel,
    )
    if inspect.isgeneratorfunction(node) or inspect.isasyncgenfunction(node):
        node = RunnableLambda(node)
    if isinstance(node, Runnable):
        return remembered.wrap_runnable(node)
    if inspect.iscoroutinefunction(node) or inspect.iscoroutinefunction(getattr(node, "__call__", None)):  # noqa: B004
        return remembered.wrap_async(node)
    return remembered.wrap_sync(node)


@dataclass(slots=True, kw_only=True)
class _Execution:
    """One execution of a node: where its output belongs, and what it has written."""

    session: Session
    node: Node
    channels: Mapping[str, object]
    captures_tools: bool
    pieces: PieceCollector = field(default_factory=PieceCollector)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RememberedNode:
    """Runs a node with memory around it, whatever kind of node it is."""

    bridge: MiddlewareBridge
    scope: NodeScope
    context_channel: str | None
    output_channel: str | None

    def wrap_sync(self, function: Callable[..., object]) -> Callable[..., object]:
        @wraps(function)
        def run(state: object, *args: object, **kwargs: Any) -> object:
            execution = self._begin(state, get_config())
            context = self.bridge.read_sync(execution.session, execution.node)
            with self._observe(execution, kwargs) as given:
                output = function(self._add_context(state, context), *args, **given)
                return self._finish(execution, output)

        return run

    def wrap_async(self, function: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
        @wraps(function)
        async def run(state: object, *args: object, **kwargs: Any) -> object:
            execution = self._begin(state, get_config())
            context = await self.bridge.read(execution.session, execution.node)
            with self._observe(execution, kwargs) as given:
                output = await function(self._add_context(state, context), *args, **given)
                return self._finish(execution, output)

        return run

    def wrap_runnable(self, runnable: Runnable[Any, Any]) -> Runnable[Any, Any]:
        def invoke(state: object, config: RunnableConfig) -> object:
            return runnable.invoke(state, config)

        async def ainvoke(state: object, config: RunnableConfig) -> object:
            return await runnable.ainvoke(state, config)

        return RunnableLambda(
            cast(Callable[[Any, RunnableConfig], object], self.wrap_sync(invoke)),
            afunc=cast(Callable[[Any, RunnableConfig], Awaitable[object]], self.wrap_async(ainvoke)),
            name=runnable.get_name(),
        )

    def _begin(self, state: object, config: RunnableConfig) -> _Execution:
        channels = read_channels(state)
        return _Execution(
            session=self.scope.make_session(config, channels),
            node=self.scope.make_node(config),
            channels=channels,
            captures_tools=not claim_output(config),
        )

    def _add_context(self, state: object, context: NodeContext) -> object:
        return add_context(state, context.memories, channel=self.context_channel)

    def _finish(self, execution: _Execution, output: object) -> object:
        """Capture the output, and return it without the context message."""
        written = read_output(output, execution.channels, channel=self.output_channel)
        if execution.captures_tools:
            for tool in written.tools:
                node = make_tool_node(tool.name, execution.node.agent_id)
                self.bridge.capture(execution.session, node, read_text(tool))
        self.bridge.capture(execution.session, execution.node, written.text)
        return remove_from_output(output)

    @contextmanager
    def _observe(self, execution: _Execution, kwargs: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Collect what is written in the body, and capture it as partial if the body fails or is cancelled.

        An interrupt is no failure: the node runs again when the graph is resumed. A command for the parent graph is the
        output of the node.
        """
        added: RunnableConfig = {"callbacks": [execution.pieces], "metadata": {REMEMBERED: True}}
        if "config" in kwargs:
            kwargs = {**kwargs, "config": merge_configs(kwargs["config"], added)}
        try:
            with use_config(get_config(), added):
                yield kwargs
        except ParentCommand as command:
            self._finish(execution, command.args[0])
            raise
        except GraphBubbleUp:
            raise
        except BaseException as error:
            written = execution.pieces.text
            self.bridge.capture(execution.session, execution.node, written, reason=describe_end(error))
            raise
