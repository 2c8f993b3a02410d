"""The MCP server: search memory, capture, propose for review. No tool decides anything.

``server`` makes the server of one language from ``tools``, ``resources`` and ``prompts``. Each of them asks the memory
of the caller (``caller``), which is the library or a client of a running server. ``answers`` has the shapes of
structured answers, ``problems`` the words of refusals. ``stdio`` serves one program over its standard streams, ``http``
any number of callers over streamable HTTP.
"""

try:
    import mcp.server.mcpserver  # noqa: F401
except ImportError as error:
    raise ImportError('the MCP server needs the MCP SDK: pip install "clearwell[mcp]"') from error
