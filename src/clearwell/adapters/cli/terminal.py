"""What a person sees: sentences in one language, tables that line up, and JSON for programs."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from typing import TYPE_CHECKING
from uuid import UUID

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from clearwell.adapters.cli.wrapping import fit_columns, wrap
from clearwell.messages import Language, catalogue, join_names, join_pair, say
from clearwell.text.hidden_text import escape_hidden
from clearwell.text.short_ids import shorten_id

if TYPE_CHECKING:
    from pydantic import BaseModel

WIDTH_OF_A_FILE = 240
COLUMN_GAP = 2
_COMMAND = re.compile(r"(?<=[:：])\s*(?:\S*/)?clearwell\s[^\n]+$")
"""A command at the end of a sentence. It gets a line of its own, which is not broken, where both do not fit one."""


class Terminal:
    """Says things in one language: results on stdout, warnings and errors on stderr."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.out = _console(stderr=False)
        self.err = _console(stderr=True)

    def words(self, code: str, **params: object) -> str:
        """A sentence. Ids in it are shown in their short form."""
        shown = {name: shorten_id(value) if isinstance(value, UUID) else value for name, value in params.items()}
        return say(code, self.language, **shown)

    def name(self, code: str, otherwise: str) -> str:
        """The word for something that may be newer than its word."""
        return self.words(code) if code in catalogue() else otherwise

    def join_names(self, names: Iterable[str]) -> str:
        """Names one after the other, with the commas of the language."""
        return join_names(names, self.language)

    def join_ids(self, ids: Iterable[UUID]) -> str:
        """Short ids one after the other."""
        return self.join_names(map(shorten_id, ids))

    def format_pair(self, name: str, text: str) -> str:
        return join_pair(name, text, self.language)

    def tell(self, code: str, *, style: str = "", **params: object) -> None:
        self.line(self.words(code, **params), style)

    def line(self, text: str = "", style: str = "") -> None:
        """A sentence, broken between words where the terminal ends. What stands between backticks is not broken."""
        self._print(self.out, make_visible(text), style)

    def command(self, text: str, style: str = "") -> None:
        """A line that is never broken by us, so that a command or a path can be copied."""
        self.out.print(Text(make_visible(text), style), soft_wrap=True)

    def warn(self, code: str, **params: object) -> None:
        self._print(self.err, make_visible("! " + self.words(code, **params)), "yellow")

    def fail(self, text: str) -> None:
        self._print(self.err, make_visible("✗ " + text), "red")

    def block(self, text: str, style: str = "", *, indent: int) -> None:
        """Text of others, wrapped and indented."""
        for line in wrap(make_visible(text), self.out.width - indent):
            self.out.print(Text(" " * indent + line, style), soft_wrap=True)

    def styled_block(self, text: Text, *, indent: int) -> None:
        """The same for a text of several styles."""
        start = 0
        for line in wrap(text.plain, self.out.width - indent):
            start = text.plain.index(line.strip(), start)
            end = start + len(line.strip())
            self.out.print(Text(" " * indent).append_text(text[start:end]), soft_wrap=True)
            start = end

    def pairs(self, rows: Sequence[tuple[str, str]], *, indent: int = 2) -> None:
        """Print names and values in two columns."""
        width = max(cell_len(name) for name, _ in rows)
        start = indent + width + COLUMN_GAP
        for name, value in rows:
            gap = " " * (width - cell_len(name) + COLUMN_GAP)
            first, *others = self._wrap(self.out, make_visible(value), start)
            line = Text(" " * indent).append(name, "bold").append(gap).append(first)
            self.out.print(line, soft_wrap=True)
            for other in others:
                self.out.print(Text(" " * start + other), soft_wrap=True)

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """``headings`` are message codes. The first column names the row and is never broken."""
        cells = [[self.words(heading) for heading in headings], *([make_visible(cell) for cell in row] for row in rows)]
        gaps = 1 + COLUMN_GAP * (len(headings) - 1)
        widths = fit_columns(cells, self.out.width - gaps)
        self.out.print()
        self._print_row(cells[0], widths, "bold")
        self.out.print(Text(" " + "─" * (sum(widths) + gaps - 1)), soft_wrap=True)
        for row in cells[1:]:
            self._print_row(row, widths)
        self.out.print()

    def _print_row(self, row: Sequence[str], widths: Sequence[int], style: str = "") -> None:
        wrapped = [wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
        for lines in zip_longest(*wrapped, fillvalue=""):
            padded = [
                line + " " * (width - cell_len(line) + COLUMN_GAP) for line, width in zip(lines, widths, strict=True)
            ]
            self.out.print(Text(" " + "".join(padded).rstrip(), style), soft_wrap=True)

    def _print(self, console: Console, text: str, style: str) -> None:
        for line in self._wrap(console, text, 0):
            console.print(Text(line, style), soft_wrap=True)

    def _wrap(self, console: Console, text: str, start: int) -> list[str]:
        """Lines of a text that begins at this column. A file has long lines, as whoever searches it expects."""
        width = max(console.width - start, 1)
        if console.width == WIDTH_OF_A_FILE:
            return text.split("\n")
        ends_with = _COMMAND.search(text)
        if ends_with is None or cell_len(text) <= width:
            return wrap(text, width)
        return [*wrap(text[: ends_with.start()].rstrip(), width), f"  {ends_with.group().strip()}"]

    def answer(self, view: BaseModel, *, on_one_line: bool = False) -> None:
        """A view as JSON; on a line of its own if the answer goes on."""
        utf8 = (self.out.encoding or "").replace("-", "").lower() == "utf8"
        indent = None if on_one_line else 2
        self.out.out(json.dumps(view.model_dump(mode="json"), ensure_ascii=not utf8, indent=indent), highlight=False)

    def moment(self, moment: datetime) -> str:
        return f"{moment.astimezone():%Y-%m-%d %H:%M}"

    def age(self, since: datetime) -> str:
        """How long ago, in the largest unit that fits."""
        return self._time("age", datetime.now(UTC) - since)

    def time_left(self, until: datetime) -> str:
        """How long still, in the largest unit that fits."""
        return self._time("left", until - datetime.now(UTC))

    def _time(self, kind: str, time: timedelta) -> str:
        for name, unit in (("days", 86400), ("hours", 3600), ("minutes", 60)):
            if time.total_seconds() >= unit:
                return self.words(f"cli_{kind}_{name}", count=int(time.total_seconds() // unit))
        return self.words(f"cli_{kind}_now")


def make_visible(text: str) -> str:
    """Write out what a reader does not see and what steers a terminal, also a carriage return inside a line."""
    return escape_hidden(text.replace("\r\n", "\n")).replace("\r", "⟦U+000D⟧")


def shorten(text: str, width: int) -> str:
    """Shorten a text to one line of this width, between two words where they are not far apart."""
    whole = " ".join(text.split())
    line = Text(whole)
    line.truncate(width, overflow="ellipsis")
    cut = line.plain
    if cut == whole:
        return whole
    kept = cut[:-1].rstrip()
    before, space, word = kept.rpartition(" ")
    broken = kept[-1:].isalnum() and whole[len(kept) : len(kept) + 1].isalnum()
    return f"{before if broken and space and word.isascii() and len(word) < width // 4 else kept}…"


def size(count: int) -> str:
    """Bytes for people."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


def prepare_streams() -> None:
    """A character that the terminal's encoding does not have is escaped instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    width = None if console.is_terminal else shutil.get_terminal_size((WIDTH_OF_A_FILE, 24)).columns
    if console.no_color or width is not None:
        return Console(
            stderr=stderr, markup=False, highlight=False, emoji=False, width=width, color_system=None, no_color=True
        )
    return console
