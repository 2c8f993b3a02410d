"""The wheel and the source archive: what is in them, and that the wheel alone is a working Clearwell."""

import json
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from clearwell import __version__
from tests.distribution.installation import ROOT, run

PACKAGE = ROOT / "src" / "clearwell"
LONGEST_DEMO = 60.0


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
