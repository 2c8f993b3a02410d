"""The tools: search, capture, propose for review. None of them promotes, rejects or removes anything."""

from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from clearwell.adapters.mcp.caller import FindCaller
from clearwell.flow.retrieval.options import MAX_RESULTS, RetrieveOptions
from clearwell.messages import Language, say
from clearwell.records import NewCapture, Source
from clearwell.views.mcp import CaptureReceiptView, ProposalView, SearchView, write_search
from clearwell.views.view import View
from clearwell.vocabulary import PROPOSED

REASON = "reason"
READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)


def add_tools(server: MCPServer[None], language: Language, find_caller: FindCaller) -> None:
    """Register the tools, with their descriptions in one language."""

    def words(code: str) -> str:
        return say(code, language)

    group_field = Field(description=words("mcp_param_group"))
    agent_field = Field(description=words("mcp_param_agent"))
    session_field = Field(description=words("mcp_param_session"))
    confidence_field = Field(description=words("mcp_param_confidence"), ge=0, le=1)
    count_field = Field(description=words("mcp_param_max_results"), ge=1, le=MAX_RESULTS)

    @server.tool(title=words("mcp_search_title"), description=words("mcp_search"), annotations=READS)
    async def search_memory(
        context: Context[None, Any],
        query: Annotated[str, Field(description=words("mcp_param_query"))],
        group: Annotated[str | None, group_field] = None,
        max_results: Annotated[int | None, count_field] = None,
        verified_only: Annotated[bool, Field(description=words("mcp_param_verified_only"))] = False,
        agent: Annotated[str | None, agent_field] = None,
    ) -> Annotated[CallToolResult, SearchView]:
        caller = await find_caller(context)
        wanted = caller.choose_group(group)
        options = RetrieveOptions(
            max_results=max_results,
            agent_id=caller.choose_agent(agent),
            sources=(Source.COLD,) if verified_only else None,
        )
        found = await caller.memory.retrieve(query, group=wanted, options=options)
        return _answer(SearchView.from_record(found, wanted, language), write_search(found, language))

    @server.tool(title=words("mcp_capture_title"), description=words("mcp_capture"), annotations=WRITES)
    async def capture(
        context: Context[None, Any],
        content: Annotated[str, Field(description=words("mcp_param_content"))],
        confidence: Annotated[float | None, confidence_field] = None,
        group: Annotated[str | None, group_field] = None,
        agent: Annotated[str | None, agent_field] = None,
        session: Annotated[str | None, session_field] = None,
    ) -> Annotated[CallToolResult, CaptureReceiptView]:
        caller = await find_caller(context)
        metadata = {} if confidence is None else {"confidence": confidence}
        new = NewCapture(
            content=content,
            group_id=caller.choose_group(group),
            agent_id=caller.choose_agent(agent),
            session_id=caller.choose_session(session),
            metadata=metadata,
        )
        answer = CaptureReceiptView.from_record(await caller.memory.capture(new, wait=True), language)
        return _answer(answer, answer.message)

    @server.tool(title=words("mcp_propose_title"), description=words("mcp_propose"), annotations=WRITES)
    async def propose_for_review(
        context: Context[None, Any],
        statement: Annotated[str, Field(description=words("mcp_param_statement"))],
        reason: Annotated[str | None, Field(description=words("mcp_param_reason"))] = None,
        confidence: Annotated[float | None, confidence_field] = None,
        group: Annotated[str | None, group_field] = None,
        agent: Annotated[str | None, agent_field] = None,
        session: Annotated[str | None, session_field] = None,
    ) -> Annotated[CallToolResult, ProposalView]:
        caller = await find_caller(context)
        stated = {"confidence": confidence, REASON: reason}
        new = NewCapture(
            content=statement,
            group_id=caller.choose_group(group),
            agent_id=caller.choose_agent(agent),
            session_id=caller.choose_session(session),
            metadata={PROPOSED: True, **{name: value for name, value in stated.items() if value is not None}},
        )
        receipt = await caller.memory.capture(new, wait=True)
        answer = ProposalView.from_proposal(receipt, caller.url, language)
        return _answer(answer, answer.message)


def _answer(view: View, text: str) -> CallToolResult:
    """The answer for programs, and for a model to read."""
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=view.model_dump(mode="json", by_alias=True)
    )
