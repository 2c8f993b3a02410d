"""How far a long command is: a bar on a terminal, otherwise a line from time to time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from clearwell.adapters.cli.terminal import Terminal, size

Report = Callable[[int, int], None]
"""Called with what is done and the total, which may grow."""
STEPS = 10
"""This many lines tell of progress where there is no terminal to draw a bar on."""


@contextmanager
def show_progress(terminal: Terminal, name: str, step: str, *, in_bytes: bool = False) -> Iterator[Report]:
    """Report progress on stderr. ``name`` and ``step`` are message codes: of the bar, and of a line."""
    if not terminal.err.is_terminal:
        yield _Lines(terminal, step, in_bytes=in_bytes)
        return
    count: ProgressColumn = DownloadColumn(binary_units=True) if in_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), count, TimeRemainingColumn())
    with Progress(*columns, console=terminal.err) as bar:
        task = bar.add_task(terminal.words(name), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


class _Lines:
    def __init__(self, terminal: Terminal, code: str, *, in_bytes: bool) -> None:
        self._terminal = terminal
        self._code = code
        self._write = size if in_bytes else str
        self._told = -1

    def __call__(self, done: int, total: int) -> None:
        step = done * STEPS // max(total, 1)
        if step != self._told:
            self._told = step
            words = self._terminal.words(self._code, done=self._write(done), total=self._write(total))
            self._terminal.err.print(words, soft_wrap=True)
