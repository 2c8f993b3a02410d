"""What commands print at 100 columns, in both languages, with the data of the demo meeting."""

import re
from collections.abc import Sequence
from itertools import product

import pytest
from rich.cells import cell_len

from clearwell.adapters.cli import app
from tests.integration.cli.program import Program

WIDTH = 100
GROUP = "demo-width"
COMMANDS: Sequence[tuple[str, ...]] = (
    ("memories", "list"),
    ("memories", "show", "{memory}"),
    ("quarantine",),
    ("explain", "{row}"),
    ("working", "list"),
    ("review", "list", "--all"),
    ("review", "show", "{insight}"),
    ("review", "decisions"),
    ("digest", "list"),
    ("digest", "show", "{digest}"),
    ("audit", "list"),
    ("counts",),
    ("tombstone", "list"),
    ("agent", "list"),
    ("retract", "--agent", "critic"),
    ("query", "How long must paid invoices be kept in the tax archive?"),
    ("context", "--proposal", "How long must paid invoices be kept?", "--report"),
    ("factcheck", "Paid invoices must be kept in the tax archive for seven years."),
)
PART_OF_AN_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f-]*")
"""What remains of a whole id that was broken, and a whole id itself: lists have short ones."""


@pytest.fixture
def met(served: Program, monkeypatch: pytest.MonkeyPatch) -> Program:
    """A server with a demo meeting. Commands of this process find it."""
    served.good("demo", "--group", GROUP, "--language", "en")
    served.good("tombstone", "add", "-g", GROUP, "--reason", "Measured again and wrong. " * 4, "The moon is of cheese.")
    for name, value in {**served.environment, "COLUMNS": str(WIDTH)}.items():
        monkeypatch.setenv(name, value)
    return served


def find_names(program: Program) -> dict[str, str]:
    """The short id of one thing of each kind."""

    def first(what: str, *words: str) -> str:
        (listed,) = [value for value in program.good(*words, "-g", GROUP, "--json").json.values() if value]
        return str(listed[0][what])[-8:]

    return {
        "memory": first("memory_id", "memories", "list"),
        "row": first("id", "quarantine"),
        "insight": first("id", "review", "list", "--all"),
        "digest": first("id", "digest", "list"),
    }


def test_no_line_is_too_long_and_no_id_is_broken(
    met: Program, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = find_names(met)
    for locale, words in product(("C.UTF-8", "zh_CN.UTF-8"), COMMANDS):
        monkeypatch.setenv("LC_ALL", locale)
        app([*(word.format(**names) for word in words), "-g", GROUP], standalone_mode=False)
        out = capsys.readouterr().out
        long = [line for line in out.splitlines() if cell_len(line) > WIDTH]
        assert not long, (words, long)
        quoted = re.sub(r"\[memory [0-9a-f-]{36}\]", "", out)
        assert not PART_OF_AN_ID.search(quoted), (words, PART_OF_AN_ID.findall(quoted))
