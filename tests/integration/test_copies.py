"""Rejecting and retracting name what still says the same, and withdraw it in the same step."""

import pytest

from clearwell.app import Clearwell
from clearwell.errors import Conflict, InvalidInput, NotAllowed
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.records import (
    Action,
    Admission,
    NewCapture,
    NewMemory,
    Principal,
    Right,
    SourceSelector,
)
from tests.insights import put_insight

PERSON = Principal.local()
AGENT = Principal(name="bot", rights=frozenset({Right.CAPTURE, Right.READ}), groups=frozenset({"g"}))
OPERATOR = Principal(name="operator", rights=frozenset({Right.ADMIN}))
VALUE = "The payment gateway must be restarted every night at three o'clock."
OTHER = "Nightly backups of the billing database now take eleven minutes instead of forty minutes."


def said(content: str, session: str = "s1") -> NewCapture:
    return NewCapture(content=content, group_id="g", session_id=session, agent_id="a1")


async def find(clearwell: Clearwell, query: str = VALUE) -> set[str]:
    found = await clearwell.memory.acting_as(AGENT).retrieve(query, group="g", options=RetrieveOptions(agent_id="a1"))
    return {item.content for item in found.items}


async def test_a_tombstone_names_the_memories_that_still_say_it(clearwell: Clearwell) -> None:
    memory = clearwell.memory.acting_as(PERSON)
    whole = await memory.promote(VALUE, group="g")
    part = await memory.promote(f"{OTHER} {VALUE.upper()}", group="g", agent_id="a1")
    await memory.promote(OTHER, group="g")
    rejected = await memory.add_tombstone(VALUE, reason="wrong", group="g")
    assert set(rejected.still_said) == {whole.id, part.id}
    assert (rejected.memories, rejected.decision_id) == ((), None)
    again = await memory.add_tombstone(VALUE, reason="wrong", withdraw=True, group="g")
    assert (again.id, set(again.memories), again.still_said) == (rejected.id, {whole.id, part.id}, ())
    assert await find(clearwell) == {OTHER}
    assert again.decision_id is not None
    await memory.lift_tombstone(again.id, group="g")
    await memory.review.undo(again.decision_id, group="g")
    assert VALUE in await find(clearwell)


async def test_only_a_person_withdraws_with_a_tombstone(clearwell: Clearwell) -> None:
    promoted = await clearwell.memory.acting_as(PERSON).promote(VALUE, group="g")
    with pytest.raises(NotAllowed):
        await clearwell.memory.acting_as(OPERATOR).add_tombstone(VALUE, reason="wrong", withdraw=True, group="g")
    named = await clearwell.memory.acting_as(OPERATOR).add_tombstone(VALUE, reason="wrong", group="g")
    assert named.still_said == (promoted.id,)


async def test_a_retraction_removes_the_copies_in_working_memory(clearwell: Clearwell) -> None:
    memory, agent = clearwell.memory.acting_as(PERSON), clearwell.memory.acting_as(AGENT)
    source = await agent.capture(said(VALUE), wait=True)
    beside = await agent.capture(said(OTHER, "s2"), wait=True)
    assert (source.admission, beside.admission) == (Admission.ADMITTED, Admission.ADMITTED)
    await memory.review.promote_row(source.id, NewMemory(content=""), group="g")
    selector = SourceSelector(source=source.id)
    preview = await memory.review.preview_retraction(selector, group="g")
    assert (len(preview.memories), preview.entries) == (1, (source.id,))
    done = await memory.review.retract(selector, token=preview.token, reason="wrong", group="g")
    assert done.removed == (source.id,)
    assert [entry.id for entry in await agent.working_memory(group="g")] == [beside.id]
    assert VALUE not in await find(clearwell)
    assert (await agent.capture(said(VALUE, "s3"), wait=True)).admission is Admission.ADMITTED


async def test_a_retraction_can_keep_what_was_said_from_coming_back(clearwell: Clearwell) -> None:
    memory, agent = clearwell.memory.acting_as(PERSON), clearwell.memory.acting_as(AGENT)
    source = await agent.capture(said(VALUE), wait=True)
    await memory.review.promote_row(source.id, NewMemory(content=""), group="g")
    selector = SourceSelector(session_id="s1")
    token = (await memory.review.preview_retraction(selector, group="g")).token
    with pytest.raises(InvalidInput):
        await memory.review.retract(selector, token=token, tombstones=True, group="g")
    await memory.review.retract(selector, token=token, tombstones=True, reason="made up", group="g")
    assert (await agent.capture(said(VALUE, "s3"), wait=True)).admission is Admission.REFUSED
    with pytest.raises(Conflict):
        await memory.promote(VALUE, group="g")


async def test_a_retraction_without_memories_removes_the_entries(clearwell: Clearwell) -> None:
    memory, agent = clearwell.memory.acting_as(PERSON), clearwell.memory.acting_as(AGENT)
    source = await agent.capture(said(VALUE), wait=True)
    selector = SourceSelector(agent_id="a1")
    token = (await memory.review.preview_retraction(selector, group="g")).token
    done = await memory.review.retract(selector, token=token, group="g")
    assert (done.memories, done.removed) == ((), (source.id,))
    assert await agent.working_memory(group="g") == []
    with pytest.raises(Conflict, match="No memory"):
        await memory.review.retract(selector, token=token, group="g")


async def test_a_rejected_insight_names_and_withdraws_what_says_the_same(clearwell: Clearwell) -> None:
    memory, agent = clearwell.memory.acting_as(PERSON), clearwell.memory.acting_as(AGENT)
    source = await agent.capture(said(VALUE), wait=True)
    insight_id = await put_insight(clearwell, "g", VALUE, [source.id])
    promoted = await memory.promote(VALUE, group="g")
    rejected = await memory.review.reject(insight_id, reason="wrong", group="g")
    assert (rejected.still_said, rejected.still_working) == ((promoted.id,), (source.id,))
    again = await memory.review.reject(insight_id, reason="wrong", withdraw=True, group="g")
    assert (again.memories, again.removed, again.still_said) == ((promoted.id,), (source.id,), ())
    decisions = {decision.id: decision.action for decision in await memory.review.decisions(group="g")}
    assert again.withdrawal_id is not None
    assert decisions[again.withdrawal_id] is Action.RETRACT
    assert await find(clearwell) == set()


async def test_a_paraphrase_of_a_retracted_value_is_flagged(clearwell: Clearwell) -> None:
    memory, agent = clearwell.memory.acting_as(PERSON), clearwell.memory.acting_as(AGENT)
    promoted = await memory.promote(VALUE, group="g")
    selector = SourceSelector(memory_id=promoted.id)
    preview = await memory.review.preview_retraction(selector, group="g")
    await memory.review.retract(selector, token=preview.token, group="g", reason="wrong", tombstones=True)
    again = await agent.capture(said("The payment gateway must be restarted each night at three."), wait=True)
    row = await memory.quarantine_row(again.id, group="g")
    assert "near_rejected" in row.flags
