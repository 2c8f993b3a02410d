"""The archives, and a clean virtual environment with the wheel and what it requires. Its name has a space."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clearwell import __version__
from tests.distribution.installation import ROOT, install, run


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Short enough for sockets."""
    made = Path(tempfile.mkdtemp(prefix="cw dist "))
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def dist(folder: Path) -> Path:
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", ROOT, folder=folder)
    return folder / "dist"


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    return dist / f"clearwell-{__version__}-py3-none-any.whl"


@pytest.fixture(scope="module")
def installed(wheel: Path, folder: Path) -> Path:
    """The commands of a virtual environment that has the wheel and its requirements, and nothing else."""
    return install(folder / "venv", wheel)


@pytest.fixture(scope="module")
def environment(folder: Path) -> dict[str, str]:
    """The environment of a user who has set nothing up."""
    kept = ("PATH", "HOME", "TMPDIR", "LANG")
    found = {name: os.environ[name] for name in kept if name in os.environ}
    return found | {"CLEARWELL_DATA_DIR": str(folder / "data"), "CLEARWELL_LANGUAGE": "en"}
