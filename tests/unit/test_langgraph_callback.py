"""The callback handler of LangGraph: what is captured of a graph that knows nothing of memory."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

from clearwell.adapters.langgraph import CaptureHandler, fact_check, memory_retrieval, remember
from tests.frameworks import QUESTION, Board, graph_of, speaking
from tests.path import LONG, OTHER

ASKED: MessagesState = {"messages": [HumanMessage(QUESTION)]}


@pytest.fixture
async def board() -> AsyncIterator[Board]:
    made = Board()
    async with made.middleware:
        yield made


class Meeting(TypedDict, total=False):
    topic: str
    history_context: str
    claim: str
    fact_check: str
    verdict: str


def watched(board: Board, **options: Any) -> RunnableConfig:
    handler = CaptureHandler(board.middleware, **{"group": "g", **options})
    return {"callbacks": [handler], "configurable": {"thread_id": "meeting-7"}}


def agent_saying(*answers: str) -> Any:
    model = speaking(*answers)

    async def agent(state: MessagesState) -> dict[str, list[BaseMessage]]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return agent


@tool
def read_log(day: str) -> str:
    """Read the log of a day."""
    return f"The log of {day} has 3 errors of the payment service."


async def test_output_of_a_node_is_captured(board: Board) -> None:
    await graph_of(agent_saying(LONG)).ainvoke(ASKED, watched(board))
    (capture,) = await board.captured()
    assert (capture.content, capture.session_id, capture.group_id) == (LONG, "meeting-7", "g")
    assert (capture.node_id, capture.node_type, capture.agent_id) == ("auditor", "agent", "auditor")
    assert not capture.partial


async def test_group_can_be_in_the_metadata_of_the_run(board: Board) -> None:
    config = watched(board, group=None)
    await graph_of(agent_saying(LONG)).ainvoke(ASKED, {**config, "metadata": {"group": "g"}})
    assert [capture.content for capture in await board.captured()] == [LONG]


async def test_synchronous_graph_in_another_thread(board: Board) -> None:
    def agent(state: MessagesState) -> dict[str, list[BaseMessage]]:
        return {"messages": [speaking(LONG).invoke(state["messages"])]}

    await asyncio.to_thread(graph_of(agent).invoke, ASKED, watched(board))
    assert [capture.content for capture in await board.captured()] == [LONG]


async def test_later_turns_capture_only_what_is_new(board: Board) -> None:
    graph = graph_of(agent_saying(LONG, OTHER), checkpointer=InMemorySaver())
    config = watched(board)
    await graph.ainvoke(ASKED, config)
    await graph.ainvoke(ASKED, config)
    assert [capture.content for capture in await board.captured()] == [LONG, OTHER]


async def test_streaming_captures_the_whole_once(board: Board) -> None:
    pieces = [
        piece async for piece, _ in graph_of(agent_saying(LONG)).astream(ASKED, watched(board), stream_mode="messages")
    ]
    assert len(pieces) > 2
    (capture,) = await board.captured()
    assert (capture.content, capture.partial) == (LONG, False)


async def test_subgraph_is_captured_once(board: Board) -> None:
    inner = graph_of(agent_saying(LONG), name="clerk")
    builder = StateGraph(MessagesState).add_node("office", inner).add_edge(START, "office")
    builder.add_node("chair", agent_saying(OTHER)).add_edge("office", "chair")
    await builder.compile().ainvoke(ASKED, watched(board, node_types={"chair": "chair"}))
    assert [(capture.node_id, capture.node_type, capture.content) for capture in await board.captured()] == [
        ("clerk", "agent", LONG),
        ("chair", "chair", OTHER),
    ]


async def test_what_an_outer_node_adds_is_captured(board: Board) -> None:
    inner = graph_of(agent_saying(LONG), name="clerk")

    async def office(state: MessagesState) -> dict[str, list[BaseMessage]]:
        result = await inner.ainvoke(state)
        return {"messages": [*result["messages"], AIMessage(OTHER)]}

    await graph_of(office, name="office").ainvoke(ASKED, watched(board))
    assert [(capture.node_id, capture.content) for capture in await board.captured()] == [
        ("clerk", LONG),
        ("office", OTHER),
    ]


async def test_nodes_in_parallel(board: Board) -> None:
    builder = StateGraph(MessagesState)
    for name, text in (("for", LONG), ("against", OTHER)):
        builder.add_node(name, agent_saying(text)).add_edge(START, name)
    await builder.compile().ainvoke(ASKED, watched(board))
    assert {(capture.node_id, capture.content) for capture in await board.captured()} == {
        ("for", LONG),
        ("against", OTHER),
    }


async def test_results_of_tools_are_captured_as_tools(board: Board) -> None:
    call = AIMessage("", tool_calls=[{"name": "read_log", "args": {"day": "Monday"}, "id": "1"}])
    graph = graph_of(ToolNode([read_log]), name="tools")
    await graph.ainvoke({"messages": [HumanMessage(QUESTION), call]}, watched(board))
    (capture,) = await board.captured()
    assert (capture.node_id, capture.node_type, capture.agent_id) == ("read_log", "tool", "tools")
    assert capture.content == "The log of Monday has 3 errors of the payment service."
    await graph.ainvoke({"messages": [HumanMessage(QUESTION), call]}, watched(board, tools=False))
    assert len(await board.captured()) == 1


async def test_wrapped_nodes_are_captured_once(board: Board) -> None:
    inner = graph_of(agent_saying(OTHER), name="clerk")
    builder = StateGraph(MessagesState).add_node("auditor", remember(agent_saying(LONG), board.middleware, group="g"))
    builder.add_node("office", remember(inner, board.middleware, group="g"))
    builder.add_edge(START, "auditor").add_edge("auditor", "office")
    await builder.compile().ainvoke(ASKED, watched(board))
    assert [(capture.node_id, capture.content) for capture in await board.captured()] == [
        ("auditor", LONG),
        ("office", OTHER),
    ]


async def test_tools_of_a_wrapped_node_are_captured_once(board: Board) -> None:
    async def agent(state: MessagesState) -> dict[str, list[BaseMessage]]:
        call = {"name": "read_log", "args": {"day": "Monday"}, "id": "1", "type": "tool_call"}
        return {"messages": [await read_log.ainvoke(call), AIMessage(LONG)]}

    await graph_of(remember(agent, board.middleware, group="g")).ainvoke(ASKED, watched(board))
    assert [(capture.node_type, capture.node_id) for capture in await board.captured()] == [
        ("tool", "read_log"),
        ("agent", "auditor"),
    ]


async def test_nodes_of_the_protocol_keep_their_policies(board: Board) -> None:
    await board.path.memory.promote(LONG, group="g")
    builder = StateGraph(Meeting).add_node("recall", memory_retrieval(board.middleware, group="g"))
    builder.add_node("checker", fact_check(board.middleware, group="g"))
    builder.add_edge(START, "recall").add_edge("recall", "checker")
    await builder.compile().ainvoke({"topic": QUESTION, "claim": LONG}, watched(board))
    assert [capture.node_type for capture in await board.captured()] == ["fact_check"]


async def test_failed_node_is_captured_as_partial(board: Board) -> None:
    model = speaking(LONG)

    async def agent(state: MessagesState) -> dict[str, list[BaseMessage]]:
        await model.ainvoke(state["messages"])
        raise ConnectionError("the provider hung up")

    with pytest.raises(ConnectionError):
        await graph_of(graph_of(agent), name="office").ainvoke(ASKED, watched(board))
    (capture,) = await board.captured()
    assert (capture.content, capture.partial, capture.node_id) == (LONG, True, "auditor")
    assert capture.metadata["partial_reason"] == "failed: ConnectionError"


async def test_cancelled_stream_is_captured_as_partial(board: Board) -> None:
    model, streamed = speaking(LONG), asyncio.Event()

    async def agent(state: MessagesState) -> dict[str, list[BaseMessage]]:
        async for _ in model.astream(state["messages"]):
            streamed.set()
            await asyncio.Event().wait()
        return {}

    task = asyncio.create_task(graph_of(agent).ainvoke(ASKED, watched(board)))
    await streamed.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (capture,) = await board.captured()
    assert capture.partial
    assert LONG.startswith(capture.content)
    assert capture.metadata["partial_reason"] == "cancelled"


async def test_interrupt_is_no_failure(board: Board) -> None:
    model = speaking(LONG, OTHER)

    async def agent(state: MessagesState) -> dict[str, list[BaseMessage]]:
        answer = await model.ainvoke(state["messages"])
        interrupt("May I?")
        return {"messages": [answer]}

    graph, config = graph_of(agent, checkpointer=InMemorySaver()), watched(board)
    await graph.ainvoke(ASKED, config)
    assert board.middleware.status().waiting == 0
    await graph.ainvoke(Command(resume=True), config)
    assert [(capture.content, capture.partial) for capture in await board.captured()] == [(OTHER, False)]


async def test_command_for_the_parent_graph_is_the_output(board: Board) -> None:
    async def agent(state: Meeting) -> Command[Any]:
        return Command(graph=Command.PARENT, goto="chair", update={"verdict": LONG})

    builder = StateGraph(Meeting).add_node("office", graph_of(agent, Meeting), destinations=("chair",))
    builder.add_edge(START, "office").add_node("chair", graph_of(agent_of_chair, Meeting, name="gavel"))
    result = await builder.compile().ainvoke({"topic": QUESTION}, watched(board))
    assert result["verdict"] == LONG
    assert [(capture.node_id, capture.content) for capture in await board.captured()] == [("auditor", LONG)]


async def agent_of_chair(state: Meeting) -> Meeting:
    assert state["verdict"] == LONG
    return {}


async def test_runs_are_forgotten_when_they_end(board: Board) -> None:
    handler = CaptureHandler(board.middleware, group="g")
    await graph_of(agent_saying(LONG)).ainvoke(ASKED, {"callbacks": [handler]})
    assert len(await board.captured()) == 1
    assert len(handler.tracker) == 0
