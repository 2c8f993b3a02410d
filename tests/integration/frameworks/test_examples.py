"""The examples of the frameworks, run as a reader runs them, on real servers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clearwell.settings import Settings

EXAMPLES = Path(__file__).parents[3] / "examples"
HOW_TO = EXAMPLES.parent / "docs" / "how-to"
PAGES = {
    "langgraph_council.py": "langgraph",
    "langchain_agent.py": "langchain",
    "mem0_assistant.py": "mem0",
    "openai_agents_planner.py": "openai-agents",
    "pydantic_ai_support.py": "pydantic-ai",
}
LONGEST = 40


def run_example(name: str, settings: Settings) -> str:
    """Run an example that has to succeed, and return what it printed."""
    assert settings.database_url is not None
    assert settings.redis_url is not None
    environment = {name: value for name, value in os.environ.items() if name != "MODEL"} | {
        "CLEARWELL_DATABASE_URL": settings.database_url.get_secret_value(),
        "CLEARWELL_REDIS_URL": settings.redis_url.get_secret_value(),
        "CLEARWELL_DATA_DIR": str(settings.data_dir),
    }
    command = [sys.executable, "-W", "error", str(EXAMPLES / name)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_council_recalls_its_last_meeting(settings: Settings) -> None:
    first = run_example("langgraph_council.py", settings)
    assert "⚡️" not in first
    second = run_example("langgraph_council.py", settings)
    history = second.partition("## 历史上下文 / History\n")[2].partition("\n\n")[0]
    assert "⚡️ Unverified" in history
    assert "The billing service moves to PostgreSQL 18 in January" in history
    assert "is supported" in second


def test_agent_reads_what_it_said_before(settings: Settings) -> None:
    first = run_example("langchain_agent.py", settings)
    assert "<memory" not in first
    second = run_example("langchain_agent.py", settings)
    assert "⚡️ Unverified" in second
    assert ">Version 4.2 is released on Thursday at noon" in second


def test_planner_reads_what_it_said_before(settings: Settings) -> None:
    first = run_example("openai_agents_planner.py", settings)
    assert "<memory" not in first
    second = run_example("openai_agents_planner.py", settings)
    assert "⚡️ Unverified" in second
    assert ">The invoices are migrated on Friday at six in the evening" in second


def test_supporter_reads_what_it_said_before(settings: Settings) -> None:
    first = run_example("pydantic_ai_support.py", settings)
    assert "<memory" not in first
    second = run_example("pydantic_ai_support.py", settings)
    assert "⚡️ Unverified" in second
    assert ">Exports are slow because the search index is built again" in second


def test_assistant_finds_what_it_was_told(settings: Settings) -> None:
    assert "found: I am vegetarian" in run_example("mem0_assistant.py", settings)
    assert "NONE quarantine - I am vegetarian" in run_example("mem0_assistant.py", settings)


@pytest.mark.parametrize(("name", "page"), PAGES.items())
def test_pages_show_the_whole_example(name: str, page: str) -> None:
    code = (EXAMPLES / name).read_text(encoding="utf-8")
    for suffix in ("md", "zh.md"):
        assert f"```python\n{code}```\n" in (HOW_TO / f"{page}.{suffix}").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_examples_are_short(name: str) -> None:
    assert len((EXAMPLES / name).read_text(encoding="utf-8").splitlines()) <= LONGEST
