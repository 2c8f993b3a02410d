"""Each extra in an environment of its own, with its example: ``make test-extras``.

They take minutes, most of which pip needs, so ``make test`` leaves them out. The environments begin with the files of
the one that has the wheel alone, so that they are clean as well.
"""

import shutil
from pathlib import Path

import pytest

from tests.distribution.installation import ROOT, install, run

EXAMPLES = {
    "langchain": "langchain_agent.py",
    "langgraph": "langgraph_council.py",
    "openai-agents": "openai_agents_planner.py",
    "pydantic-ai": "pydantic_ai_support.py",
}
"""The example of each extra."""


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
