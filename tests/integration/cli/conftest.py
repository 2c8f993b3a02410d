"""The program on the run's servers, and on bundled servers of its own."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cli.program import Program
from tests.places import make_folder


@pytest.fixture
def program(database_url: str, redis_url: str, tmp_path: Path) -> Program:
    """On a migrated database and an empty working memory of the run's servers."""
    return Program(
        tmp_path,
        {"DATABASE_URL": database_url, "REDIS_URL": redis_url, "CLEARWELL_DATA_DIR": str(tmp_path / "data")},
    )


@pytest.fixture
def served(program: Program) -> Iterator[Program]:
    """The same, and a server that answers its commands: a test of many commands waits for one start only."""
    with program.serving():
        yield program


@pytest.fixture(scope="module")
def own_folder() -> Iterator[Path]:
    """Short enough for sockets, and its name has a space."""
    folder = make_folder("cw cli ")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def bundled(own_folder: Path) -> Program:
    """With bundled servers of its own, started as a user starts it."""
    return Program(own_folder, {"CLEARWELL_DATA_DIR": str(own_folder / "data")}, own_interpreter=True)
