"""The middleware of LangChain agents: what the model reads, what is captured, and that memory never breaks an agent."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from pydantic import BaseModel, Field

from clearwell.adapters.langchain import ClearwellMiddleware
from clearwell.adapters.langgraph import CaptureHandler, remember
from clearwell.errors import Unavailable
from clearwell.middleware import MemoryMiddleware
from tests.frameworks import CONFIG, QUESTION, Board, graph_of
from tests.path import LONG, OTHER

ASKED: dict[str, Any] = {"messages": [HumanMessage(QUESTION)]}
CALL = AIMessage("", tool_calls=[{"name": "read_log", "args": {"day": "Monday"}, "id": "1"}])
RESULT = "The log of Monday has 3 errors of the payment service."


@pytest.fixture
async def board() -> AsyncIterator[Board]:
    made = Board()
    async with made.middleware:
        yield made


class ScriptedModel(GenericFakeChatModel):
    """A model that can be given tools, records what it reads, and fails after its script if it is told to."""

    read: list[list[BaseMessage]] = Field(default_factory=list)
    error: BaseException | None = None

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> "ScriptedModel":
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.read.append(messages)
        return super()._generate(messages, stop, run_manager, **kwargs)

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        yield from super()._stream(*args, **kwargs)
        if self.error is not None:
            raise self.error


def scripted(*answers: str | AIMessage, error: BaseException | None = None) -> ScriptedModel:
    messages = [AIMessage(answer) if isinstance(answer, str) else answer for answer in answers]
    return ScriptedModel(messages=iter(messages), error=error)


@tool
def read_log(day: str) -> str:
    """Read the log of a day."""
    return f"The log of {day} has 3 errors of the payment service."


def agent_of(board: Board, model: ScriptedModel, *, options: dict[str, Any] | None = None, **given: Any) -> Any:
    middleware = ClearwellMiddleware(board.middleware, **(options or {}))
    return create_agent(model, middleware=[middleware], **given)


Run = Callable[[Any, Any, Any], Any]


async def run_async(agent: Any, state: Any, config: Any = CONFIG) -> Any:
    return await agent.ainvoke(state, config)


async def run_sync(agent: Any, state: Any, config: Any = CONFIG) -> Any:
    return await asyncio.to_thread(agent.invoke, state, config)


both = pytest.mark.parametrize("run", [run_async, run_sync])


@both
async def test_model_reads_memory_as_data_and_the_state_does_not_change(board: Board, run: Any) -> None:
    await board.path.memory.promote(LONG, group="g")
    model = scripted(OTHER)
    result = await run(agent_of(board, model, system_prompt="Be brief."), ASKED)
    system, context, question = model.read[0]
    assert (system.text, question.text) == ("Be brief.", QUESTION)
    assert isinstance(system, SystemMessage)
    assert isinstance(context, HumanMessage)
    assert LONG in context.text
    assert [message.text for message in result["messages"]] == [QUESTION, OTHER]
    assert set(result) == {"messages"}


@both
async def test_answer_and_tool_results_are_captured(board: Board, run: Any) -> None:
    agent = agent_of(board, scripted(CALL, LONG), tools=[read_log], name="auditor")
    await run(agent, ASKED)
    result, answer = await board.captured()
    assert (result.content, result.node_type, result.node_id, result.agent_id) == (
        RESULT,
        "tool",
        "read_log",
        "auditor",
    )
    assert (answer.content, answer.node_type, answer.node_id, answer.agent_id) == (LONG, "agent", "auditor", "auditor")
    assert {(one.session_id, one.group_id) for one in (result, answer)} == {("meeting-7", "g")}


async def test_context_is_read_once_for_a_run_and_shown_at_every_call(board: Board) -> None:
    await board.path.memory.promote(LONG, group="g")
    model = scripted(CALL, OTHER)
    await run_async(agent_of(board, model, tools=[read_log]), ASKED)
    for messages in model.read:
        assert [LONG in message.text for message in messages].count(True) == 1


async def test_conversation_neither_repeats_contexts_nor_captures_twice(board: Board) -> None:
    await board.path.memory.promote(LONG, group="g")
    model = scripted(OTHER, "It was moved on Monday, as the verified memory says, and nothing has changed since then.")
    agent = agent_of(board, model, checkpointer=InMemorySaver())
    await run_async(agent, {"messages": [HumanMessage(QUESTION)]})
    result = await run_async(agent, {"messages": [HumanMessage(QUESTION)]})
    assert len(result["messages"]) == 4
    assert [LONG in message.text for message in model.read[1]] == [False, False, True, False]
    assert len(await board.captured()) == 2


async def test_memory_that_fails_leaves_the_agent_running() -> None:
    board = Board()

    class Dead:
        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            raise Unavailable("middleware_no_answer", reason="test")

    async with MemoryMiddleware(Dead(), group="g", spool=False) as dead:
        board.middleware = dead
        result = await run_async(agent_of(board, scripted(CALL, LONG), tools=[read_log]), ASKED)
        assert result["messages"][-1].text == LONG
        assert dead.status().waiting == 2


async def test_failed_model_is_captured_as_partial(board: Board) -> None:
    agent = agent_of(board, scripted(LONG, error=ConnectionError("the provider hung up")))
    with pytest.raises(ConnectionError):
        async for _ in agent.astream(ASKED, CONFIG, stream_mode="messages"):
            pass
    (capture,) = await board.captured()
    assert (capture.content, capture.partial) == (LONG, True)


async def test_structured_response_is_the_answer(board: Board) -> None:
    class Finding(BaseModel):
        service: str
        moved_on: str

    call = {"name": "Finding", "args": {"service": "payment", "moved_on": "Monday"}, "id": "2"}
    agent = agent_of(board, scripted(AIMessage("", tool_calls=[call])), response_format=ToolStrategy(Finding))
    await run_async(agent, ASKED)
    assert [capture.content for capture in await board.captured()] == ['{"service":"payment","moved_on":"Monday"}']


async def test_resumed_run_reads_its_context_again(board: Board) -> None:
    await board.path.memory.promote(LONG, group="g")

    @tool
    def approve() -> str:
        """Ask a person."""
        return str(interrupt("May I?"))

    model = scripted(AIMessage("", tool_calls=[{"name": "approve", "args": {}, "id": "3"}]), OTHER)
    agent = agent_of(board, model, tools=[approve], checkpointer=InMemorySaver())
    await run_async(agent, ASKED)
    await run_async(agent, Command(resume="Approved by Ann from the billing team on Monday."))
    assert any(LONG in message.text for message in model.read[1])
    assert [capture.content for capture in await board.captured()] == [
        "Approved by Ann from the billing team on Monday.",
        OTHER,
    ]


async def test_callback_handler_beside_it_captures_nothing_twice(board: Board) -> None:
    agent = agent_of(board, scripted(CALL, LONG), tools=[read_log])
    handler = CaptureHandler(board.middleware, group="g")
    await run_async(graph_of(agent, name="office"), ASKED, {**CONFIG, "callbacks": [handler]})
    assert [capture.content for capture in await board.captured()] == [RESULT, LONG]


async def test_agent_in_a_wrapped_node_is_captured_by_the_node(board: Board) -> None:
    agent = agent_of(board, scripted(CALL, LONG), tools=[read_log])
    await run_async(graph_of(remember(agent, board.middleware)), ASKED)
    assert [(capture.node_id, capture.content) for capture in await board.captured()] == [
        ("read_log", RESULT),
        ("auditor", LONG),
    ]


async def test_tools_can_be_left_out(board: Board) -> None:
    await run_async(agent_of(board, scripted(CALL, LONG), options={"tools": False}, tools=[read_log]), ASKED)
    assert [capture.content for capture in await board.captured()] == [LONG]
