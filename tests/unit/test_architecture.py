"""docs/architecture.md is true: every path that it names exists."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "clearwell"
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
FOLDER_OR_FILE, MODULE = r"[a-z_]+(?:/[a-z_0-9]*)+(?:\.[a-z]+)?/?", r"[a-z]+\.(?:py|toml)"
PATH = re.compile(f"{FOLDER_OR_FILE}|{MODULE}")


def named_paths() -> list[str]:
    return [code for code in re.findall(r"`([^`\n]+)`", TEXT) if PATH.fullmatch(code)]


def test_every_named_path_exists() -> None:
    paths = named_paths()
    assert len(paths) > 50
    assert [path for path in paths if not (SOURCE / path).exists() and not (ROOT / path).exists()] == []


def test_every_package_is_described() -> None:
    packages = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file()}
    assert [package for package in sorted(packages) if f"`{package}/" not in TEXT] == []
