"""Questions at a terminal. Ctrl-C and the end of the input cancel the command: typer.Abort, exit code 130."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from clearwell.adapters.cli.command import Interrupted
from clearwell.adapters.cli.terminal import make_visible


def confirm(question: str) -> bool:
    """Ask a question of yes or no. No is the answer to an empty line."""
    with _interruptible():
        return typer.confirm(make_visible(question), default=False)


def prompt(question: str, *, err: bool = False) -> str:
    """Ask for a line of text, which may be empty."""
    with _interruptible():
        return str(typer.prompt(make_visible(question), default="", show_default=False, err=err)).strip()


@contextmanager
def interrupted_midway(*, is_midway: bool) -> Iterator[None]:
    """Report a cancelled question as an interruption where a part of the work may be done already."""
    try:
        yield
    except typer.Abort:
        if not is_midway:
            raise
        raise Interrupted from None


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end the question: while a command runs, it only requests that, and reading a line goes on."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
