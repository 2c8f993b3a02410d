"""Where a command's requests go: to the running server of its data folder, or to a program opened in this process.

Both are asked over HTTP by the same client. In this process the client drives the same application that a server
serves, without a socket between. Commands that administer the stores open what they need themselves.
"""

from __future__ import annotations

import asyncio
import getpass
import logging
import os
import secrets
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clearwell.adapters.cli.command import log_to_stderr, run
from clearwell.client.api import ApiConnection
from clearwell.client.discovery import find_servers
from clearwell.client.routes import ApiClient
from clearwell.errors import ConfigurationError, NotAllowed, Unavailable, WorkingMemoryUnavailable
from clearwell.vocabulary import Admission

if TYPE_CHECKING:
    from uuid import UUID

    import httpx

    from clearwell.adapters.cli.terminal import Terminal
    from clearwell.app import Clearwell
    from clearwell.records import Event, Principal
    from clearwell.settings import Settings
    from clearwell.views.captures import QuarantineRowView

CREATE_APP = "clearwell.adapters.http.app:create_app"
OWN_ADDRESS = "http://127.0.0.1"
LOOK_SECONDS = 0.2


@dataclass(slots=True)
class Connection:
    """A client, and the program behind it if that was opened in this process.

    ``leaves_admissions``: the program admits nothing itself, because a running server has other settings, or
    because the judge that is needed is not configured here.
    """

    client: ApiClient
    settings: Settings
    program: Clearwell | None = None
    leaves_admissions: bool = False

    def leave_admissions(self) -> None:
        """Let other processes admit what this command captures or queues again."""
        if self.program is not None:
            self.program.queue.leave_rows()
            self.leaves_admissions = True

    async def events(self, group_id: str, after: str | None) -> AsyncGenerator[Event]:
        """The events of a group. A program in this process is followed directly: its answers are not streamed."""
        if self.program is None:
            return self.client.events(group_id, after=after)
        return self.program.memory.acting_as(await self._caller(self.program)).events(group=group_id, after=after)

    async def _caller(self, program: Clearwell) -> Principal:
        """Who a program in this process acts for."""
        caller, key = local_person(), self.settings.api_key
        if key is not None:
            caller = await program.keys.authenticate(key.get_secret_value(), local=False)
        return caller.lowered() if self.settings.actor == "agent" else caller

    async def export_lines(self, group_id: str) -> AsyncGenerator[str]:
        """The lines of an export. A program in this process is asked directly: its answers are not streamed."""
        if self.program is None:
            return self.client.export_group(group_id)
        return self.program.memory.acting_as(await self._caller(self.program)).export_group(group=group_id)

    async def public_key(self) -> str:
        """The key with which this installation signs."""
        from clearwell.signing import load_signing_key

        return load_signing_key(self.settings).public_key

    async def wait_for_admission(self, group_id: str, row_id: UUID) -> QuarantineRowView:
        """Wait until the admission of an output has ended, or some seconds, and return the output."""
        if self.program is not None and not self.leaves_admissions:
            await self.program.queue.join()
            return await self.client.quarantine_row(group_id, row_id)
        until = time.monotonic() + self.settings.wait_seconds + self.settings.sweep_seconds
        while True:
            row = await self.client.quarantine_row(group_id, row_id)
            if row.admission is not Admission.PENDING or time.monotonic() > until:
                return row
            await asyncio.sleep(LOOK_SECONDS)


@asynccontextmanager
async def connect(settings: Settings, terminal: Terminal, *, digests: bool = False) -> AsyncIterator[Connection]:
    """Connect to the running server of this data folder, or open the program.

    With ``digests`` the opened program makes digests too, as a server does anyway.
    """
    for server in find_servers(settings):
        secret = server.token if settings.api_key is None else settings.api_key.get_secret_value()
        async with _client(settings, terminal, server.url, secret) as client:
            if await client.is_alive():
                yield Connection(client, settings)
                return
        terminal.warn("cli_server_silent", url=server.url, pid=server.pid)
    async with (
        open_program(settings, terminal) as opened,
        _in_process(settings, terminal, opened, digests=digests) as connection,
    ):
        yield connection


@asynccontextmanager
async def open_program(settings: Settings, terminal: Terminal) -> AsyncIterator[Clearwell]:
    """The whole program, on the servers of a running ``serve`` or on ones that run for this command."""
    from clearwell.app import open_clearwell
    from clearwell.servers import running_servers

    log_to_stderr(terminal, level=logging.WARNING)
    async with running_servers(settings) as servers, open_clearwell(settings, servers) as opened:
        yield opened


def person(settings: Settings) -> Principal:
    """The person at the machine; with ``CLEARWELL_ACTOR=agent`` an agent that uses the shell, with no more rights."""
    at_machine = local_person()
    return at_machine.lowered() if settings.actor == "agent" else at_machine


def operator(settings: Settings, what: str) -> Principal:
    """The person at the machine, for what only an operator does. Raises NotAllowed for an agent, before any work.

    The audit records ``what`` was refused, if the database can be opened.
    """
    from clearwell.flow.access.permissions import require_right
    from clearwell.vocabulary import Right

    by = person(settings)
    try:
        require_right(by, Right.ADMIN)
    except NotAllowed:
        with suppress(ConfigurationError, Unavailable):
            run(_refuse(settings, by, what))
        raise
    return by


async def _refuse(settings: Settings, by: Principal, what: str) -> None:
    from clearwell.app import open_keys
    from clearwell.servers import running_postgres

    async with running_postgres(settings) as postgres, open_keys(settings, postgres.url) as ring:
        await ring.require_operator(by, what)


def local_person() -> Principal:
    """By the name that the system knows: a variable could say anything."""
    from clearwell.records import Principal

    if sys.platform == "win32":
        return Principal.local(f"local:{getpass.getuser()}")
    import pwd

    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        name = str(os.geteuid())
    return Principal.local(f"local:{name}")


@asynccontextmanager
async def _in_process(
    settings: Settings, terminal: Terminal, opened: Clearwell, *, digests: bool
) -> AsyncIterator[Connection]:
    """Yield a client that drives the application on this program. Waits for running work at the end."""
    from httpx import ASGITransport
    from uvicorn.importer import import_from_string

    from clearwell.worker import digest_worker, sweep

    app = import_from_string(CREATE_APP)(settings)
    app.state.clearwell = opened
    token = secrets.token_urlsafe(32)
    opened.keys.trust(token, local_person())
    secret = token if settings.api_key is None else settings.api_key.get_secret_value()
    transport = ASGITransport(app)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(_client(settings, terminal, OWN_ADDRESS, secret, transport))
        connection = Connection(client, settings, opened)
        if await _others_decide(opened):
            connection.leave_admissions()
        if digests:
            await stack.enter_async_context(digest_worker(opened, scheduled=False))
            await sweep(opened)
        yield connection
        await opened.queue.join()


async def _others_decide(opened: Clearwell) -> bool:
    """Whether servers run and none of them would decide as this process: then theirs are the settings that count."""
    try:
        return await opened.stores.heartbeats.leaves_to_others()
    except WorkingMemoryUnavailable:
        return False


def _client(
    settings: Settings,
    terminal: Terminal,
    url: str,
    secret: str,
    transport: httpx.AsyncBaseTransport | None = None,
) -> ApiClient:
    api = ApiConnection(
        url,
        secret=secret,
        language=terminal.language,
        acts_for_agent=settings.actor == "agent",
        transport=transport,
    )
    return ApiClient(api)
