"""Each adapter of a framework needs its own extra and no other framework, and says so."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
ADAPTERS = {
    "langchain": ("langchain", "langchain"),
    "langgraph": ("langgraph", "langgraph"),
    "openai_agents": ("agents", "openai-agents"),
    "pydantic_ai": ("pydantic_ai", "pydantic-ai"),
}
"""The package that an adapter imports, and its extra."""
FRAMEWORKS = {"agents", "langchain_core", "pydantic_ai"}


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("adapter", "package", "extra"), [(name, *needed) for name, needed in ADAPTERS.items()])
def test_missing_framework_names_the_extra(adapter: str, package: str, extra: str) -> None:
    ran = run(f"import sys; sys.modules[{package!r}] = None; import clearwell.adapters.{adapter}")
    assert ran.returncode == 1
    assert f'pip install "clearwell[{extra}]"' in ran.stderr.splitlines()[-1]
    assert extra in tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]


@pytest.mark.parametrize(("adapter", "own"), [("openai_agents", "agents"), ("pydantic_ai", "pydantic_ai")])
def test_adapter_imports_no_other_framework(adapter: str, own: str) -> None:
    ran = run(f"import sys, clearwell.adapters.{adapter}; print(*sys.modules)")
    assert ran.returncode == 0, ran.stderr
    assert {*ran.stdout.split()} & FRAMEWORKS == {own}
