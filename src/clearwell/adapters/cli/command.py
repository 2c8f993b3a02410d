"""What every command needs: its common options, the settings and the terminal, and a way to run to its end."""

from __future__ import annotations

import shlex
import shutil
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from clearwell.adapters.cli.terminal import Terminal
from clearwell.errors import InvalidInput

if TYPE_CHECKING:
    from types import FrameType

    from clearwell.client.routes import ApiClient
    from clearwell.settings import Settings

T = TypeVar("T")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Group = Annotated[str, typer.Option("--group", "-g", help="The group (group_id).")]

USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
"""Typer's own error of usage: click's in some versions, a copy of it in others."""

_ASKED_TO_STOP = (signal.SIGINT, signal.SIGTERM)
_STOP_SIGNALS = (*_ASKED_TO_STOP, *(getattr(signal, name) for name in ("SIGHUP", "SIGBREAK") if hasattr(signal, name)))


class UsageProblem(InvalidInput):
    """The arguments of a command are invalid: exit code 2."""


class Interrupted(Exception):
    """A signal requested the command to end."""


def start() -> tuple[Settings, Terminal]:
    """Return the settings, and the terminal in their language."""
    from clearwell.settings import Settings

    settings = Settings()
    return settings, Terminal(settings.display_language)


def log_to_stderr(terminal: Terminal, *, level: int) -> None:
    """Write log lines to stderr in the terminal's language, so that stdout has the answer and nothing else."""
    from clearwell.logs import configure_logs

    colors = terminal.err.is_terminal and not terminal.err.no_color
    configure_logs(terminal.language, level=level, colors=colors)


def program() -> str:
    """Return how to call this program from a shell: with its full path if it is not on the search path."""
    if shutil.which("clearwell") is not None:
        return "clearwell"
    script = Path(sys.executable).with_name("clearwell")
    if not script.exists():
        return f"{shlex.quote(sys.executable)} -m clearwell"
    here = Path.cwd()
    return shlex.quote(str(script.relative_to(here) if script.is_relative_to(here) else script))


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command to its end. A signal cancels it, so that servers it started are stopped on the way out."""
    import asyncio

    from clearwell.flow.deadlines import cancel_tasks

    async def cancellable() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine that runs has a task
        with on_stop_signal(lambda: loop.call_soon_threadsafe(task.cancel), even_if_ignored=False):
            try:
                return await work
            finally:
                # asyncio.run cancels what is left only once, and a connection that is being made can swallow that.
                await cancel_tasks(*(asyncio.all_tasks() - {task}))

    try:
        return asyncio.run(cancellable())
    except asyncio.CancelledError:
        raise Interrupted from None


def ask(settings: Settings, terminal: Terminal, question: Callable[[ApiClient], Awaitable[T]]) -> T:
    """Send one request to the running server of this data folder, or to a program that is opened for it."""
    from clearwell.adapters.cli.connection import connect

    async def answer() -> T:
        async with connect(settings, terminal) as connection:
            return await question(connection.client)

    return run(answer())


@contextmanager
def on_stop_signal(stop: Callable[[], object], *, even_if_ignored: bool) -> Iterator[None]:
    """Call ``stop`` for each signal that requests the program to end, until the block ends.

    A shell starts its background jobs with SIGINT ignored. With ``even_if_ignored`` SIGINT and SIGTERM count then
    too; SIGHUP that is ignored stays so, which is what ``nohup`` is for.
    """

    def handle(_number: int, _frame: FrameType | None) -> None:
        stop()

    wanted = [
        number
        for number in _STOP_SIGNALS
        if signal.getsignal(number) is not signal.SIG_IGN or (even_if_ignored and number in _ASKED_TO_STOP)
    ]
    before = {number: signal.signal(number, handle) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
