"""The wheel and the source archive: what is in them, and that the wheel alone is a working Clearwell.

A clean virtual environment gets the wheel and what it requires from the package index that pip is set up with. Its name
has a space. The environments of the extras begin with the files of the first one, so that they are clean as well.
"""

import json
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
EXAMPLES = {
    "langchain": "langchain_agent.py",
    "langgraph": "langgraph_council.py",
    "openai-agents": "openai_agents_planner.py",
    "pydantic-ai": "pydantic_ai_support.py",
}
"""The example of each extra."""
LONGEST_DEMO = 60.0


def run(*command: str | Path, folder: Path, environment: dict[str, str] | None = None) -> str:
    """Run a command that has to succeed, and return what it printed."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"
    return done.stdout


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


def install(environment: Path, wheel: Path, *, extra: str | None = None, like: Path | None = None) -> Path:
    """Install the wheel in a virtual environment that has nothing, or what the other one has; returns its commands."""
    run(sys.executable, "-m", "venv", "--without-pip", environment, folder=environment.parent)
    if like is not None:
        packages = next(environment.glob("lib/python*/site-packages"))
        found = next(like.glob("lib/python*/site-packages"))
        shutil.copytree(found, packages, copy_function=os.link, dirs_exist_ok=True)
    pip = (sys.executable, "-m", "pip", "--python", environment / "bin" / "python")
    options = ("--quiet", "--no-compile", "--constraint", ROOT / "constraints.txt")
    wanted = str(wheel) if extra is None else f"{wheel}[{extra}]"
    run(*pip, "install", *options, wanted, folder=environment.parent)
    return environment / "bin"


@pytest.fixture(scope="module")
def environment(folder: Path) -> dict[str, str]:
    """The environment of a user who has set nothing up."""
    kept = ("PATH", "HOME", "TMPDIR", "LANG")
    found = {name: os.environ[name] for name in kept if name in os.environ}
    return found | {"CLEARWELL_DATA_DIR": str(folder / "data"), "CLEARWELL_LANGUAGE": "en"}


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


def test_the_wheel_alone_captures_and_finds(installed: Path, folder: Path, environment: dict[str, str]) -> None:
    def call(*words: str) -> str:
        return run(installed / "clearwell", *words, folder=folder, environment=environment)

    assert call("--version").split()[-1] == __version__
    call("ingest", "--group", "grp-1", "Backups are kept for ninety days in two regions.")
    assert "ninety days" in call("query", "--group", "grp-1", "How long do we keep backups?")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_wheel_alone_shows_the_meeting(
    installed: Path, folder: Path, environment: dict[str, str], language: str
) -> None:
    environment = {**environment, "CLEARWELL_LANGUAGE": language}
    steps = json.loads(run(installed / "clearwell", "demo", "--json", folder=folder, environment=environment))
    assert steps[-1]["kind"] == "summary"
    assert steps[-1]["memories"]
    assert steps[-1]["seconds"] < LONGEST_DEMO


def test_the_wheel_alone_runs_the_example_in_the_form_of_mem0(
    installed: Path, folder: Path, environment: dict[str, str]
) -> None:
    example = ROOT / "examples" / "mem0_assistant.py"
    assert "found: I am vegetarian" in run(installed / "python", example, folder=folder, environment=environment)


@pytest.mark.parametrize("extra", EXAMPLES)
def test_the_example_of_an_extra_recalls_its_first_run(
    wheel: Path, installed: Path, folder: Path, environment: dict[str, str], extra: str
) -> None:
    commands = install(folder / f"venv {extra}", wheel, extra=extra, like=installed.parent)
    empty = folder / f"empty {extra}"
    empty.mkdir()
    shutil.copy(ROOT / "examples" / EXAMPLES[extra], empty / "example.py")
    outputs = [run(commands / "python", "example.py", folder=empty, environment=environment) for _ in range(2)]
    assert ["⚡️" in output for output in outputs] == [False, True]
