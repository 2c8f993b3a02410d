"""``ClearwellHooks``: memory for a run of agents."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

from agents import (
    Agent,
    AgentHookContext,
    ModelResponse,
    RawResponsesStreamEvent,
    RunContextWrapper,
    RunHooks,
    RunResultStreaming,
    StreamEvent,
    Tool,
    TResponseInputItem,
)
from agents.run import CallModelData, ModelInputData

from clearwell.adapters.openai_agents.items import find_question, insert_context, read_response, read_tool_result
from clearwell.middleware import MemoryMiddleware, Node, Session
from clearwell.middleware.bridge import MiddlewareBridge
from clearwell.middleware.nodes import format_output
from clearwell.middleware.run import CANCELLED, NOT_CONSUMED, describe_end

MAX_CONTEXTS: Final = 100
_responses: WeakKeyDictionary[RunContextWrapper[Any], ModelResponse | None] = WeakKeyDictionary()
"""The last response of each run whose outputs hooks capture."""


def has_hooks(run: RunContextWrapper[Any] | None) -> bool:
    """Whether hooks capture the outputs of this run."""
    return run is not None and run in _responses


class ClearwellHooks(RunHooks[Any]):
    """Memory for a run: ``Runner.run(agent, question, hooks=hooks, run_config=config)``.

    The final outputs of agents are captured, what an agent wrote when it handed over, and the results of tools. With
    ``RunConfig(call_model_input_filter=hooks.add_context)`` the model reads memories as data, in an item of the user
    before the question. Iterate over ``hooks.stream(result)`` for a streamed run. Memory never breaks the run.

    ``session_id`` names the conversation, and ``group`` counts instead of that of the middleware. Agents and tools have
    their names. With ``tools=False`` the results of tools are not captured.
    """

    def __init__(
        self, middleware: MemoryMiddleware, *, session_id: str, group: str | None = None, tools: bool = True
    ) -> None:
        self._bridge = MiddlewareBridge(middleware)
        self._session = Session(session_id, group_id=group)
        self._captures_tools = tools
        self._contexts: dict[tuple[str, str], str] = {}

    # before the model

    async def add_context(self, data: CallModelData[Any]) -> ModelInputData:
        """Insert what memory has about the question before it. What the run keeps and stores does not change."""
        items = data.model_data.input
        question = find_question(items)
        if question is None:
            return data.model_data
        place, text = question
        context = await self._read(data.agent.name, text, is_new=place == len(items) - 1)
        if context:
            items = insert_context(items, place, context)
        return ModelInputData(input=items, instructions=data.model_data.instructions)

    async def _read(self, agent: str, question: str, *, is_new: bool) -> str:
        """Read the context of a question once for each agent, and show it again while the agent calls tools."""
        if is_new or (agent, question) not in self._contexts:
            node = Node(agent, agent_id=agent, input=question)
            context = (await self._bridge.read(self._session, node)).memories
            self._contexts.pop((agent, question), None)
            while len(self._contexts) >= MAX_CONTEXTS:
                del self._contexts[next(iter(self._contexts))]
            self._contexts[agent, question] = context
        return self._contexts[agent, question]

    # what agents produce

    async def on_llm_start(
        self,
        context: RunContextWrapper[Any],
        agent: Agent[Any],
        system_prompt: str | None,
        input_items: list[TResponseInputItem],
    ) -> None:
        _responses[context] = None

    async def on_llm_end(self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse) -> None:
        _responses[context] = response

    async def on_agent_end(self, context: AgentHookContext[Any], agent: Agent[Any], output: Any) -> None:
        self._capture(agent, format_output(output))

    async def on_handoff(self, context: RunContextWrapper[Any], from_agent: Agent[Any], to_agent: Agent[Any]) -> None:
        response = _responses.get(context)
        if response is not None:
            content = read_response(response)
            self._capture(from_agent, {"content": content, "metadata": {"handoff_to": to_agent.name}})

    async def on_tool_end(self, context: RunContextWrapper[Any], agent: Agent[Any], tool: Tool, result: object) -> None:
        if self._captures_tools:
            node = Node(tool.name, type="tool", agent_id=agent.name)
            self._bridge.capture(self._session, node, read_tool_result(result))

    # streamed runs

    async def stream(self, result: RunResultStreaming) -> AsyncGenerator[StreamEvent, None]:
        """Pass the events of a streamed run on. If it does not reach its end, capture the text that they contained.

        The SDK discards events that wait when a run fails, so that their text is missing.
        """
        pieces: list[str] = []
        reason: str | None = CANCELLED
        try:
            async with aclosing(cast(AsyncGenerator[StreamEvent, None], result.stream_events())) as events:
                async for event in events:
                    _collect(event, pieces)
                    yield event
        except GeneratorExit:
            reason = NOT_CONSUMED
            raise
        except BaseException as error:
            reason = describe_end(error)
            raise
        finally:
            if result.final_output is None:
                self._capture(result.current_agent, "".join(pieces), reason=reason)

    def _capture(self, agent: Agent[Any], output: object, *, reason: str | None = None) -> None:
        self._bridge.capture(self._session, Node(agent.name, agent_id=agent.name), output, reason=reason)


def _collect(event: StreamEvent, pieces: list[str]) -> None:
    """Collect the text of a response until it is complete: it is then an output of its agent, or leads to one."""
    if not isinstance(event, RawResponsesStreamEvent):
        return
    if event.data.type == "response.output_text.delta":
        pieces.append(event.data.delta)
    elif event.data.type == "response.completed":
        pieces.clear()
