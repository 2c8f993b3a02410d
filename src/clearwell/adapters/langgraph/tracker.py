"""Follows the runs of a graph by their callbacks, and says what each node and each tool produced.

LangChain reports the start and the end of every run with its id and that of its parent: the graph, its nodes, and the
models, tools and subgraphs in them. A run belongs to the innermost node that it runs in. The node of a subgraph reports
its output before the outer node, which repeats it; only the first report counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from langchain_core.messages import BaseMessage
from langgraph.errors import GraphBubbleUp, ParentCommand

from clearwell.adapters.chat.messages import read_text
from clearwell.adapters.langgraph.state import NodeOutput, read_channels, read_output

STEP_TAG: Final = "graph:step:"
"""The beginning of the tag that LangGraph gives to the run of a node, and not to the runs in it."""
TOOL: Final = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Produced:
    """The output of a node or a tool, with the metadata of its run."""

    name: str
    text: str
    metadata: Mapping[str, object]
    is_tool: bool = False
    incomplete: bool = False


@dataclass(slots=True, kw_only=True)
class _Run:
    """A run that has not ended. The run of a node is its own node."""

    name: str | None
    metadata: Mapping[str, object]
    node: "_Run | None" = None
    outer: "_Run | None" = None
    channels: Mapping[str, object] = field(default_factory=dict)
    answers: dict[UUID, str] = field(default_factory=dict)
    reported: set[str] = field(default_factory=set)
    leaves_out_output: bool = False
    leaves_out_tools: bool = False


class RunTracker:
    """Follows runs from their start to their end. Methods may be called from several threads."""

    def __init__(self) -> None:
        self._runs: dict[UUID, _Run] = {}

    def __len__(self) -> int:
        """The number of runs that have not ended."""
        return len(self._runs)

    def leave_out(self, run_id: UUID, *, tools: bool) -> None:
        """Do not report the output of the node of this run, nor those of its tools if ``tools`` is true."""
        run = self._runs.get(run_id)
        if run is not None and run.node is not None:
            run.node.leaves_out_output = True
            run.node.leaves_out_tools |= tools

    def start(
        self,
        run_id: UUID,
        parent_run_id: UUID | None,
        *,
        name: str | None = None,
        inputs: object = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, object] | None = None,
    ) -> None:
        """A run has started."""
        parent = None if parent_run_id is None else self._runs.get(parent_run_id)
        outer = None if parent is None else parent.node
        run = _Run(name=name, metadata=metadata or {}, node=outer, outer=outer)
        if any(tag.startswith(STEP_TAG) for tag in tags or ()):
            run.name = str(run.metadata.get("langgraph_node") or name)
            run.node, run.channels = run, read_channels(inputs)
        self._runs[run_id] = run

    def add_token(self, run_id: UUID, token: str) -> None:
        """A model has streamed a piece of its answer."""
        run = self._runs.get(run_id)
        if run is not None and run.node is not None:
            run.node.answers[run_id] = run.node.answers.get(run_id, "") + token

    def end_model(self, run_id: UUID, answer: str | None) -> None:
        """The run of a model has ended. Without an answer, what it has streamed stays."""
        run = self._runs.pop(run_id, None)
        if run is not None and run.node is not None and answer:
            run.node.answers[run_id] = answer

    def end(self, run_id: UUID, outputs: object) -> Produced | None:
        """A run has ended; returns what to capture of it."""
        run = self._runs.pop(run_id, None)
        if run is None or run.node is not run:
            return None
        return self._report(run, read_output(outputs, run.channels))

    def fail(self, run_id: UUID, error: BaseException) -> Produced | None:
        """A run has failed or was cancelled; returns what its models had written until then.

        An interrupt is no failure: the node runs again when the graph is resumed. A command for the parent graph is
        the output of the node.
        """
        run = self._runs.pop(run_id, None)
        if run is None or run.node is not run:
            return None
        if isinstance(error, ParentCommand):
            return self._report(run, read_output(error.args[0], run.channels))
        if isinstance(error, GraphBubbleUp):
            return None
        output = NodeOutput(texts=tuple(answer for answer in run.answers.values() if answer.strip()))
        return self._report(run, output, incomplete=True)

    def end_tool(self, run_id: UUID, output: object) -> Produced | None:
        """A tool has returned; returns its result as text."""
        run = self._runs.pop(run_id, None)
        text = read_text(output) if isinstance(output, BaseMessage) else output
        if run is None or not isinstance(text, str) or not text.strip():
            return None
        if any(node.leaves_out_tools for node in _list_nodes(run)):
            return None
        return Produced(name=run.name or TOOL, text=text, metadata=run.metadata, is_tool=True)

    def forget(self, run_id: UUID) -> None:
        """A run has ended, and there is nothing to capture of it."""
        self._runs.pop(run_id, None)

    def _report(self, run: _Run, output: NodeOutput, *, incomplete: bool = False) -> Produced | None:
        new = [text for text in output.texts if text not in run.reported]
        if run.outer is not None:
            run.outer.reported |= {*run.reported, *output.texts}
        if not new or any(node.leaves_out_output for node in _list_nodes(run)):
            return None
        return Produced(name=run.name or "", text="\n\n".join(new), metadata=run.metadata, incomplete=incomplete)


def _list_nodes(run: _Run) -> list[_Run]:
    """The node of a run and the nodes around it, the innermost first."""
    nodes: list[_Run] = []
    node = run.node
    while node is not None:
        nodes.append(node)
        node = node.outer
    return nodes
