"""The prompt: the context of a task, with memories as fenced data."""

from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from pydantic import Field

from clearwell.adapters.mcp.caller import FindCaller
from clearwell.flow.context.builder import ContextRequest
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.messages import Language, say


def add_prompts(server: MCPServer[None], language: Language, find_caller: FindCaller) -> None:
    """Register the prompt, with its descriptions in one language."""

    @server.prompt("context", title=say("mcp_context_title", language), description=say("mcp_context", language))
    async def build_context(
        context: Context[None, Any],
        task: Annotated[str, Field(description=say("mcp_param_task", language))],
        group: Annotated[str | None, Field(description=say("mcp_param_group", language))] = None,
        agent: Annotated[str | None, Field(description=say("mcp_param_agent", language))] = None,
    ) -> str:
        caller = await find_caller(context)
        options = RetrieveOptions(agent_id=caller.choose_agent(agent))
        request = ContextRequest(proposal=task, language=language, options=options)
        built = await caller.memory.build_context(request, group=caller.choose_group(group))
        if not built.degraded:
            return built.text
        return f"{built.text}\n\n{say('mcp_search_degraded', language, parts=', '.join(built.degraded))}"
