"""A node of a workflow as a synchronous function."""

from collections.abc import Mapping
from typing import Protocol

from clearwell.records import NodeRun
from clearwell.sync.loop_thread import LoopThread


class WorkflowNode(Protocol):
    """A node of the library: the memory-retrieval node or the fact-check node."""

    async def run(self, state: Mapping[str, object]) -> NodeRun:
        """Run on a state. Errors become events."""
        ...


class SyncNode:
    """The node as a function of a workflow: ``state = node(state)``. It needs no framework."""

    def __init__(self, node: WorkflowNode, loop: LoopThread) -> None:
        self._node = node
        self._loop = loop

    def __call__(self, state: Mapping[str, object]) -> dict[str, object]:
        return dict(self.run(state).output)

    def run(self, state: Mapping[str, object]) -> NodeRun:
        """The same, with the events of the run."""
        return self._loop.run(self._node.run(state))
