"""Data never becomes code: nothing is unpickled, evaluated or made into a template."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
SOURCES: Final = ROOT / "src"
READERS_OF_CODE: Final = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "code"}
"""Modules whose formats contain code, or that run it."""
RUNNERS: Final = {"eval", "exec", "compile", "__import__"}
UNSAFE_METHODS: Final = {"from_string", "full_load", "unsafe_load", "import_string"}
"""Of Jinja, PyYAML and Werkzeug: code out of a text."""
UNSAFE_RULES: Final = {"S102", "S301", "S302", "S307", "S324", "S506", "S602", "S605", "S608", "S701"}
"""The rules of ruff for exec, pickle, marshal, eval, weak hashes, YAML, shells, SQL in strings, and Jinja."""


def find_unsafe(source: str) -> list[str]:
    """The uses of code out of data in a module."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found += [alias.name for alias in names if alias.name.split(".")[0] in READERS_OF_CODE]
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in READERS_OF_CODE:
                found.append(module)
            case ast.Call(func=ast.Name(id=name)) if name in RUNNERS:
                found.append(name)
            case ast.Call(func=ast.Attribute(attr=name)) if name in UNSAFE_METHODS:
                found.append(name)
            case (
                ast.keyword(arg="allow_pickle", value=ast.Constant(value=True))
                | ast.keyword(arg="shell", value=ast.Constant(value=True))
            ):
                found.append(str(node.arg))
    return found


def test_no_source_makes_code_out_of_data() -> None:
    found = {
        str(file.relative_to(SOURCES)): unsafe
        for file in SOURCES.rglob("*.py")
        if (unsafe := find_unsafe(file.read_text(encoding="utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from marshal import loads",
        "eval(text)",
        "exec(text)",
        "environment.from_string(text)",
        "np.load(path, allow_pickle=True)",
        "run(text, shell=True)",
    ],
)
def test_each_of_them_would_be_found(source: str) -> None:
    assert find_unsafe(source)


def test_the_rules_of_ruff_about_it_are_on() -> None:
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"]
    assert "S" in lint["select"]
    ignored = {*lint["ignore"], *lint.get("extend-ignore", ())}
    for path, rules in lint["per-file-ignores"].items():
        if path.startswith("src/"):
            ignored |= {*rules}
    assert not [rule for rule in ignored if any(unsafe.startswith(rule) for unsafe in UNSAFE_RULES)]
    excepted = [
        f"{file.relative_to(SOURCES)}: {rule}"
        for file in SOURCES.rglob("*.py")
        for rule in UNSAFE_RULES
        if f"noqa: {rule}" in file.read_text(encoding="utf-8")
    ]
    assert excepted == []


UNPICKLING: Final = """
import asyncio, collections, pickle, sys
found = []
sys.addaudithook(lambda event, args: found.append(args) if event == "pickle.find_class" else None)
from clearwell.models import OfflineEmbedder

async def use() -> None:
    embedder = OfflineEmbedder()
    await embedder.load()
    await embedder.embed(["The gate closes at nine.", "大门九点关闭。"])
    await embedder.close()

asyncio.run(use())
print(len(found))
pickle.loads(pickle.dumps(collections.OrderedDict))
print(len(found))
"""


def test_the_model_is_loaded_without_pickle() -> None:
    """The interpreter reports every class that an unpickler looks up, whoever unpickles; the last is a control."""
    ran = subprocess.run([sys.executable, "-c", UNPICKLING], check=True, capture_output=True, text=True)
    assert ran.stdout.split() == ["0", "1"]
