"""The README's Python, run as it is printed."""

import ast
import re
from inspect import CO_COROUTINE
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from clearwell.app import Clearwell
from clearwell.records import InsightState, NewCapture, NewMemory, Principal
from tests.insights import put_insight

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PERSON = Principal.local("ann")


def printed(mark: str) -> CodeType:
    """The block that has this in it. Its ``await`` stands outside of any function, as in a notebook."""
    (block,) = [one for one in PYTHON.findall(README) if mark in one]
    code: CodeType = compile(block, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return code


async def run(code: CodeType, **names: Any) -> dict[str, Any]:
    assert code.co_flags & CO_COROUTINE
    await FunctionType(code, names)()
    return names


async def test_review_from_python(clearwell: Clearwell) -> None:
    said = NewCapture(
        group_id="grp-123",
        session_id="meeting-1",
        agent_id="architect",
        content="The team decided to keep the billing database on PostgreSQL for another year.",
    )
    row = (await clearwell.memory.acting_as(PERSON).capture(said, wait=True)).id
    await clearwell.memory.acting_as(PERSON).review.promote_row(row, NewMemory(content=""), group="grp-123")
    insight = await put_insight(clearwell, "grp-123", "Lunch is served at noon in the hall of the museum.", [row])
    names = await run(printed("memory.review"), memory=clearwell.memory.acting_as(PERSON))
    assert names["done"].status == "promoted"
    assert [one.memory_id for one in names["preview"].memories] != []
    (rejected,) = await clearwell.memory.acting_as(PERSON).review.insights(group="grp-123", state=InsightState.REJECTED)
    assert rejected.id == insight
    assert [one.action for one in await clearwell.memory.acting_as(PERSON).review.decisions(group="grp-123")] == [
        "retract",
        "reject",
        "snooze",
        "undo",
        "promote",
        "promote",
    ]
