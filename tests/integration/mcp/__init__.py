"""The MCP server, with the client of the same package."""
