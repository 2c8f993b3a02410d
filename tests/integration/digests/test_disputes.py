"""An output against an insight that nobody has decided on: both become one insight, which a person decides."""

import pytest

from clearwell.app import Clearwell
from clearwell.errors import Conflict
from clearwell.records import Digest, InsightState, NewCapture
from clearwell.worker import run_due_digests
from tests.path import PERSON

AGREED = (
    ("a1", "The cutover of the northern zone of the telemetry network is planned for 22 October."),
    ("a2", "According to the plan, the telemetry of the northern zone is cut over on 22 October."),
)
AGAINST = ("a3", "The northern zone of the telemetry network is cut over on 29 October, says the project office.")


async def digest(clearwell: Clearwell, *said: tuple[str, str]) -> Digest:
    memory = clearwell.memory.acting_as(PERSON)
    for agent, content in said:
        new = NewCapture(content=content, group_id="g", agent_id=agent, session_id=f"s-{agent}", node_id="n")
        await memory.capture(new, wait=True)
    asked, _ = await memory.request_digest(group="g")
    assert await run_due_digests(clearwell) == 1
    return await memory.digest(asked)


async def test_an_output_against_an_undecided_insight_joins_it_in_one_with_sides(clearwell: Clearwell) -> None:
    (agreed,) = (await digest(clearwell, *AGREED)).insights
    assert agreed.sides == ()
    (dispute,) = (await digest(clearwell, AGAINST)).insights
    assert "contradiction" in dispute.flags
    assert {source.agent_id for source in dispute.sources} == {"a1", "a2", "a3"}
    assert sorted(len(side.log_ids) for side in dispute.sides) == [1, 2]
    assert [note.code for note in dispute.notes] == ["insight_replaces"]
    review = clearwell.memory.acting_as(PERSON).review
    earlier = (await review.insight(agreed.id, group="g")).insight
    assert (earlier.state, earlier.merged_into, earlier.version) == (InsightState.MERGED, dispute.id, 2)
    with pytest.raises(Conflict):
        await review.promote(agreed.id, group="g")
    promoted = await review.promote(dispute.id, group="g", side=1)
    assert promoted.insight is not None
    assert promoted.insight.state is InsightState.PROMOTED


async def test_an_insight_that_was_decided_meanwhile_stays_decided(clearwell: Clearwell) -> None:
    (agreed,) = (await digest(clearwell, *AGREED)).insights
    review = clearwell.memory.acting_as(PERSON).review
    await review.promote(agreed.id, group="g")
    await digest(clearwell, AGAINST)
    assert (await review.insight(agreed.id, group="g")).insight.state is InsightState.PROMOTED
