"""The program on twins with a middleware on it, and scripted models, for tests of adapters of agent frameworks."""

from typing import Any, Final

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph

from clearwell.middleware import MemoryMiddleware
from clearwell.records import Capture
from tests.path import AGENT, Path

QUESTION: Final = "When was the payment service moved to the new cluster?"
RUN: Final = {"run": {"started_at": "2026-01-01T00:00:00+00:00"}}
"""What the middleware adds to the metadata of an output whose agent was given nothing."""
CONFIG: Final[RunnableConfig] = {"configurable": {"thread_id": "meeting-7", "group": "g"}}


class Board:
    """The program on twins, with a middleware of an agent on it, and what is in quarantine."""

    def __init__(self) -> None:
        self.path = Path()
        self.middleware = MemoryMiddleware(
            self.path.memory.acting_as(AGENT), spool=False, settings=self.path.settings, clock=self.path.clock
        )

    async def captured(self) -> list[Capture]:
        assert await self.middleware.flush()
        rows = self.path.quarantine.rows["g"]
        return [row.capture for _, row in sorted(rows.items())]


def speaking(*answers: str | AIMessage) -> GenericFakeChatModel:
    """A model that gives these answers in turn."""
    messages = [AIMessage(answer) if isinstance(answer, str) else answer for answer in answers]
    return GenericFakeChatModel(messages=iter(messages))


def graph_of(node: Any, schema: Any = MessagesState, name: str = "auditor", **options: Any) -> CompiledStateGraph[Any]:
    """A graph of one node."""
    return StateGraph(schema).add_node(name, node).add_edge(START, name).compile(**options)
