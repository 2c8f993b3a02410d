"""Where an output belongs: the session, the group and the node of a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from langchain_core.runnables import RunnableConfig

from clearwell.adapters.chat.runs import read_group, read_node_name, read_session_id
from clearwell.adapters.langgraph.state import read_state
from clearwell.middleware import Node, Session

MEMORY_RETRIEVAL: Final = "memory_retrieval"
FACT_CHECK: Final = "fact_check"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeScope:
    """What the caller said about a node. The configuration of a run adds its session and, if it names one, its group.

    Without ``agent_id`` an agent has the name of its node. The nodes of the protocol are no agents.
    """

    group: str | None = None
    node_type: str = "agent"
    name: str | None = None
    agent_id: str | None = None

    def make_session(self, config: RunnableConfig, channels: Mapping[str, object]) -> Session:
        group = read_group(config) or self.group
        return Session(read_session_id(config), group_id=group, state=read_state(channels))

    def make_node(self, config: RunnableConfig) -> Node:
        name = self.name or read_node_name(config)
        agent = None if self.node_type in (MEMORY_RETRIEVAL, FACT_CHECK) else name
        return Node(name, type=self.node_type, agent_id=self.agent_id or agent)


def make_tool_node(name: str | None, agent_id: str | None) -> Node:
    """The node of a tool's result, which an agent asked for."""
    return Node(name or "tool", type="tool", agent_id=agent_id)
