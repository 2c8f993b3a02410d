"""Clients of the MCP server: over the standard streams of a process of its own, and over HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

from tests.integration.cli.program import Program

TRANSPORTS = ("stdio", "http")
FROZEN = "The deployment of the billing service is frozen until the audit ends on Friday."
KEPT = "Invoices of the billing service are kept for ten years in the archive of the company."
CHINESE = "评审发现：支付网关在并发超过五百时出现超时，建议上线前扩容并补充压测报告。"


@asynccontextmanager
async def over_stdio(program: Program, *words: str, mode: str = "auto") -> AsyncIterator[Client]:
    """``clearwell mcp`` in the environment of a program. Its log goes to a file in the folder of the program."""
    command, *arguments = program.command("mcp", *words)
    started = StdioServerParameters(
        command=command, args=arguments, env=program.variables, cwd=program.folder, encoding="utf-8"
    )
    with (program.folder / "mcp.log").open("w") as log:
        async with Client(stdio_client(started, errlog=log), mode=mode) as client:
            yield client


@asynccontextmanager
async def over_http(url: str, *, query: str = "", mode: str = "auto", **headers: str) -> AsyncIterator[Client]:
    """``/mcp`` of a server."""
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False) as http,
        Client(streamable_http_client(f"{url}/mcp{query}", http_client=http), mode=mode) as client,
    ):
        yield client


def text_of(result: Any) -> str:
    """What a model reads of an answer."""
    assert isinstance(result, CallToolResult)
    return "\n".join(block.text for block in result.content if block.type == "text")


def good(result: Any) -> dict[str, Any]:
    """The structured answer of a call that succeeded."""
    assert isinstance(result, CallToolResult)
    assert not result.is_error, text_of(result)
    assert result.structured_content is not None
    return dict(result.structured_content)


def refusal(result: Any) -> str:
    """What a model reads of a call that was refused."""
    assert isinstance(result, CallToolResult)
    assert result.is_error
    return text_of(result)
