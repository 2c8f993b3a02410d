"""Hooks and session of the OpenAI Agents SDK: what models read, what is captured, and that memory breaks no run."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    ModelSettings,
    OutputGuardrail,
    OutputGuardrailTripwireTriggered,
    RawResponsesStreamEvent,
    RunConfig,
    Runner,
    SessionSettings,
    SQLiteSession,
    StreamEvent,
    ToolOutputImage,
    ToolOutputText,
    function_tool,
    handoff,
)
from agents.memory import Session
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call
from openai.types.responses import ResponseTextDeltaEvent
from pydantic import BaseModel

from clearwell.adapters.openai_agents import ClearwellHooks, ClearwellSession
from clearwell.errors import Unavailable
from clearwell.middleware import MemoryMiddleware
from tests.frameworks import QUESTION, RUN, Board
from tests.path import LONG, OTHER

CALL = [function_call("read_log", {"day": "Monday"}, call_id="call-1")]
RESULT = "The log of Monday has 3 errors of the payment service."
PIECES = ("The payment service was moved to the new cluster ", "on Monday, ")


@pytest.fixture
async def board() -> AsyncIterator[Board]:
    made = Board()
    async with made.middleware:
        yield made


@function_tool
def read_log(day: str) -> str:
    """Read the log of a day."""
    return f"The log of {day} has 3 errors of the payment service."


def says(text: str) -> list[Any]:
    return [assistant_message(text)]


def agent_of(model: ScriptedModel, **given: Any) -> Agent[Any]:
    return Agent(name="auditor", instructions="Be brief.", model=model, **given)


def hooks_of(board: Board, **given: Any) -> ClearwellHooks:
    return ClearwellHooks(board.middleware, session_id="meeting-7", group="g", **given)


def config_of(hooks: ClearwellHooks, **given: Any) -> RunConfig:
    return RunConfig(call_model_input_filter=hooks.add_context, tracing_disabled=True, **given)


async def run_async(agent: Agent[Any], hooks: ClearwellHooks, **given: Any) -> Any:
    return await Runner.run(agent, QUESTION, hooks=hooks, run_config=config_of(hooks), **given)


def run_in_new_loop(agent: Agent[Any], hooks: ClearwellHooks, **given: Any) -> Any:
    """The synchronous runner keeps the loop of its thread, so the thread gets one that is closed at the end."""
    with asyncio.Runner() as runner:
        asyncio.set_event_loop(runner.get_loop())
        try:
            return Runner.run_sync(agent, QUESTION, hooks=hooks, run_config=config_of(hooks), **given)
        finally:
            asyncio.set_event_loop(None)


async def run_sync(agent: Agent[Any], hooks: ClearwellHooks, **given: Any) -> Any:
    return await asyncio.to_thread(run_in_new_loop, agent, hooks, **given)


async def run_streamed(agent: Agent[Any], hooks: ClearwellHooks, **given: Any) -> Any:
    result = Runner.run_streamed(agent, QUESTION, hooks=hooks, run_config=config_of(hooks), **given)
    async for _ in hooks.stream(result):
        pass
    return result


each = pytest.mark.parametrize("run", [run_async, run_sync, run_streamed])


def contents(call: ModelCall) -> list[str]:
    return [item.get("content") or item.get("output") or item["type"] for item in call.input]


@each
async def test_model_reads_memory_as_data_before_the_question(board: Board, run: Any) -> None:
    await board.path.memory.promote(LONG, group="g")
    model = ScriptedModel([says(OTHER)])
    result = await run(agent_of(model), hooks_of(board))
    (call,) = model.calls
    context, question = call.input
    assert call.system_instructions == "Be brief."
    assert (context["role"], question["content"]) == ("user", QUESTION)
    assert LONG in context["content"]
    assert "</memory>" in context["content"]
    assert LONG not in str(result.to_input_list())


@each
async def test_answer_and_tool_results_are_captured(board: Board, run: Any) -> None:
    await run(agent_of(ScriptedModel([CALL, says(LONG)]), tools=[read_log]), hooks_of(board))
    captured = await board.captured()
    assert [(one.content, one.node_type, one.node_id, one.agent_id, one.partial) for one in captured] == [
        (RESULT, "tool", "read_log", "auditor", False),
        (LONG, "agent", "auditor", "auditor", False),
    ]
    assert {(one.session_id, one.group_id) for one in captured} == {("meeting-7", "g")}


async def test_context_is_read_once_for_a_question_and_shown_at_every_call(board: Board) -> None:
    await board.path.memory.promote(LONG, group="g")
    model = ScriptedModel([CALL, says(OTHER), says(OTHER)])
    agent, hooks = agent_of(model, tools=[read_log]), hooks_of(board)
    await run_async(agent, hooks)
    assert [[LONG in text for text in contents(call)].count(True) for call in model.calls] == [1, 1]
    assert LONG in contents(model.calls[1])[0]
    await board.path.memory.promote(OTHER, group="g")
    await run_async(agent, hooks)
    assert OTHER in contents(model.calls[2])[0]


async def test_conversation_stores_no_context(board: Board) -> None:
    await board.path.memory.promote(LONG, group="g")
    session = SQLiteSession("meeting-7")
    model = ScriptedModel([says(OTHER), says("It was moved on Monday.")])
    for _ in range(2):
        await run_async(agent_of(model), hooks_of(board), session=session)
    assert LONG not in str(await session.get_items())
    assert [LONG in str(text) for text in contents(model.calls[1])] == [False, False, True, False]
    session.close()


async def test_handoff_captures_what_was_written_and_the_next_agent_reads_memory(board: Board) -> None:
    await board.path.memory.promote(LONG, group="g")
    clerk_model = ScriptedModel([says(OTHER)])
    clerk = Agent[Any](name="clerk", model=clerk_model)
    step = [assistant_message(RESULT), function_call("transfer_to_clerk", {}, call_id="call-2")]
    await run_async(agent_of(ScriptedModel([step]), handoffs=[clerk]), hooks_of(board))
    handed, answer = await board.captured()
    assert (handed.content, handed.agent_id, handed.metadata["handoff_to"]) == (RESULT, "auditor", "clerk")
    assert (answer.content, answer.agent_id) == (OTHER, "clerk")
    assert any(LONG in str(text) for text in contents(clerk_model.calls[0]))


async def test_handoff_without_a_text_is_captured_by_its_arguments(board: Board) -> None:
    class Reason(BaseModel):
        reason: str

    async def receive(context: Any, given: Reason) -> None:
        """Nothing to do."""

    clerk = Agent[Any](name="clerk", model=ScriptedModel([says(OTHER)]))
    step = [function_call("transfer_to_clerk", {"reason": RESULT}, call_id="call-2")]
    away = handoff(clerk, on_handoff=receive, input_type=Reason)
    await run_async(agent_of(ScriptedModel([step]), handoffs=[away]), hooks_of(board))
    handed, _ = await board.captured()
    assert RESULT in handed.content


async def test_nested_history_of_a_handoff_is_asked_about(board: Board) -> None:
    await board.path.memory.promote(LONG, group="g")
    hooks, model = hooks_of(board), ScriptedModel([says(OTHER)])
    clerk = Agent[Any](name="clerk", model=model)
    first = agent_of(ScriptedModel([[function_call("transfer_to_clerk", {}, call_id="call-2")]]), handoffs=[clerk])
    config = config_of(hooks, nest_handoff_history=True)
    await Runner.run(first, QUESTION, hooks=hooks, run_config=config)
    assert any("<memory" in str(text) for text in contents(model.calls[0]))


async def test_structured_output_is_captured_as_json(board: Board) -> None:
    class Finding(BaseModel):
        service: str
        moved_on: str

    model = ScriptedModel([says('{"service": "payment", "moved_on": "Monday"}')])
    await run_async(agent_of(model, output_type=Finding), hooks_of(board))
    assert [one.content for one in await board.captured()] == ['{"service":"payment","moved_on":"Monday"}']


async def test_image_of_a_tool_is_not_captured(board: Board) -> None:
    @function_tool
    def photograph() -> list[Any]:
        """Make a picture."""
        return [ToolOutputText(text=RESULT), ToolOutputImage(image_url="data:image/png;base64,AAAA")]

    model = ScriptedModel([[function_call("photograph", {}, call_id="call-3")], says(LONG)])
    await run_async(agent_of(model, tools=[photograph]), hooks_of(board))
    assert [one.content for one in await board.captured()] == [RESULT, LONG]


async def test_tools_can_be_left_out(board: Board) -> None:
    await run_async(agent_of(ScriptedModel([CALL, says(LONG)]), tools=[read_log]), hooks_of(board, tools=False))
    assert [one.content for one in await board.captured()] == [LONG]


@each
async def test_memory_that_fails_leaves_the_run_going(run: Any) -> None:
    class Dead:
        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            raise Unavailable("middleware_no_answer", reason="test")

    async with MemoryMiddleware(Dead(), group="g", spool=False) as dead:
        hooks = ClearwellHooks(dead, session_id="meeting-7")
        model = ScriptedModel([CALL, says(LONG)])
        result = await run(agent_of(model, tools=[read_log]), hooks)
        assert result.final_output == LONG
        assert contents(model.calls[0]) == [QUESTION]
        assert dead.status().waiting == 2


def writes(*pieces: str, then: Exception | None = None, waiting: asyncio.Event | None = None) -> ModelStep:
    """A response that is streamed in pieces, and then fails or does not go on."""

    async def stream(call: ModelCall) -> AsyncIterator[Any]:
        for number, piece in enumerate(pieces):
            yield ResponseTextDeltaEvent(
                type="response.output_text.delta",
                delta=piece,
                content_index=0,
                item_id="message",
                logprobs=[],
                output_index=0,
                sequence_number=number,
            )
            await asyncio.sleep(0)
        if then is not None:
            raise then
        if waiting is not None:
            await waiting.wait()

    return ModelStep.stream(stream)


def is_piece(event: StreamEvent) -> bool:
    return isinstance(event, RawResponsesStreamEvent) and event.data.type == "response.output_text.delta"


async def test_failed_stream_is_captured_as_partial(board: Board) -> None:
    model = ScriptedModel([CALL, writes(*PIECES, then=ConnectionError("the provider hung up"))])
    with pytest.raises(ConnectionError):
        await run_streamed(agent_of(model, tools=[read_log]), hooks_of(board))
    _, capture = await board.captured()
    assert (capture.content, capture.partial) == ("".join(PIECES), True)
    assert capture.metadata == {**RUN, "partial_reason": "failed: ConnectionError"}


async def test_cancelled_stream_is_captured_as_partial(board: Board) -> None:
    hooks = hooks_of(board)
    agent = agent_of(ScriptedModel([writes(*PIECES, waiting=asyncio.Event())]))
    result = Runner.run_streamed(agent, QUESTION, hooks=hooks, run_config=config_of(hooks))
    seen = 0
    async for event in hooks.stream(result):
        seen += is_piece(event)
        if seen == len(PIECES):
            result.cancel()
    (capture,) = await board.captured()
    assert (capture.content, capture.metadata) == ("".join(PIECES), {**RUN, "partial_reason": "cancelled"})


async def test_cancelled_reader_of_a_stream_is_captured_as_partial(board: Board) -> None:
    hooks, read = hooks_of(board), asyncio.Event()
    agent = agent_of(ScriptedModel([writes(*PIECES, waiting=asyncio.Event())]))

    async def consume() -> None:
        result = Runner.run_streamed(agent, QUESTION, hooks=hooks, run_config=config_of(hooks))
        seen = 0
        async for event in hooks.stream(result):
            seen += is_piece(event)
            if seen == len(PIECES):
                read.set()

    task = asyncio.create_task(consume())
    await read.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (capture,) = await board.captured()
    assert (capture.content, capture.metadata) == ("".join(PIECES), {**RUN, "partial_reason": "cancelled"})


async def test_stream_that_is_left_is_captured_once_when_the_run_ends(board: Board) -> None:
    hooks = hooks_of(board)
    result = Runner.run_streamed(
        agent_of(ScriptedModel([says(LONG)])), QUESTION, hooks=hooks, run_config=config_of(hooks)
    )
    events = hooks.stream(result)
    async for event in events:
        if is_piece(event):
            break
    await events.aclose()
    assert [(one.content, one.partial) for one in await board.captured()] == [(LONG, False)]


async def test_session_alone_captures_answers_and_tool_results(board: Board) -> None:
    inner = SQLiteSession("meeting-7")
    session = ClearwellSession(inner, board.middleware, group="g", agent_id="auditor")
    assert isinstance(session, Session)
    model = ScriptedModel([CALL, says(LONG), says(OTHER)])
    config = RunConfig(tracing_disabled=True)
    for _ in range(2):
        await Runner.run(agent_of(model, tools=[read_log]), QUESTION, session=session, run_config=config)
    captured = await board.captured()
    assert [(one.content, one.node_type, one.node_id, one.agent_id, one.session_id) for one in captured] == [
        (RESULT, "tool", "read_log", "auditor", "meeting-7"),
        (LONG, "agent", "auditor", "auditor", "meeting-7"),
        (OTHER, "agent", "auditor", "auditor", "meeting-7"),
    ]
    assert await session.get_items() == await inner.get_items()
    assert len(await session.get_items(limit=2)) == 2
    assert await session.pop_item() is not None
    await session.clear_session()
    assert await inner.get_items() == []
    inner.close()


@each
async def test_session_beside_hooks_captures_nothing_twice(board: Board, run: Any) -> None:
    inner = SQLiteSession("meeting-7")
    session = ClearwellSession(inner, board.middleware, group="g")
    await run(agent_of(ScriptedModel([CALL, says(LONG)]), tools=[read_log]), hooks_of(board), session=session)
    assert [one.content for one in await board.captured()] == [RESULT, LONG]
    assert len(await inner.get_items()) == 4
    inner.close()


async def test_session_captures_no_output_that_a_guardrail_blocks(board: Board) -> None:
    def block(*_: object) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)

    inner = SQLiteSession("meeting-7")
    agent = agent_of(ScriptedModel([says(LONG)]), output_guardrails=[OutputGuardrail(block)])
    session = ClearwellSession(inner, board.middleware, group="g")
    with pytest.raises(OutputGuardrailTripwireTriggered):
        await Runner.run(agent, QUESTION, session=session, run_config=config_of(hooks_of(board)))
    await board.middleware.flush()
    assert not board.path.quarantine.rows.get("g")
    inner.close()


async def test_session_passes_the_run_to_an_inner_session_that_wants_it(board: Board) -> None:
    class Inner:
        session_id = "meeting-7"
        session_settings: SessionSettings | None = None

        def __init__(self) -> None:
            self.runs: list[object] = []
            self.limits = 3

        async def get_items(self, limit: int | None = None, *, wrapper: Any = None) -> list[Any]:
            return []

        async def add_items(self, items: Sequence[Any], *, wrapper: Any = None) -> None:
            self.runs.append(wrapper)

        async def pop_item(self, *, wrapper: Any = None) -> None: ...

        async def clear_session(self, *, wrapper: Any = None) -> None: ...

    inner = Inner()
    session = ClearwellSession(inner, board.middleware, group="g")
    config = RunConfig(tracing_disabled=True, model_settings=ModelSettings())
    await Runner.run(agent_of(ScriptedModel([says(LONG)])), QUESTION, session=session, run_config=config)
    assert inner.runs
    assert None not in inner.runs
    assert session.limits == 3
