"""Calls in an older form are answered with what to write instead."""

import inspect

import pytest

from clearwell.errors import NotAllowed
from clearwell.flow.review import ReviewService
from clearwell.records import Action, DecisionRequest, NewCapture
from clearwell.service import MemoryManager
from tests.path import AGENT, LONG, PERSON, Path

POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD


def test_a_positional_group_is_explained() -> None:
    memory = Path().memory
    with pytest.raises(TypeError, match=r"retrieve\(\) takes the group as the keyword argument 'group'") as refused:
        memory.retrieve("a question", "g")  # type: ignore[call-arg, unused-coroutine]
    assert 'retrieve(query, group="grp-123")' in str(refused.value)
    with pytest.raises(TypeError, match=r'promote\(content, group="grp-123"\)'):
        memory.promote("g", LONG)  # type: ignore[call-arg, unused-coroutine]
    with pytest.raises(TypeError, match=r'add_tombstone\(value, group="grp-123", reason="…"\)'):
        memory.add_tombstone("g", LONG)  # type: ignore[call-arg, unused-coroutine]


def test_the_older_keywords_are_explained() -> None:
    memory = Path().memory
    with pytest.raises(TypeError, match=r"acting_as\(by\)\.retrieve"):
        memory.retrieve("a question", group="g", by=AGENT)  # type: ignore[call-arg, unused-coroutine]
    with pytest.raises(TypeError, match="keyword argument 'group'"):
        memory.review.decide(DecisionRequest(action=Action.UNDO, id=Path().ids.new()), group_id="g")  # type: ignore[call-arg, unused-coroutine]


def test_a_text_instead_of_a_capture_is_explained() -> None:
    memory = Path().memory
    with pytest.raises(TypeError, match=r'capture\(NewCapture\(content="…", group_id="grp-123"\)\)'):
        memory.capture(LONG)  # type: ignore[arg-type, unused-coroutine]
    with pytest.raises(TypeError, match="NewCapture, which has the text and the group"):
        memory.capture(NewCapture(content=LONG), group="g")  # type: ignore[call-arg, unused-coroutine]
    with pytest.raises(TypeError, match=r"capture_many\(\[NewCapture\("):
        memory.capture_many([LONG, LONG])  # type: ignore[list-item, unused-coroutine]
    with pytest.raises(TypeError, match="check\\(NewCapture"):
        memory.check(content=LONG)  # type: ignore[call-arg, unused-coroutine]


def test_the_group_is_a_keyword_in_every_method() -> None:
    for service in (MemoryManager, ReviewService):
        for name, method in inspect.getmembers(service, inspect.isfunction):
            parameters = inspect.signature(method).parameters
            assert not name.startswith("__") or "group" not in parameters
            if not name.startswith("_"):
                assert "by" not in parameters or name == "acting_as"
                assert "group" not in parameters or parameters["group"].kind is inspect.Parameter.KEYWORD_ONLY, name
                texts = [one for one in parameters.values() if one.kind is POSITIONAL and one.annotation is str]
                assert len(texts) < 2 or name == "log_quarantine", f"the texts of {name} can be swapped"


async def test_a_program_without_a_caller_has_no_rights() -> None:
    path = Path()
    with pytest.raises(NotAllowed):
        await path.program.memory.retrieve("a question", group="g")
    with pytest.raises(NotAllowed):
        await path.program.review.insights(group="g")
    assert (await path.program.memory.acting_as(PERSON).retrieve("a question", group="g")).items == ()
