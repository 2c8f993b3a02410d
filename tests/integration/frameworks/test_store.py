"""The store of LangGraph on real servers: in a graph, with a real model of vectors."""

from typing import TypedDict

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime

from clearwell.adapters.langgraph import ClearwellStore
from clearwell.app import Clearwell
from clearwell.records import Principal, Right

VERIFIED_TEXT = "The warehouse in Rotterdam ships orders on weekdays until four in the afternoon."
NEW_TEXT = "Orders from Norway need a customs form since March, which the warehouse prints by itself."
AGENT = Principal(name="bot", rights=frozenset({Right.CAPTURE, Right.READ}), groups=frozenset({"shop"}))


class Order(TypedDict, total=False):
    question: str
    known: list[str]


async def look_up(state: Order, runtime: Runtime[None]) -> Order:
    assert runtime.store is not None
    await runtime.store.aput(("shop", "working"), "customs", {"text": NEW_TEXT, "source": "mail"})
    found = await runtime.store.asearch(("shop",), query=state["question"])
    return {"known": [f"{item.value['tier']}: {item.key}" for item in found]}


async def test_graph_puts_and_searches(clearwell: Clearwell) -> None:
    promoted = await clearwell.memory.acting_as(Principal.local()).promote(VERIFIED_TEXT, group="shop")
    store = ClearwellStore(clearwell.memory.acting_as(AGENT))
    graph = StateGraph(Order).add_node("clerk", look_up).add_edge(START, "clerk").compile(store=store)
    result = await graph.ainvoke(
        {"question": "When does the warehouse ship orders, and what do those from Norway need?"}
    )
    assert set(result["known"]) == {f"verified: {promoted.id}", "working: customs"}
    item = await store.aget(("shop", "working"), "customs")
    assert item is not None
    assert (item.value["text"], item.value["source"], item.value["verified"]) == (NEW_TEXT, "mail", False)
    (found,) = await store.asearch(("shop", "working"), filter={"source": "mail"})
    assert found.key == "customs"
