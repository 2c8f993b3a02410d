"""What every command needs: the settings, who is at the machine, and a way to run the library."""

import asyncio
import getpass
import logging
import os
import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from clearwell.adapters.cli.printing import Terminal
from clearwell.adapters.cli.signals import on_stop_signal
from clearwell.app import Clearwell, open_clearwell
from clearwell.errors import InvalidInput
from clearwell.flow.access.permissions import require_right
from clearwell.logs import configure_logs
from clearwell.records import Principal, Right
from clearwell.servers import running_servers
from clearwell.settings import Settings

T = TypeVar("T")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Group = Annotated[str, typer.Option("--group", "-g", help="The group (group_id).")]


class UsageProblem(InvalidInput):
    """The command was called in a way that it cannot be: exit code 2."""


class Interrupted(Exception):
    """A signal asked the command to end."""


def start() -> tuple[Settings, Terminal]:
    """The settings, and the terminal in their language."""
    settings = Settings()
    terminal = Terminal(settings.display_language)
    configure_logs(
        settings.display_language, level=logging.WARNING, colors=terminal.err.is_terminal and not terminal.err.no_color
    )
    return settings, terminal


def person() -> Principal:
    """The person at the machine; with ``CLEARWELL_ACTOR=agent`` an agent that uses the shell, with no more rights."""
    at_machine = _person()
    return at_machine.lowered() if Settings().actor == "agent" else at_machine


def operator() -> Principal:
    """The person at the machine, for what only an operator does. Raises NotAllowed for an agent, before any work."""
    by = person()
    require_right(by, Right.ADMIN)
    return by


def _person() -> Principal:
    """By the name that the system knows: a variable could say anything."""
    if sys.platform == "win32":
        return Principal.local(f"local:{getpass.getuser()}")
    import pwd

    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        name = str(os.geteuid())
    return Principal.local(f"local:{name}")


def program() -> str:
    """How this program is called from a shell: by its full path where a shell would not find it."""
    if shutil.which("clearwell") is not None:
        return "clearwell"
    script = Path(sys.executable).with_name("clearwell")
    if not script.exists():
        return f"{shlex.quote(sys.executable)} -m clearwell"
    here = Path.cwd()
    return shlex.quote(str(script.relative_to(here) if script.is_relative_to(here) else script))


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command to its end. A signal cancels it, so that servers it started are stopped on the way out."""

    async def cancellable() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine that runs has a task
        with on_stop_signal(lambda: loop.call_soon_threadsafe(task.cancel), even_if_ignored=False):
            return await work

    try:
        return asyncio.run(cancellable())
    except asyncio.CancelledError:
        raise Interrupted from None


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Clearwell]:
    """The whole path, on the servers of a running ``serve`` or on ones that run for this command."""
    async with running_servers(settings) as servers, open_clearwell(settings, servers) as clearwell:
        yield clearwell


def ask(settings: Settings, question: Callable[[Clearwell], Awaitable[T]]) -> T:
    """Open the whole path, ask it one thing, and close it again."""

    async def answered() -> T:
        async with opened(settings) as clearwell:
            return await question(clearwell)

    return run(answered())


def ask_and_name(settings: Settings, question: Callable[[Clearwell], Awaitable[T]]) -> tuple[T, Mapping[str, str]]:
    """The same, and what keys are called, by how their holders are recorded."""

    async def both(clearwell: Clearwell) -> tuple[T, Mapping[str, str]]:
        return await question(clearwell), await clearwell.keys.list_names()

    return ask(settings, both)
