"""Lines that fit a terminal: broken at spaces and between Chinese characters, never inside a word that fits a line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len, chop_cells

FACTS = " · "
"""What stands between the facts of a list of facts."""
FACT_WIDTH = 50
_OPENING, _CLOSING = "（“‘「『《〈【［", "，。、；：！？）”’」』》〉】］…"
_WIDE = "\u2e80-\u2fff\u3003-\u3007\u3021-\u303f\u3040-\u9fff\uac00-\ud7af\uf900-\ufaff"
_PIECE = re.compile(
    rf"(?P<gap>\s*)"
    rf"(?P<body>[{_OPENING}]*(?:`[^`\n]+`|[{_WIDE}]|[^\s`{_WIDE}{_OPENING}{_CLOSING}]+|`)?[{_CLOSING}]*)"
)
"""What is never broken: a word, a command between backticks, or one Chinese character, with its punctuation."""
_NUMBER = re.compile(r"[(（]?\d[\d.,]*")
"""A number, which is not parted from what it counts."""
_HANGING = re.compile(r"\s*(?:(?:\d+\.|\[\d+\]|[!✗✓·→✅])\s+)?")
"""What the lines after the first are indented by: spaces, and the number or mark of an item."""


def wrap(text: str, width: int) -> list[str]:
    """Break each line of a text into lines of this width. A word that is wider than a line is broken where it ends."""
    return [line for paragraph in text.split("\n") for line in _wrap_line(paragraph, width)]


def _wrap_line(text: str, width: int) -> list[str]:
    if cell_len(text) <= width:
        return [text]
    prefix = _HANGING.match(text)
    start = prefix.group() if prefix is not None and cell_len(prefix.group()) < width // 2 else ""
    indent = " " * cell_len(start)
    lines, line, empty = [], start, True
    for gap, body in _split(text[len(start) :]):
        piece = body if empty else gap + body
        if not empty and cell_len(line + piece) > width:
            lines.append(line)
            line, piece = indent, body
        *full, rest = _chop(piece, width - cell_len(line)) if cell_len(line + piece) > width else [piece]
        for part in full:
            lines.append(line + part)
            line = indent
        line, empty = line + rest, False
    return [*lines, line]


def _split(text: str) -> list[tuple[str, str]]:
    """The pieces of a line, each with the spaces before it. The facts of a list of facts are pieces."""
    facts = text.split(FACTS)
    if len(facts) > 2 and all(cell_len(fact) <= FACT_WIDTH for fact in facts):
        return [("", f"{facts[0]} ·"), *((" ", f"{fact} ·") for fact in facts[1:-1]), (" ", facts[-1])]
    pieces: list[tuple[str, str]] = []
    for match in _PIECE.finditer(text):
        if pieces and _NUMBER.fullmatch(pieces[-1][1]) and match["body"]:
            gap, number = pieces.pop()
            pieces.append((gap, number + match["gap"] + match["body"]))
        elif match["body"]:
            pieces.append((match["gap"], match["body"]))
    return pieces


def _chop(piece: str, width: int) -> list[str]:
    return chop_cells(piece, max(width, 1)) or [""]


def measure_longest(text: str) -> int:
    """The width of the longest piece of a text that is not broken."""
    return max((cell_len(body) for _, body in _split(text)), default=0)


def fit_columns(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """The widths of columns whose cells fit this width together. The first column is as wide as its widest cell.

    What is left after every column has its longest word goes to the columns that would have to be wrapped most.
    """
    columns = list(zip(*rows, strict=True))
    wanted = [max(cell_len(line) for cell in column for line in cell.split("\n")) for column in columns]
    if sum(wanted) <= width:
        return wanted
    widths = [wanted[0], *(max(map(measure_longest, column)) for column in columns[1:])]
    while sum(widths) > width:
        widest = max(range(len(widths)), key=lambda column: (widths[column], column))
        widths[widest] -= 1
    while sum(widths) < width:
        short = [column for column in range(len(widths)) if widths[column] < wanted[column]]
        narrowest = min(short, key=lambda column: (widths[column], column))
        widths[narrowest] += 1
    return widths
