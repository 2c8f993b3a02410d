"""``mcp``: the MCP server over standard streams, for coding agents and desktop clients."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clearwell.adapters.cli.command import log_to_stderr, run, start

if TYPE_CHECKING:
    from clearwell.adapters.cli.terminal import Terminal
    from clearwell.client.client import AsyncClient
    from clearwell.service import MemoryManager
    from clearwell.settings import Settings

SERVE_STDIO = "clearwell.adapters.mcp.stdio:serve_stdio"
ANSWER_SECONDS = 20.0
"""How long a call may take with all its attempts. An agent waits for it."""


def mcp(
    group: Annotated[str | None, typer.Option("--group", "-g", help="The group of calls that name none.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="The agent (agent_id) of calls that name none.")] = None,
    session: Annotated[
        str | None, typer.Option("--session", help="The session (session_id) of calls that name none.")
    ] = None,
    url: Annotated[
        str | None, typer.Option("--url", help="The server to use, with the key of CLEARWELL_API_KEY.")
    ] = None,
) -> None:
    """Serve MCP over standard input and output, for coding agents and desktop clients.

    It uses the server at --url, else the one that runs on the data folder, else it opens the stores itself. Whatever
    its key allows, it acts for an agent: it reads and captures, and promotes nothing.
    """
    settings, terminal = start()
    log_to_stderr(terminal, level=logging.WARNING)
    serve_stdio = _load_server()
    open_memory = partial(_open_memory, settings, terminal, url)
    run(serve_stdio(open_memory, language=terminal.language, group=group, agent=agent, session=session))


def _load_server() -> Any:
    """The server, which is another adapter. Raises ConfigurationError if its extra is not installed."""
    from uvicorn.importer import ImportFromStringError, import_from_string

    from clearwell.errors import ConfigurationError

    try:
        return import_from_string(SERVE_STDIO)
    except (ImportError, ImportFromStringError) as error:
        raise ConfigurationError("mcp_not_installed") from error


@asynccontextmanager
async def _open_memory(
    settings: Settings, terminal: Terminal, url: str | None
) -> AsyncIterator[tuple[AsyncClient | MemoryManager, str | None]]:
    """The memory of the server at ``url``, of the one on the data folder, or of stores opened here; and its address."""
    from clearwell.client.client import AsyncClient
    from clearwell.client.discovery import find_servers

    running = [] if url is not None else find_servers(settings)
    if url is not None or running:
        async with AsyncClient(url, language=terminal.language, timeout=ANSWER_SECONDS, settings=settings) as client:
            yield client, url or running[0].url
        return
    async with _open_stores(settings, terminal) as memory:
        yield memory, None


@asynccontextmanager
async def _open_stores(settings: Settings, terminal: Terminal) -> AsyncIterator[MemoryManager]:
    """The whole program in this process, with its background work, for the local person's agent or the one of a key."""
    from clearwell.adapters.cli.connection import local_person, open_program
    from clearwell.worker import worker

    async with open_program(settings, terminal) as opened, worker(opened):
        caller = local_person()
        if settings.api_key is not None:
            caller = await opened.keys.authenticate(settings.api_key.get_secret_value(), local=False)
        yield opened.memory.acting_as(caller.lowered())
