"""Of its dependencies Clearwell uses only what they declare as public."""

import ast
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "src"


def test_no_private_module_of_a_dependency_is_imported() -> None:
    found = {
        f"{file.relative_to(SOURCES)}: {name}"
        for file in SOURCES.rglob("*.py")
        for name in _imported(file)
        if not name.startswith("clearwell") and any(_is_private(part) for part in name.split("."))
    }
    assert found == set()


def _imported(file: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def _is_private(part: str) -> bool:
    return part.startswith("_") and not part.startswith("__")
