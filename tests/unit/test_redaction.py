"""Who may not read memory learns of conflicts and tombstones, and none of their words."""

import pytest

from clearwell.errors import InvalidInput
from clearwell.flow import limits
from clearwell.records import Principal, Right
from tests.path import AGENT, LONG, PERSON, Path, said

MUTE = Principal(name="mute", rights=frozenset({Right.CAPTURE}), groups=frozenset({"g"}))
FIRST = "The budget of the harbour project is 40 million euros, as the council decided in spring."
OTHERWISE = "The budget of the harbour project is 55 million euros, as the council decided in spring."


async def test_the_reason_of_a_tombstone_is_for_reviewers() -> None:
    path = Path()
    await path.memory.add_tombstone(LONG, reason="spread by Mallory", group="g")
    for by, words in ((PERSON, True), (AGENT, False), (MUTE, False)):
        checked = await path.memory.acting_as(by).check(said())
        kept = await path.memory.acting_as(by).capture(said(), wait=True)
        for verdicts in (checked.verdicts, kept.verdicts):
            shown = str([(one.explanation("en"), one.explanation("zh"), one.params) for one in verdicts])
            assert ("Mallory" in shown) is words
            assert "rejected" in shown


async def test_the_words_of_a_conflicting_entry_are_for_readers() -> None:
    path = Path()
    other = await path.memory.acting_as(AGENT).capture(said(FIRST), wait=True)
    for by, words in ((AGENT, True), (MUTE, False)):
        verdicts = (await path.memory.acting_as(by).check(said(OTHERWISE))).verdicts
        shown = str([(one.explanation("en"), one.explanation("zh"), dict(one.params)) for one in verdicts])
        assert str(other.id) in shown
        assert ("40" in shown.replace(str(other.id), "")) is words


@pytest.mark.parametrize("group", [" ", "\u3000", "a\u200bb", "g\u202e", "x\n", "\ufeffg"])
def test_a_group_that_cannot_be_told_from_another_is_refused(group: str) -> None:
    with pytest.raises(InvalidInput):
        limits.require_group(group)
    assert limits.require_group("项目 1") == "项目 1"
