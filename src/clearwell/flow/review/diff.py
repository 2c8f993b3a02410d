"""Where the words of two texts differ. Chinese is compared by words too, not by lines or characters."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby

import rjieba

from clearwell.records import DiffPiece

EQUAL, INSERT, DELETE = "equal", "insert", "delete"
MOST_WORDS = 3000
"""Beyond this the texts are shown as one replaced by the other: no reader follows such a diff."""
_RUN = re.compile(r"\s+|[^\W_]+|_+|[^\w\s]")


def words(text: str) -> list[str]:
    """The text in pieces that give it again when joined: words, spaces and marks."""
    return [word for run in _RUN.findall(text) for word in (rjieba.cut(run) if not run.isascii() else (run,))]


def diff(old: str, new: str) -> tuple[DiffPiece, ...]:
    """From the old text to the new one."""
    before, after = words(old), words(new)
    if len(before) > MOST_WORDS or len(after) > MOST_WORDS:
        found = [(DELETE, old), (INSERT, new)] if old != new else [(EQUAL, old)]
        return tuple(DiffPiece(op=op, text=text) for op, text in found if text)
    return _joined(_changes(before, after))


def _changes(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, str]]:
    matcher = SequenceMatcher(None, [word.casefold() for word in before], [word.casefold() for word in after], False)
    found: list[tuple[str, str]] = []
    for op, i1, i2, j1, j2 in matcher.get_opcodes():
        if op == EQUAL:
            for old, new in zip(before[i1:i2], after[j1:j2], strict=True):
                found += [(EQUAL, new)] if old == new else [(DELETE, old), (INSERT, new)]
            continue
        found += [(DELETE, word) for word in before[i1:i2]]
        found += [(INSERT, word) for word in after[j1:j2]]
    return found


def _joined(changes: Sequence[tuple[str, str]]) -> tuple[DiffPiece, ...]:
    return tuple(
        DiffPiece(op=op, text="".join(text for _, text in run)) for op, run in groupby(changes, key=lambda one: one[0])
    )
