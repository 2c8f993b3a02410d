"""Folders with short paths, programs as processes of their own, and nothing left behind."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.integration.embedded.observing import Program, ServerClass, eventually, pids_below
from tests.places import make_folder

from clearwell.embedded import EmbeddedPostgres, EmbeddedValkey


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder of the test's own."""
    with _folder() as path:
        yield path


@pytest.fixture(scope="session")
def _initialised() -> Iterator[Path]:
    with _folder() as path:
        with EmbeddedPostgres(path):
            pass
        yield path / "postgres"


@pytest.fixture
def used(request: pytest.FixtureRequest, folder: Path, _initialised: Path) -> Path:
    """A folder in which PostgreSQL, if the test is about it, has run before: that saves most of a first start."""
    if "server" not in request.fixturenames or request.getfixturevalue("server") is EmbeddedPostgres:
        subprocess.run(["cp", "-a", _initialised, folder / "postgres"], check=True)
    return folder


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder with a short path. Whatever process still works in it at the end is one that the test started."""
    path = make_folder("cw-")
    yield path
    for pid in pids_below(path):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: not pids_below(path))
    shutil.rmtree(path)


@pytest.fixture
def program() -> Iterator[Callable[..., Program]]:
    """Starts programs, and ends them with the test."""
    programs: list[Program] = []

    def start(server: ServerClass, folder: Path, *flags: str) -> Program:
        programs.append(Program(server, folder, *flags))
        return programs[-1]

    yield start
    for each in programs:
        each.close()


@pytest.fixture(params=[EmbeddedPostgres, EmbeddedValkey], ids=["postgres", "valkey"])
def server(request: pytest.FixtureRequest) -> ServerClass:
    """Each of the two servers."""
    chosen: ServerClass = request.param
    return chosen
