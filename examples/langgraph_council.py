"""A council on LangGraph: memory retrieval, two agents in parallel, a fact check, the chair. Run it twice."""

import asyncio
import os
from functools import partial
from typing import TypedDict

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langgraph.graph import START, StateGraph

from clearwell import MemoryMiddleware, open_memory
from clearwell.adapters.langgraph import fact_check, memory_retrieval, remember

if MODEL := os.environ.get("MODEL"):  # such as openai:gpt-5.5, with langchain[openai] installed
    from langchain.chat_models import init_chat_model
LINES = {
    "pro": "The rehearsal on staging moved the billing service to PostgreSQL 18 in 40 minutes without an error.",
    "con": "The reporting jobs of the billing service still need an extension that PostgreSQL 18 does not have.",
    "verdict": "The billing service moves to PostgreSQL 18 in January, after the reporting jobs drop the extension.",
}
Council = TypedDict("Council", dict.fromkeys(["topic", "history_context", "fact_check", *LINES], str), total=False)


async def speak(state: Council, channel: str) -> dict[str, str]:
    model = init_chat_model(MODEL) if MODEL else FakeListChatModel(responses=[LINES[channel]])
    return {channel: (await model.ainvoke(f"Write the {channel} of a council in one sentence.\n\n{state}")).text}


async def main() -> None:
    async with open_memory() as memory, MemoryMiddleware(memory, group="council") as middleware:
        graph = StateGraph(Council).add_node("recall", memory_retrieval(middleware)).add_edge(START, "recall")
        for name, channel in {"advocate": "pro", "sceptic": "con", "chair": "verdict"}.items():
            graph.add_node(name, remember(partial(speak, channel=channel), middleware))
        graph.add_node("checker", fact_check(middleware, claims=["pro", "con"])).add_edge("checker", "chair")
        graph.add_edge("recall", "advocate").add_edge("recall", "sceptic").add_edge(["advocate", "sceptic"], "checker")
        meeting = {"configurable": {"thread_id": os.urandom(8).hex()}}
        print(*(await graph.compile().ainvoke({"topic": "Move to PostgreSQL 18?"}, meeting)).values(), sep="\n\n")


asyncio.run(main())
