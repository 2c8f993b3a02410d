"""The nodes of the protocol as nodes of a graph.

They write only their own channels: other channels of a state may have reducers, which would add to them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, runtime_checkable

import structlog
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda

from clearwell.adapters.chat.runs import claim_output
from clearwell.adapters.langgraph.scope import FACT_CHECK, MEMORY_RETRIEVAL, NodeScope
from clearwell.adapters.langgraph.state import read_channels
from clearwell.errors import ClearwellError, ConfigurationError
from clearwell.flow.context.retrieval_node import HISTORY
from clearwell.flow.factcheck.claims import CLAIM
from clearwell.flow.factcheck.node import RESULT, TEXT
from clearwell.messages import Language
from clearwell.middleware import MemoryMiddleware, Node, Session
from clearwell.middleware.bridge import MiddlewareBridge
from clearwell.sync.node import WorkflowNode

log = structlog.get_logger(__name__)
RESULT_SUFFIX: Final = "_result"


def memory_retrieval(
    middleware: MemoryMiddleware,
    *,
    group: str | None = None,
    agent_id: str | None = None,
    channel: str = HISTORY,
) -> Runnable[Any, dict[str, object]]:
    """Make the memory-retrieval node: it writes what earlier sessions left into a channel of the state.

    It asks for the ``topic`` of the state, else its ``content`` or ``document``, else the last message of the user. The
    state needs the channel, ``history_context`` by default. If memory does not answer, the channel is empty.
    With ``agent_id`` it also reads the memory of this agent.
    """
    scope = NodeScope(group=group, node_type=MEMORY_RETRIEVAL, agent_id=agent_id)
    node = _RetrievalNode(MiddlewareBridge(middleware), scope, channel)
    return RunnableLambda(node.run, afunc=node.run_async, name=MEMORY_RETRIEVAL)


def fact_check(
    middleware: MemoryMiddleware,
    *,
    group: str | None = None,
    claims: Sequence[str] = (CLAIM,),
    channel: str = TEXT,
) -> Runnable[Any, dict[str, object]]:
    """Make the fact-check node: it rates what the channels ``claims`` say by what memory knows, and cites it.

    The report is written to ``channel`` as text, and to ``channel`` with ``_result`` as data if the state has it.
    Without a text in ``claims`` it checks what the memory-retrieval node would ask for. The report is captured as
    evidence. If memory does not answer, the channel is empty.
    """
    if not isinstance(middleware.memory, FactCheckMemory):
        raise ConfigurationError("adapter_no_fact_check", memory=type(middleware.memory).__name__)
    scope = NodeScope(group=group or middleware.group, node_type=FACT_CHECK)
    node = _FactCheckNode(MiddlewareBridge(middleware), scope, middleware, tuple(claims), channel)
    return RunnableLambda(node.run, afunc=node.run_async, name=FACT_CHECK)


@runtime_checkable
class FactCheckMemory(Protocol):
    """A memory that makes fact-check nodes."""

    def fact_check_node(self, *, group: str, language: Language = "en") -> WorkflowNode:
        """Make the fact-check node of a group."""
        ...


class _RetrievalNode:
    """Writes the history of a state."""

    def __init__(self, bridge: MiddlewareBridge, scope: NodeScope, channel: str) -> None:
        self._bridge = bridge
        self._scope = scope
        self._channel = channel

    def run(self, state: object, config: RunnableConfig) -> dict[str, object]:
        context = self._bridge.read_sync(*self._begin(state, config))
        return {self._channel: context.text}

    async def run_async(self, state: object, config: RunnableConfig) -> dict[str, object]:
        context = await self._bridge.read(*self._begin(state, config))
        return {self._channel: context.text}

    def _begin(self, state: object, config: RunnableConfig) -> tuple[Session, Node]:
        claim_output(config)
        return self._scope.make_session(config, read_channels(state)), self._scope.make_node(config)


class _FactCheckNode:
    """Checks the claims of a state, and captures the report."""

    def __init__(
        self,
        bridge: MiddlewareBridge,
        scope: NodeScope,
        middleware: MemoryMiddleware,
        claims: tuple[str, ...],
        channel: str,
    ) -> None:
        self._bridge = bridge
        self._scope = scope
        self._middleware = middleware
        self._claims = claims
        self._channel = channel

    def run(self, state: object, config: RunnableConfig) -> dict[str, object]:
        return self._bridge.call_sync(self._check, state, config)

    async def run_async(self, state: object, config: RunnableConfig) -> dict[str, object]:
        return await self._bridge.call(self._check, state, config)

    async def _check(self, state: object, config: RunnableConfig) -> dict[str, object]:
        claim_output(config)
        channels = read_channels(state)
        session = self._scope.make_session(config, channels)
        output = await self._run_node(session, [channels.get(name) for name in self._claims])
        text, result = str(output.get(TEXT, "")), output.get(RESULT)
        self._bridge.capture(session, self._scope.make_node(config), text)
        return {self._channel: text, self._channel + RESULT_SUFFIX: result}

    async def _run_node(self, session: Session, claims: Sequence[object]) -> Mapping[str, object]:
        """Run the node of the library. A memory that refuses does not break the graph."""
        memory = self._middleware.memory
        texts = [claim for claim in claims if isinstance(claim, str) and claim.strip()]
        state = {**session.state, "session_id": session.id, CLAIM: texts}
        if session.group_id is None or not isinstance(memory, FactCheckMemory):
            log.warning("claim not checked", reason="middleware_no_group")
            return {}
        try:
            node = memory.fact_check_node(group=session.group_id, language=self._middleware.language)
            return (await node.run(state)).output
        except ClearwellError as error:
            log.warning("claim not checked", group_id=session.group_id, reason=error.code)
            return {}
