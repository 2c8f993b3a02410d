"""What a person sees: sentences in one language, tables that line up, and JSON for programs."""

from __future__ import annotations

import json
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from clearwell.messages import Language, catalogue, say

if TYPE_CHECKING:
    from clearwell.records import Json
    from clearwell.views.view import View

WIDTH_OF_A_FILE = 240
_SHOWN_CONTROLS = frozenset("\n\t")
_TURNING = frozenset(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))
"""Characters that reorder the text around them."""


class Terminal:
    """Says things in one language: results on stdout, warnings and errors on stderr."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.out = _console(stderr=False)
        self.err = _console(stderr=True)

    def words(self, code: str, **params: object) -> str:
        return say(code, self.language, **params)

    def name(self, code: str, otherwise: str) -> str:
        """The word for something that may be newer than its word."""
        return self.words(code) if code in catalogue() else otherwise

    def join_names(self, names: Iterable[str]) -> str:
        """Names one after the other, with the commas of the language."""
        return ("、" if self.language == "zh" else ", ").join(names)

    def format_pair(self, name: str, text: str) -> str:
        return f"{name}：{text}" if self.language == "zh" else f"{name}: {text}"

    def tell(self, code: str, *, style: str = "", **params: object) -> None:
        self.line(self.words(code, **params), style)

    def line(self, text: str = "", style: str = "") -> None:
        """One line that is never broken by us, so that a command or a path can be copied."""
        self.out.print(Text(make_visible(text), style), soft_wrap=True)

    def warn(self, code: str, **params: object) -> None:
        self.err.print(Text(make_visible("! " + self.words(code, **params)), "yellow"), soft_wrap=True)

    def fail(self, text: str) -> None:
        self.err.print(Text(make_visible("✗ " + text), "red"), soft_wrap=True)

    def block(self, text: str, style: str = "", *, indent: int) -> None:
        """Text of others, wrapped and indented."""
        self.out.print(Padding(Text(make_visible(text), style), (0, 0, 0, indent), expand=False))

    def pairs(self, rows: Sequence[tuple[str, str]], *, indent: int = 2) -> None:
        """Print names and values in two columns."""
        width = max(cell_len(name) for name, _ in rows)
        for name, value in rows:
            gap = " " * (width - cell_len(name) + 2)
            line = Text(" " * indent).append(name, "bold").append(gap).append(make_visible(value))
            self.out.print(line, soft_wrap=True)

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """``headings`` are message codes. The first column names the row and is never broken."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for column, heading in enumerate(headings):
            table.add_column(self.words(heading), overflow="fold", no_wrap=column == 0)
        for row in rows:
            table.add_row(*(Text(make_visible(cell)) for cell in row))
        self.out.print(table)

    def json(self, data: Json) -> None:
        utf8 = (self.out.encoding or "").replace("-", "").lower() == "utf8"
        self.out.out(json.dumps(data, ensure_ascii=not utf8, indent=2, default=str), highlight=False)

    def json_line(self, data: Json) -> None:
        """One JSON value on a line of its own, for an answer that goes on."""
        utf8 = (self.out.encoding or "").replace("-", "").lower() == "utf8"
        self.out.out(json.dumps(data, ensure_ascii=not utf8, default=str), highlight=False)

    def answer(self, view: View) -> None:
        """An answer of the API as JSON."""
        self.json(view.model_dump(mode="json"))

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
    """Text that an agent wrote must not steer the terminal it is shown on."""
    return "".join(character if _is_harmless(character) else _escaped(character) for character in text)


def _is_harmless(character: str) -> bool:
    if character in _SHOWN_CONTROLS:
        return True
    return unicodedata.category(character) != "Cc" and character not in _TURNING


def _escaped(character: str) -> str:
    return f"\\x{ord(character):02x}" if ord(character) < 0x100 else f"\\u{ord(character):04x}"


def shorten(text: str, width: int) -> str:
    """Shorten a text to one line of this width."""
    line = Text(" ".join(text.split()))
    line.truncate(width, overflow="ellipsis")
    return line.plain


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
