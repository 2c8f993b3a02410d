"""The wheel and the source archive: what is in them, and that the wheel alone is a working Clearwell.

A clean virtual environment gets the wheel and what it requires from the package index that pip is set up with.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clearwell import __version__

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "clearwell"


def run(*command: str | Path, folder: Path, environment: dict[str, str] | None = None) -> str:
    """Run a command that has to succeed, and return what it printed."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Short enough for sockets."""
    made = Path(tempfile.mkdtemp(prefix="cw-dist-"))
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
    """The command of a virtual environment that has the wheel and its requirements, and nothing else."""
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", folder=folder)
    pip = (sys.executable, "-m", "pip", "--python", folder / "venv" / "bin" / "python")
    options = ("--quiet", "--no-compile", "--constraint", ROOT / "constraints.txt")
    run(*pip, "install", *options, wheel, folder=folder)
    return folder / "venv" / "bin" / "clearwell"


def source_files() -> set[str]:
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(PACKAGE.parent).as_posix() for path in files}


def test_both_archives_can_be_published(dist: Path, wheel: Path) -> None:
    assert sorted(path.name for path in dist.iterdir()) == [wheel.name, f"clearwell-{__version__}.tar.gz"]
    run(sys.executable, "-m", "twine", "check", "--strict", *sorted(dist.iterdir()), folder=dist)


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if name.startswith("clearwell/")}
    assert names == source_files()
    assert {Path(name).suffix for name in names} >= {".py", ".toml", ".sql", ".lua", ".md", ".css"}
    assert "clearwell/py.typed" in names


def test_the_source_archive_holds_the_package_and_its_papers(dist: Path) -> None:
    top = f"clearwell-{__version__}"
    with tarfile.open(dist / f"{top}.tar.gz") as archive:
        names = set(archive.getnames())
    papers = {"README.md", "README.zh-CN.md", "LICENSE", "CHANGELOG.md", "pyproject.toml"}
    assert {f"{top}/{paper}" for paper in papers} <= names
    assert {f"{top}/src/{name}" for name in source_files()} <= names


def test_the_wheel_alone_captures_and_finds(installed: Path, folder: Path) -> None:
    kept = ("PATH", "HOME", "TMPDIR", "LANG")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= {"CLEARWELL_DATA_DIR": str(folder / "data"), "CLEARWELL_LANGUAGE": "en"}
    assert run(installed, "--version", folder=folder, environment=environment).split()[-1] == __version__
    words = ("ingest", "--group", "grp-1", "Backups are kept for ninety days in two regions.")
    run(installed, *words, folder=folder, environment=environment)
    found = run(
        installed, "query", "--group", "grp-1", "How long do we keep backups?", folder=folder, environment=environment
    )
    assert "ninety days" in found
