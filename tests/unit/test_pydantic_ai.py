"""The capability of Pydantic AI: what models read, what is captured, and that memory breaks no run."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, DeferredToolRequests, ToolReturn, UnexpectedModelBehavior
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from clearwell.adapters.pydantic_ai import ClearwellMemory
from clearwell.errors import Unavailable
from clearwell.middleware import MemoryMiddleware
from tests.frameworks import QUESTION, RUN, Board
from tests.path import LONG, OTHER

CALL = ToolCallPart("read_log", {"day": "Monday"}, "call-1")
RESULT = "The log of Monday has 3 errors of the payment service."
PIECES = ("The payment service was moved to the new cluster ", "on Monday, ")
Step = str | ToolCallPart | Exception | tuple[str, ...]


@pytest.fixture
async def board() -> AsyncIterator[Board]:
    made = Board()
    async with made.middleware:
        yield made


class Script:
    """Steps of a model, in turn, and what the model read at each. Pieces are written before the next step is taken."""

    def __init__(self, *steps: Step) -> None:
        self.steps = [*steps]
        self.read: list[list[ModelMessage]] = []
        self.waiting = asyncio.Event()
        self.model = FunctionModel(self.answer, stream_function=self.stream)

    async def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.read.append(messages)
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        assert isinstance(step, str | ToolCallPart)
        return ModelResponse([TextPart(step) if isinstance(step, str) else step])

    async def stream(
        self, messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
        self.read.append(messages)
        step = self.steps.pop(0)
        if isinstance(step, ToolCallPart):
            yield {0: DeltaToolCall(step.tool_name, step.args_as_json_str(), tool_call_id=step.tool_call_id)}
            return
        assert isinstance(step, str | tuple)
        for piece in (step,) if isinstance(step, str) else step:
            yield piece
        if isinstance(step, tuple):
            failure = self.steps.pop(0)
            if isinstance(failure, Exception):
                raise failure
            await self.waiting.wait()

    def texts(self, call: int = 0) -> list[str]:
        """The user's texts that the model read at a call."""
        requests = [message for message in self.read[call] if isinstance(message, ModelRequest)]
        return [str(part.content) for one in requests for part in one.parts if isinstance(part, UserPromptPart)]


def read_log(day: str) -> str:
    """Read the log of a day."""
    return f"The log of {day} has 3 errors of the payment service."


def memory_of(board: Board, **given: Any) -> ClearwellMemory[Any]:
    return ClearwellMemory(board.middleware, **{"group": "g", "session_id": "meeting-7", **given})


def agent_of(board: Board, script: Script, *, options: dict[str, Any] | None = None, **given: Any) -> Agent[Any, Any]:
    memory = memory_of(board, **(options or {}))
    return Agent(script.model, name="auditor", capabilities=[memory], **given)


async def run_async(agent: Agent[Any, Any], **given: Any) -> Any:
    return await agent.run(QUESTION, **given)


def run_in_new_loop(agent: Agent[Any, Any], **given: Any) -> Any:
    """The synchronous runner keeps the loop of its thread, so the thread gets one that is closed at the end."""
    with asyncio.Runner() as runner:
        asyncio.set_event_loop(runner.get_loop())
        try:
            return agent.run_sync(QUESTION, **given)
        finally:
            asyncio.set_event_loop(None)


async def run_sync(agent: Agent[Any, Any], **given: Any) -> Any:
    return await asyncio.to_thread(run_in_new_loop, agent, **given)


async def run_streamed(agent: Agent[Any, Any], **given: Any) -> Any:
    async with agent.run_stream(QUESTION, **given) as result:
        async for _ in result.stream_output():
            pass
        return result


async def run_by_nodes(agent: Agent[Any, Any], **given: Any) -> Any:
    async with agent.iter(QUESTION, **given) as run:
        async for _ in run:
            pass
    return run.result


each = pytest.mark.parametrize("run", [run_async, run_sync, run_streamed, run_by_nodes])


@each
async def test_model_reads_memory_as_data_and_history_does_not_change(board: Board, run: Any) -> None:
    await board.path.memory.promote(LONG, group="g")
    script = Script(OTHER)
    result = await run(agent_of(board, script, system_prompt="Be brief.", instructions="Cite."))
    (request,) = script.read[0]
    assert isinstance(request, ModelRequest)
    system, context, question = request.parts
    assert isinstance(system, SystemPromptPart)
    assert (system.content, request.instructions) == ("Be brief.", "Cite.")
    assert isinstance(context, UserPromptPart)
    assert isinstance(question, UserPromptPart)
    assert LONG in str(context.content)
    assert "</memory>" in str(context.content)
    assert question.content == QUESTION
    assert LONG not in str(result.all_messages())


@each
async def test_output_and_tool_results_are_captured(board: Board, run: Any) -> None:
    await run(agent_of(board, Script(CALL, LONG), tools=[read_log]))
    captured = await board.captured()
    assert [(one.content, one.node_type, one.node_id, one.agent_id, one.partial) for one in captured] == [
        (RESULT, "tool", "read_log", "auditor", False),
        (LONG, "agent", "auditor", "auditor", False),
    ]
    assert {(one.session_id, one.group_id) for one in captured} == {("meeting-7", "g")}


async def test_context_is_read_once_for_a_run_and_shown_at_every_call(board: Board) -> None:
    await board.path.memory.promote(LONG, group="g")
    script = Script(CALL, OTHER, OTHER)
    agent = agent_of(board, script, tools=[read_log])
    await agent.run(QUESTION)
    assert [[LONG in text for text in script.texts(call)] for call in (0, 1)] == [[True, False], [True, False]]
    await board.path.memory.promote(OTHER, group="g")
    await agent.run(QUESTION)
    assert OTHER in script.texts(2)[0]


async def test_conversation_repeats_no_context_and_is_the_session(board: Board) -> None:
    await board.path.memory.promote(LONG, group="g")
    script = Script(OTHER, "It was moved on Monday, as the verified memory says, and nothing has changed since then.")
    agent = agent_of(board, script, options={"session_id": None})
    first = await agent.run(QUESTION, conversation_id="ticket-9")
    await agent.run(QUESTION, message_history=first.all_messages())
    assert [LONG in text for text in script.texts(1)] == [False, True, False]
    assert {one.session_id for one in await board.captured()} == {"ticket-9"}


async def test_contents_that_a_tool_returns_are_no_question(board: Board) -> None:
    def photograph() -> ToolReturn:
        """Make a picture."""
        return ToolReturn(RESULT, content=["The picture of the log:", BinaryContent(b"png", media_type="image/png")])

    await board.path.memory.promote(LONG, group="g")
    script = Script(ToolCallPart("photograph", {}, "call-2"), OTHER)
    await agent_of(board, script, tools=[photograph]).run([QUESTION, ImageUrl("http://127.0.0.1/log.png")])
    assert LONG in script.texts(1)[0]
    assert [one.content for one in await board.captured()] == [RESULT, OTHER]


async def test_images_of_a_tool_are_not_captured(board: Board) -> None:
    def photograph() -> list[Any]:
        """Make a picture."""
        return [RESULT, BinaryContent(b"png", media_type="image/png")]

    script = Script(ToolCallPart("photograph", {}, "call-2"), OTHER)
    await agent_of(board, script, tools=[photograph]).run(QUESTION)
    result, _ = await board.captured()
    assert RESULT in result.content
    assert "png" not in result.content


async def test_structured_output_is_captured_as_json(board: Board) -> None:
    class Finding(BaseModel):
        service: str
        moved_on: str

    call = ToolCallPart("final_result", {"service": "payment", "moved_on": "Monday"}, "call-3")
    await agent_of(board, Script(call), output_type=Finding).run(QUESTION)
    assert [one.content for one in await board.captured()] == ['{"service":"payment","moved_on":"Monday"}']


async def test_run_that_waits_for_approval_is_no_output(board: Board) -> None:
    agent = agent_of(board, Script(CALL), output_type=[str, DeferredToolRequests])
    agent.tool_plain(requires_approval=True)(read_log)
    result = await agent.run(QUESTION)
    assert isinstance(result.output, DeferredToolRequests)
    await board.middleware.flush()
    assert not board.path.quarantine.rows.get("g")


async def test_capability_of_a_run_replaces_that_of_the_agent(board: Board) -> None:
    agent = agent_of(board, Script(LONG))
    await agent.run(QUESTION, capabilities=[memory_of(board, session_id="meeting-8", agent_id="clerk")])
    (capture,) = await board.captured()
    assert (capture.session_id, capture.agent_id) == ("meeting-8", "clerk")


async def test_processed_history_reaches_the_model_with_the_context(board: Board) -> None:
    await board.path.memory.promote(LONG, group="g")
    script = Script(OTHER)
    keep: Callable[[list[ModelMessage]], list[ModelMessage]] = lambda messages: messages[-1:]  # noqa: E731
    agent = Agent(script.model, capabilities=[ProcessHistory(keep), memory_of(board)])
    history: list[ModelMessage] = [ModelRequest([UserPromptPart("Hello")]), ModelResponse([TextPart("Good morning.")])]
    await agent.run(QUESTION, message_history=history)
    assert [LONG in text for text in script.texts()] == [True, False]


async def test_tools_can_be_left_out(board: Board) -> None:
    await agent_of(board, Script(CALL, LONG), options={"tools": False}, tools=[read_log]).run(QUESTION)
    assert [one.content for one in await board.captured()] == [LONG]


async def test_model_that_cannot_stream_is_not_made_to(board: Board) -> None:
    script = Script(LONG)
    script.model = FunctionModel(script.answer)
    await agent_of(board, script).run(QUESTION)
    assert [one.content for one in await board.captured()] == [LONG]


@each
async def test_memory_that_fails_leaves_the_run_going(run: Any) -> None:
    class Dead:
        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            raise Unavailable("middleware_no_answer", reason="test")

    async with MemoryMiddleware(Dead(), group="g", spool=False) as dead:
        script = Script(CALL, LONG)
        agent: Agent[Any, Any] = Agent(script.model, tools=[read_log], capabilities=[ClearwellMemory(dead)])
        result = await run(agent)
        assert LONG in str(result.all_messages()[-1])
        assert script.texts() == [QUESTION]
        assert dead.status().waiting == 2


async def test_failed_stream_is_captured_as_partial(board: Board) -> None:
    agent = agent_of(board, Script(CALL, PIECES, ConnectionError("the provider hung up")), tools=[read_log])
    with pytest.raises(ConnectionError):
        await run_streamed(agent)
    _, capture = await board.captured()
    assert (capture.content, capture.partial) == ("".join(PIECES), True)
    assert capture.metadata == {**RUN, "partial_reason": "failed: ConnectionError"}


async def test_cancelled_stream_is_captured_as_partial(board: Board) -> None:
    agent, written = agent_of(board, Script(PIECES, "nothing more")), asyncio.Event()

    async def consume() -> None:
        async with agent.run_stream(QUESTION) as result:
            async for text in result.stream_text(debounce_by=None):
                if text == "".join(PIECES):
                    written.set()

    task = asyncio.create_task(consume())
    await written.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (capture,) = await board.captured()
    assert (capture.content, capture.metadata) == ("".join(PIECES), {**RUN, "partial_reason": "cancelled"})


async def test_stream_that_is_left_is_captured_as_partial(board: Board) -> None:
    agent = agent_of(board, Script(PIECES, "nothing more"))
    async with agent.run_stream(QUESTION) as result:
        async for text in result.stream_text(debounce_by=None):
            if text == "".join(PIECES):
                break
    (capture,) = await board.captured()
    assert (capture.content, capture.partial) == ("".join(PIECES), True)


async def test_failed_run_that_wrote_nothing_is_not_captured(board: Board) -> None:
    with pytest.raises(UnexpectedModelBehavior):
        await agent_of(board, Script(UnexpectedModelBehavior("no answer"))).run(QUESTION)
    await board.middleware.flush()
    assert not board.path.quarantine.rows.get("g")
