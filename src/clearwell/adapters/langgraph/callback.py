"""The callback handler: captures the outputs of a graph that knows nothing of memory."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.outputs import ChatGenerationChunk, GenerationChunk, LLMResult

from clearwell.adapters.chat.runs import read_agent_name, read_group, read_node_name, read_session_id
from clearwell.adapters.langgraph.tracker import Produced, RunTracker
from clearwell.middleware import MemoryMiddleware, Node, Session
from clearwell.middleware.bridge import MiddlewareBridge
from clearwell.middleware.run import describe_end


class CaptureHandler(BaseCallbackHandler):
    """Captures what the nodes and tools of a graph produce: ``graph.ainvoke(state, {"callbacks": [handler]})``.

    The graph stays as it is, and runs synchronously or asynchronously. A node that fails or is cancelled is captured as
    partial, with what its models had written. Nodes that ``remember`` wraps, and those of the protocol, are captured
    once. ``node_types`` are the types of nodes that are not agents, by name; results of tools have the type ``tool``.

    The session is the ``thread_id`` of the run, and the group is ``group`` of its metadata, else ``group``.
    """

    run_inline = True  # it does not wait for anything, and the order of events counts

    def __init__(
        self,
        middleware: MemoryMiddleware,
        *,
        group: str | None = None,
        node_types: Mapping[str, str] | None = None,
        tools: bool = True,
    ) -> None:
        self._bridge = MiddlewareBridge(middleware)
        self._group = group
        self._node_types = dict(node_types or {})
        self._tools = tools
        self.tracker = RunTracker()

    def leave_out(self, run_id: UUID, *, tools: bool) -> None:
        """Do not capture the output of the node of this run, nor those of its tools if ``tools`` is true."""
        self.tracker.leave_out(run_id, tools=tools)

    # nodes

    def on_chain_start(
        self,
        serialized: dict[str, Any],
        inputs: object,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, object] | None = None,
        **_: Any,
    ) -> None:
        self.tracker.start(run_id, parent_run_id, inputs=inputs, tags=tags, metadata=metadata)

    def on_chain_end(self, outputs: object, *, run_id: UUID, **_: Any) -> None:
        self._capture(self.tracker.end(run_id, outputs))

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._capture(self.tracker.fail(run_id, error), reason=describe_end(error))

    # models

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: object,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **_: Any,
    ) -> None:
        self.tracker.start(run_id, parent_run_id)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: object,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **_: Any,
    ) -> None:
        self.tracker.start(run_id, parent_run_id)

    def on_llm_new_token(
        self,
        token: object,
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        run_id: UUID,
        **_: Any,
    ) -> None:
        text = chunk.text if chunk is not None else token
        if isinstance(text, str):
            self.tracker.add_token(run_id, text)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        self.tracker.end_model(run_id, response.generations[0][0].text if any(response.generations) else None)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self.tracker.end_model(run_id, None)

    # tools

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: Mapping[str, object] | None = None,
        **_: Any,
    ) -> None:
        name = serialized.get("name")
        self.tracker.start(run_id, parent_run_id, name=str(name) if name else None, metadata=metadata)

    def on_tool_end(self, output: object, *, run_id: UUID, **_: Any) -> None:
        produced = self.tracker.end_tool(run_id, output)
        if self._tools:
            self._capture(produced)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self.tracker.forget(run_id)

    def _capture(self, produced: Produced | None, *, reason: str | None = None) -> None:
        if produced is None:
            return
        session = Session(read_session_id(produced.metadata), group_id=read_group(produced.metadata) or self._group)
        node_type = "tool" if produced.is_tool else self._node_types.get(produced.name, "agent")
        node = Node(produced.name, type=node_type, agent_id=_find_agent(produced.metadata))
        self._bridge.capture(session, node, produced.text, reason=reason if produced.incomplete else None)


def _find_agent(metadata: Mapping[str, object]) -> str | None:
    """The agent that an output belongs to: one of LangChain that has a name, else the node."""
    return read_agent_name(metadata) or read_node_name(metadata)
