"""The adapters of LangGraph and LangChain on the client of a server."""

from typing import Any

import pytest
from httpx import ASGITransport
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.graph import MessagesState

from clearwell import AsyncClient, MemoryMiddleware
from clearwell.adapters.http.app import create_app
from clearwell.adapters.langchain import ClearwellMiddleware
from clearwell.adapters.langgraph import ClearwellStore, fact_check, memory_retrieval, remember
from clearwell.errors import NotAllowed
from tests.frameworks import CONFIG, QUESTION, graph_of, speaking
from tests.path import AGENT, LONG, OTHER, Path


class State(MessagesState):
    history_context: str
    claim: str
    fact_check: str


async def test_adapters_on_a_remote_server() -> None:
    path = Path()
    app = create_app(path.settings)
    app.state.clearwell = path.program
    path.program.keys.trust("token", AGENT)
    await path.memory.promote(LONG, group="g")
    asked: Any = {"messages": [HumanMessage(QUESTION)]}
    read: list[str] = []

    async def agent(state: MessagesState) -> dict[str, Any]:
        read.append(state["messages"][0].text)
        return {"messages": [await speaking(OTHER).ainvoke(state["messages"])]}

    client = AsyncClient("http://127.0.0.1", "token", transport=ASGITransport(app), settings=path.settings)
    async with client, MemoryMiddleware(client, spool=False, settings=path.settings) as middleware:
        await graph_of(remember(agent, middleware)).ainvoke(asked, CONFIG)
        recalled = await graph_of(memory_retrieval(middleware), State).ainvoke(asked, CONFIG)
        checked = await graph_of(fact_check(middleware), State).ainvoke({**asked, "claim": LONG}, CONFIG)
        await create_agent(speaking(OTHER), middleware=[ClearwellMiddleware(middleware)]).ainvoke(asked, CONFIG)
        assert await middleware.flush()
        store = ClearwellStore(client)
        await store.aput(("g", "working"), "key", {"text": "The invoices of March are paid within thirty days."})
        assert await store.aget(("g", "working"), "key") is not None
        with pytest.raises(NotAllowed, match="expires by itself"):
            await store.adelete(("g", "working"), "key")
    assert LONG in read[0]
    assert LONG in recalled["history_context"]
    assert "supported" in checked["fact_check"]
    contents = [row.capture.content for row in path.quarantine.rows["g"].values()]
    assert contents.count(OTHER) == 2
