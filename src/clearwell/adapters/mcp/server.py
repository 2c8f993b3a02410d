"""The server of one language, with its tools, resources and prompt. Refusals are in the words of Clearwell."""

from collections.abc import Iterable
from typing import Any

import structlog
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, CallToolResult, GetPromptResult, InputRequiredResult, TextContent
from pydantic import AnyUrl, ValidationError

from clearwell.adapters.mcp.caller import FindCaller
from clearwell.adapters.mcp.problems import explain_arguments, explain_error, find_flaws
from clearwell.adapters.mcp.prompts import add_prompts
from clearwell.adapters.mcp.resources import add_resources
from clearwell.adapters.mcp.tools import add_tools
from clearwell.errors import ClearwellError
from clearwell.messages import Language, say
from clearwell.version import __version__
from clearwell.views.flaws import make_printable

log = structlog.get_logger(__name__)
NAME = "clearwell"


class MemoryServer(MCPServer[None]):
    """An MCP server whose errors say what to do, in one language."""

    def __init__(self, language: Language) -> None:
        super().__init__(
            NAME,
            title="Clearwell",
            instructions=say("mcp_instructions", language),
            version=__version__,
            log_level="WARNING",
            subscriptions=False,
        )
        self._language = language

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[None, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        tools = {tool.name: tool for tool in await self.list_tools()}
        if name not in tools:
            known = ", ".join(tools)
            return _fail(say("mcp_tool_unknown", self._language, name=make_printable(name), tools=known))
        flaws = find_flaws(arguments, known=tools[name].input_schema["properties"])
        if flaws is not None:
            return _fail(explain_error(flaws, self._language))
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            return _fail(self._explain(error, name))

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[None, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        try:
            return await super().read_resource(uri, context)
        except ResourceError as error:
            if error.__cause__ is None:
                text = say("mcp_resource_unknown", self._language, uri=make_printable(str(uri)))
                raise MCPError(INVALID_PARAMS, text) from error
            raise MCPError(INVALID_PARAMS, self._explain(error, "resource")) from error

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[None, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        prompts = {prompt.name: prompt for prompt in await self.list_prompts()}
        if name not in prompts:
            text = say("mcp_prompt_unknown", self._language, name=make_printable(name), prompts=", ".join(prompts))
            raise MCPError(INVALID_PARAMS, text)
        known = prompts[name].arguments or []
        needed = [argument.name for argument in known if argument.required]
        flaws = find_flaws(arguments or {}, known=[argument.name for argument in known], needed=needed)
        if flaws is not None:
            raise MCPError(INVALID_PARAMS, explain_error(flaws, self._language))
        try:
            return await super().get_prompt(name, arguments, context)
        except ValueError as error:
            raise MCPError(INVALID_PARAMS, self._explain(error, name)) from error

    def _explain(self, error: BaseException, called: str) -> str:
        """Say what went wrong. An error that nobody expected is logged without the values of the call."""
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ClearwellError):
                return explain_error(cause, self._language)
            if isinstance(cause, ValidationError):
                return explain_arguments(cause, self._language)
            cause = cause.__cause__
        log.error("call failed", called=called, exc_info=error)
        return say("mcp_failed", self._language)


def create_server(language: Language, find_caller: FindCaller) -> MemoryServer:
    """Make the server. ``find_caller`` says who calls, from the context of a call."""
    server = MemoryServer(language)
    add_tools(server, language, find_caller)
    add_resources(server, language, find_caller)
    add_prompts(server, language, find_caller)
    return server


def _fail(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
