"""The resources: a verified memory, and its origin. Neither has a text of quarantine."""

from typing import Any
from uuid import UUID

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resources import ResourceSecurity

from clearwell.adapters.mcp.caller import FindCaller
from clearwell.errors import NotFound
from clearwell.messages import Language, say
from clearwell.views.flaws import make_printable
from clearwell.views.mcp import MEMORY_URI, ORIGIN_URI, OriginView, WholeMemoryView

JSON = "application/json"
NAMES = ResourceSecurity(exempt_params=frozenset({"group", "id"}))
"""Groups and ids are names, not paths: a group may be called /etc."""


def add_resources(server: MCPServer[None], language: Language, find_caller: FindCaller) -> None:
    """Register the resources, with their descriptions in one language."""

    @server.resource(MEMORY_URI, name="memory", description=say("mcp_memory", language), mime_type=JSON, security=NAMES)
    async def read_memory(context: Context[None, Any], group: str, id: str) -> str:
        caller = await find_caller(context)
        agent = caller.defaults.agent
        found = await caller.memory.memory(_parse_id(id, group), group=group, agent_id=agent)
        return WholeMemoryView.from_record(found, language).model_dump_json(indent=2)

    @server.resource(ORIGIN_URI, name="origin", description=say("mcp_origin", language), mime_type=JSON, security=NAMES)
    async def read_origin(context: Context[None, Any], group: str, id: str) -> str:
        caller = await find_caller(context)
        agent = caller.defaults.agent
        found = await caller.memory.memory_origin(_parse_id(id, group), group=group, agent_id=agent)
        return OriginView.from_record(found).model_dump_json(indent=2)


def _parse_id(text: str, group: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise NotFound("memory_not_found", id=make_printable(text), group=make_printable(group)) from None
