"""docs/architecture.md is true: every path and every member of a class that it names exists."""

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "clearwell"
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
FOLDER_OR_FILE, MODULE = r"[a-z_]+(?:/[a-z_0-9]*)+(?:\.[a-z]+)?/?", r"[a-z]+\.(?:py|toml)"
PATH = re.compile(f"{FOLDER_OR_FILE}|{MODULE}")
MEMBER = re.compile(r"([A-Z][A-Za-z]+)\.([a-z_]+)(?:\(\))?")


def named_paths() -> list[str]:
    return [code for code in re.findall(r"`([^`\n]+)`", TEXT) if PATH.fullmatch(code)]


def test_every_named_path_exists() -> None:
    paths = named_paths()
    assert len(paths) > 50
    assert [path for path in paths if not (SOURCE / path).exists() and not (ROOT / path).exists()] == []


def list_members() -> dict[str, set[str]]:
    """The names of the methods of each class, and of the attributes that they set."""
    members: defaultdict[str, set[str]] = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for node in (one for one in nodes if isinstance(one, ast.ClassDef)):
            for inner in ast.walk(node):
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    members[node.name].add(inner.name)
                elif isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store):
                    members[node.name].add(inner.attr)
    return members


def test_every_named_member_exists() -> None:
    members = list_members()
    named = [found.groups() for code in re.findall(r"`([^`\n]+)`", TEXT) if (found := MEMBER.fullmatch(code))]
    assert len(named) > 20
    assert [f"{owner}.{name}" for owner, name in named if name not in members[owner]] == []


def test_every_package_is_described() -> None:
    packages = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file()}
    assert [package for package in sorted(packages) if f"`{package}/" not in TEXT] == []


def list_unnamed_modules(package: Path) -> list[str]:
    """The modules and packages in a package that its docstring does not name."""
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    inner = {path.stem for path in package.glob("*.py") if path.stem != "__init__"}
    inner |= {path.parent.name for path in package.glob("*/__init__.py")}
    return [name for name in sorted(inner) if f"``{name}``" not in docstring]


def test_each_stage_names_its_modules() -> None:
    packages = [SOURCE / name for name in ("sync", "middleware", "client")]
    packages += [path.parent for path in sorted((SOURCE / "flow").rglob("__init__.py"))]
    unnamed = {str(package.relative_to(SOURCE)): list_unnamed_modules(package) for package in packages}
    assert {package: names for package, names in unnamed.items() if names} == {}
