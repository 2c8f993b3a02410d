"""Synchronous programs: graphs, agents and stores on the synchronous face of the library."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.graph import MessagesState

from clearwell import MemoryMiddleware, open_memory
from clearwell.adapters.langchain import ClearwellMiddleware
from clearwell.adapters.langgraph import CaptureHandler, ClearwellStore, fact_check, memory_retrieval, remember
from clearwell.settings import Settings
from tests.frameworks import graph_of

FACT = "The ferry to the island leaves at seven in the morning, and at six on Saturdays."
ANSWER = "I booked the ferry at seven on Tuesday, because the one at nine was already full."
CONFIG: Any = {"configurable": {"thread_id": "trip"}}


class Trip(MessagesState):
    history_context: str
    claim: str
    fact_check: str


def test_graph_agent_and_store_on_the_library(settings: Settings) -> None:
    read: list[str] = []

    def agent(state: MessagesState) -> dict[str, list[BaseMessage]]:
        read.append(state["messages"][0].text)
        return {"messages": [AIMessage(ANSWER)]}

    asked: Any = {"messages": [HumanMessage("When does the ferry to the island leave?")]}
    with open_memory(settings) as memory:
        memory.promote(FACT, group="trips")
        with MemoryMiddleware(memory, group="trips", settings=settings) as middleware:
            graph_of(remember(agent, middleware)).invoke(asked, CONFIG)
            assert FACT in read[0]
            assert FACT in graph_of(memory_retrieval(middleware), Trip).invoke(asked)["history_context"]
            checked = graph_of(fact_check(middleware), Trip).invoke({**asked, "claim": FACT})
            assert "supported" in checked["fact_check"]
            watched: Any = {**CONFIG, "callbacks": [CaptureHandler(middleware)]}
            graph_of(agent).invoke(asked, watched)
            answering = FakeListChatModel(responses=[ANSWER])
            create_agent(answering, middleware=[ClearwellMiddleware(middleware)]).invoke(asked, CONFIG)
        captured = memory.quarantine_rows(group="trips")
        assert [row.capture.content for row in captured].count(ANSWER) == 3
        store = ClearwellStore(memory)
        store.put(("trips", "working"), "bus", {"text": "The bus to the harbour takes forty minutes from the station."})
        assert store.get(("trips", "working"), "bus") is not None
        (found,) = store.search(("trips", "verified"), query="When does the ferry to the island leave?")
        assert found.value["content"] == FACT
