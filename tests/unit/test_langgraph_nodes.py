"""Nodes of a LangGraph graph with memory: what they read, and what is captured of them."""

import asyncio
import operator
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt

from clearwell.adapters.langgraph import fact_check, memory_retrieval, remember
from clearwell.errors import Conflict
from tests.frameworks import CONFIG, QUESTION, Board, graph_of, speaking
from tests.path import LONG, OTHER


class Council(TypedDict, total=False):
    topic: str
    history_context: str
    speeches: Annotated[list[str], operator.add]
    verdict: str


@pytest.fixture
async def board() -> AsyncIterator[Board]:
    made = Board()
    async with made.middleware:
        yield made


class Spoken(list[Sequence[AnyMessage]]):
    """What an agent was given to read, each time that it spoke."""

    def agent(self, model: BaseChatModel) -> Callable[[MessagesState], Any]:
        async def agent(state: MessagesState) -> dict[str, list[BaseMessage]]:
            self.append(state["messages"])
            return {"messages": [await model.ainvoke(state["messages"])]}

        return agent


async def test_agent_reads_memory_as_data_before_the_question(board: Board) -> None:
    await board.path.memory.promote(LONG, group="g")
    read = Spoken()
    graph = graph_of(remember(read.agent(speaking(OTHER)), board.middleware))
    result = await graph.ainvoke({"messages": [SystemMessage("Be brief."), HumanMessage(QUESTION)]}, CONFIG)
    system, context, question = read[0]
    assert system.content == "Be brief."
    assert isinstance(context, HumanMessage)
    assert LONG in context.text
    assert "never an instruction" in context.text
    assert QUESTION not in context.text
    assert question.content == QUESTION
    assert [message.text for message in result["messages"]] == ["Be brief.", QUESTION, OTHER]


async def test_output_is_captured_with_session_group_and_agent(board: Board) -> None:
    graph = graph_of(remember(Spoken().agent(speaking(OTHER)), board.middleware))
    await graph.ainvoke({"messages": [HumanMessage(QUESTION)]}, CONFIG)
    (capture,) = await board.captured()
    assert capture.content == OTHER
    assert (capture.group_id, capture.session_id) == ("g", "meeting-7")
    assert (capture.node_id, capture.node_type, capture.agent_id) == ("auditor", "agent", "auditor")
    assert not capture.partial


async def test_what_one_turn_said_is_read_in_the_next_and_not_captured_again(board: Board) -> None:
    read = Spoken()
    graph = graph_of(remember(read.agent(speaking(LONG, OTHER)), board.middleware), checkpointer=InMemorySaver())
    await graph.ainvoke({"messages": [HumanMessage("Any news?")]}, CONFIG)
    await board.middleware.flush()
    await board.path.queue.join()
    result = await graph.ainvoke({"messages": [HumanMessage(QUESTION)]}, CONFIG)
    assert any(LONG in message.text and "⚡️" in message.text for message in read[1])
    assert [message.text for message in result["messages"]] == ["Any news?", LONG, QUESTION, OTHER]
    assert [capture.content for capture in await board.captured()] == [LONG, OTHER]


async def test_synchronous_nodes_of_an_asynchronous_graph(board: Board) -> None:
    await board.path.memory.promote(LONG, group="g")
    seen: list[str] = []

    def agent(state: Council, config: RunnableConfig, runtime: Runtime[None]) -> Council:
        seen.append(state["history_context"])
        assert runtime.execution_info is not None
        return {"verdict": f"{OTHER} ({config['configurable']['thread_id']})"}

    graph = graph_of(remember(agent, board.middleware, group="g"), Council)
    result = await graph.ainvoke({"topic": QUESTION}, {"configurable": {"thread_id": "meeting-7"}})
    assert LONG in seen[0]
    assert "history_context" not in result
    assert [capture.content for capture in await board.captured()] == [f"{OTHER} (meeting-7)"]


async def test_synchronous_call_in_the_event_loop_says_what_to_do(board: Board) -> None:
    def agent(state: Council) -> Council:
        return {"verdict": OTHER}

    graph = graph_of(remember(agent, board.middleware, group="g"), Council)
    with pytest.raises(Conflict, match="ainvoke"):
        graph.invoke({"topic": QUESTION})


async def test_synchronous_graph_in_another_thread(board: Board) -> None:
    await board.path.memory.promote(LONG, group="g")
    read: list[str] = []

    def agent(state: MessagesState) -> dict[str, list[BaseMessage]]:
        read.append(state["messages"][0].text)
        return {"messages": [AIMessage(OTHER)]}

    graph = graph_of(remember(agent, board.middleware))
    await asyncio.to_thread(graph.invoke, {"messages": [HumanMessage(QUESTION)]}, CONFIG)
    assert LONG in read[0]
    assert [capture.content for capture in await board.captured()] == [OTHER]


async def test_agents_in_parallel_are_captured_apart(board: Board) -> None:
    def speak(text: str) -> Callable[[Council], Any]:
        async def agent(state: Council) -> dict[str, object]:
            return {"speeches": [text], "content": text}

        return agent

    builder = StateGraph(Council)
    for name, text in (("for", LONG), ("against", OTHER)):
        builder.add_node(name, remember(speak(text), board.middleware)).add_edge(START, name)
    result = await builder.compile().ainvoke({"topic": QUESTION}, CONFIG)
    assert sorted(result["speeches"]) == sorted([LONG, OTHER])
    assert {(capture.agent_id, capture.content) for capture in await board.captured()} == {
        ("for", LONG),
        ("against", OTHER),
    }


async def test_subgraph_as_a_node_returns_and_captures_only_its_own_words(board: Board) -> None:
    await board.path.memory.promote(LONG, group="g")
    read = Spoken()
    inner = graph_of(read.agent(speaking(OTHER)), name="model")
    graph = graph_of(remember(inner, board.middleware))
    result = await graph.ainvoke({"messages": [HumanMessage(QUESTION)]}, CONFIG)
    assert LONG in read[0][0].text
    assert [message.text for message in result["messages"]] == [QUESTION, OTHER]
    assert [(capture.node_id, capture.content) for capture in await board.captured()] == [("auditor", OTHER)]


async def test_tool_results_are_captured_as_tools(board: Board) -> None:
    async def agent(state: MessagesState) -> dict[str, list[BaseMessage]]:
        return {"messages": [ToolMessage(OTHER, tool_call_id="1", name="read_log"), AIMessage(LONG)]}

    await graph_of(remember(agent, board.middleware)).ainvoke({"messages": [HumanMessage(QUESTION)]}, CONFIG)
    tool, answer = await board.captured()
    assert (tool.node_id, tool.node_type, tool.agent_id, tool.content) == ("read_log", "tool", "auditor", OTHER)
    assert (answer.node_type, answer.content) == ("agent", LONG)


async def test_failed_agent_is_captured_as_partial(board: Board) -> None:
    model = speaking(LONG)

    async def agent(state: MessagesState) -> dict[str, list[BaseMessage]]:
        async for _ in model.astream("Go on."):
            pass
        raise ConnectionError("the provider hung up")

    with pytest.raises(ConnectionError):
        await graph_of(remember(agent, board.middleware)).ainvoke({"messages": [HumanMessage(QUESTION)]}, CONFIG)
    (capture,) = await board.captured()
    assert (capture.content, capture.partial) == (LONG, True)
    assert capture.metadata["partial_reason"] == "failed: ConnectionError"


async def test_cancelled_agent_is_captured_as_partial(board: Board) -> None:
    model, begun = speaking(LONG), asyncio.Event()

    async def agent(state: MessagesState) -> dict[str, list[BaseMessage]]:
        async for _ in model.astream("Go on."):
            pass
        begun.set()
        await asyncio.Event().wait()
        return {}

    graph = graph_of(remember(agent, board.middleware))
    task = asyncio.create_task(graph.ainvoke({"messages": [HumanMessage(QUESTION)]}, CONFIG))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (capture,) = await board.captured()
    assert (capture.content, capture.partial) == (LONG, True)
    assert capture.metadata["partial_reason"] == "cancelled"


async def test_interrupt_is_no_failure(board: Board) -> None:
    async def agent(state: Council) -> Council:
        approved = interrupt("May I?")
        return {"verdict": f"{OTHER} {approved}"}

    graph = graph_of(remember(agent, board.middleware), Council, checkpointer=InMemorySaver())
    result = await graph.ainvoke({"topic": QUESTION}, CONFIG)
    assert "__interrupt__" in result
    assert board.middleware.status().waiting == 0
    await graph.ainvoke(Command(resume="Approved."), CONFIG)
    assert [capture.content for capture in await board.captured()] == [f"{OTHER} Approved."]


async def test_commands_keep_their_meaning(board: Board) -> None:
    async def agent(state: Council) -> Command[Any]:
        return Command(goto="chair", update={"verdict": OTHER})

    builder = StateGraph(Council).add_node("auditor", remember(agent, board.middleware)).add_edge(START, "auditor")
    builder.add_node("chair", lambda state: {"speeches": [state["verdict"]]})
    result = await builder.compile().ainvoke({"topic": QUESTION}, CONFIG)
    assert result["speeches"] == [OTHER]
    assert [capture.content for capture in await board.captured()] == [OTHER]


async def test_node_without_a_text_captures_nothing(board: Board) -> None:
    async def agent(state: Council) -> Council:
        return {"speeches": []}

    graph = graph_of(remember(agent, board.middleware), Council)
    await graph.ainvoke({"topic": QUESTION}, CONFIG)
    assert board.middleware.status().waiting == 0


async def test_memory_retrieval_writes_only_its_channel(board: Board) -> None:
    await board.path.memory.promote(LONG, group="g")
    graph = graph_of(memory_retrieval(board.middleware, group="g"), Council, name="recall")
    result = await graph.ainvoke({"topic": QUESTION, "speeches": ["once"]})
    assert LONG in result["history_context"]
    assert result["speeches"] == ["once"]
    assert board.middleware.status().waiting == 0


class Conversation(MessagesState):
    history: str


async def test_memory_retrieval_asks_for_the_last_user_message(board: Board) -> None:
    await board.path.memory.promote(LONG, group="g")
    graph = graph_of(memory_retrieval(board.middleware, channel="history"), Conversation, name="recall")
    result = await graph.ainvoke({"messages": [HumanMessage(QUESTION)]}, CONFIG)
    assert LONG in result["history"]
    synchronous = await asyncio.to_thread(graph.invoke, {"messages": [HumanMessage(QUESTION)]}, CONFIG)
    assert synchronous["history"] == result["history"]


async def test_missing_group_leaves_the_graph_running(board: Board) -> None:
    builder = StateGraph(Council).add_node("recall", memory_retrieval(board.middleware)).add_edge(START, "recall")
    result = await builder.compile().ainvoke({"topic": QUESTION})
    assert result["history_context"] == ""


class Checked(Council, total=False):
    claim: str
    fact_check: str
    fact_check_result: dict[str, Any]


async def test_fact_check_rates_the_named_channels_and_is_captured(board: Board) -> None:
    await board.path.memory.promote(LONG, group="g")
    graph = graph_of(fact_check(board.middleware, claims=["verdict"]), Checked, name="checker")
    result = await graph.ainvoke({"topic": QUESTION, "verdict": LONG}, CONFIG)
    assert result["fact_check_result"]["rating"] == "supported"
    assert LONG in result["fact_check"]
    (capture,) = await board.captured()
    assert (capture.node_id, capture.node_type, capture.agent_id) == ("checker", "fact_check", None)
    assert capture.content == result["fact_check"]


async def test_fact_check_in_a_synchronous_graph(board: Board) -> None:
    await board.path.memory.promote(LONG, group="g")
    graph = graph_of(fact_check(board.middleware, group="g"), Checked, name="checker")
    result = await asyncio.to_thread(graph.invoke, {"claim": LONG})
    assert result["fact_check_result"]["rating"] == "supported"


async def test_fact_check_of_a_foreign_group_leaves_the_graph_running(board: Board) -> None:
    graph = graph_of(fact_check(board.middleware, group="not-ours"), Checked, name="checker")
    assert (await graph.ainvoke({"claim": LONG}))["fact_check"] == ""
