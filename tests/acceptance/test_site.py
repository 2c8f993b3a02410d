"""The documentation site builds without a warning, and its pages need nothing from another server."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOADED = re.compile(r'<(?:script|img|iframe|source)[^>]* src="(?:https?:)?//|<link[^>]* href="(?:https?:)?//')


def build(site: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(site)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A missing page, a broken link or a broken anchor is a warning, and in strict mode a warning is a failure."""
    folder = tmp_path_factory.mktemp("site")
    built = build(folder)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_the_reference_is_up_to_date() -> None:
    command = [sys.executable, "scripts/reference.py", "--check"]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert checked.returncode == 0, checked.stderr


def test_both_languages_have_every_page(site: Path) -> None:
    pages = {path.relative_to(site).as_posix() for path in site.rglob("index.html")}
    english = {page for page in pages if not page.startswith("zh/")}
    assert {f"zh/{page}" for page in english} == pages - english
    assert "architecture/index.html" in english


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = [path.relative_to(site) for path in site.rglob("*.html") if LOADED.search(path.read_text(encoding="utf-8"))]
    assert pages == []


def test_pages_can_be_searched_in_chinese(site: Path) -> None:
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    assert '"zh/"' in index
    assert "\\\\u4e00-\\\\u9fff" in index or "一-鿿" in index
