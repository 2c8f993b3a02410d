"""The library's review: each decision by its name is the one that ``decide`` makes."""

from datetime import timedelta
from uuid import UUID

import pytest

from clearwell.adapters.http.api.insights import read_decision
from clearwell.errors import Conflict, InvalidInput
from clearwell.records import Action, DecisionRequest, InsightState
from tests.path import LONG, OTHER, PERSON, Path, said
from tests.unit.test_review import insight, offered, verified


async def state(path: Path, insight_id: UUID) -> InsightState:
    return (await insight(path, insight_id)).state


async def test_one_insight_is_promoted_in_other_words_and_taken_back() -> None:
    path = Path()
    review, one = path.memory.review, await offered(path, LONG, said(LONG))
    await review.acting_as(PERSON).promote(one, group="g", text=OTHER, version=1)
    assert verified(path) == [OTHER]
    undone = await review.acting_as(PERSON).undo_last(one, group="g", reason="too early")
    assert (undone.undone, verified(path)) == (Action.PROMOTE, [])
    with pytest.raises(Conflict, match="version"):
        await review.acting_as(PERSON).reject(one, group="g", reason="no", version=1)


async def test_insights_are_merged_snoozed_and_rejected() -> None:
    path = Path()
    review = path.memory.review
    first, second, third = [await offered(path, text) for text in (LONG, OTHER, "Something else that was said.")]
    await review.acting_as(PERSON).merge(first, [second], group="g", text="Both of them.")
    assert ((await insight(path, first)).summary, await state(path, second)) == ("Both of them.", InsightState.MERGED)
    later = path.clock.now() + timedelta(days=2)
    await review.acting_as(PERSON).snooze(first, group="g", until=later)
    assert (await insight(path, first)).snoozed_until == later
    await review.acting_as(PERSON).reject(third, group="g", reason="outdated")
    assert await state(path, third) is InsightState.REJECTED


async def test_a_snooze_with_two_dates_and_a_long_reason_are_refused() -> None:
    path = Path()
    review, one = path.memory.review, await offered(path, LONG)
    with pytest.raises(InvalidInput, match="until and days cannot be combined"):
        await review.acting_as(PERSON).snooze(one, group="g", days=3, until=path.clock.now() + timedelta(days=2))
    with pytest.raises(InvalidInput, match="Shorten it"):
        await review.acting_as(PERSON).reject(one, group="g", reason="x" * 5000)


def test_an_unknown_action_is_refused_with_the_list_of_actions() -> None:
    problem = read_decision({"id": str(UUID(int=1)), "action": "retract"})
    assert isinstance(problem, InvalidInput)
    assert "promote, reject, merge, snooze or undo" in problem.text("en")
    undo = read_decision({"id": str(UUID(int=1)), "action": "undo"})
    assert isinstance(undo, DecisionRequest)
    assert undo.action is Action.UNDO
