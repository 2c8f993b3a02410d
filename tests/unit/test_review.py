"""What may be decided on an insight and what that does, on twins: promote, reject, merge, snooze, undo, retract."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from clearwell.errors import Conflict, EmbedderUnavailable, InvalidInput, NotAllowed, NotFound
from clearwell.records import (
    Action,
    Contradiction,
    DecisionRequest,
    DecisionResult,
    IdempotencyKey,
    Insight,
    InsightSource,
    InsightState,
    Layer,
    NewCapture,
    NewMemory,
    SourceSelector,
    Support,
    Vector,
    Writer,
    stated_confidence,
)
from clearwell.testing import WordEmbedder
from tests.path import AGENT, LONG, OTHER, PERSON, Path, said

THIRD = "Customers in Japan are billed in yen since the second quarter, and no longer in dollars."


class Weak(WordEmbedder):
    """A model that can be switched off."""

    down = False

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.down:
            raise EmbedderUnavailable("embedder_unavailable", problem="down")
        return await super().embed(texts)


async def offered(path: Path, summary: str, *outputs: NewCapture) -> UUID:
    """An insight on these outputs, as a digest would show it."""
    ids = [(await path.memory.capture(one, wait=True)).id for one in outputs]
    now = path.clock.now()
    made = Insight(
        id=path.ids.new(),
        group_id="g",
        digest_id=path.ids.new(),
        version=1,
        state=InsightState.PENDING,
        summary=summary,
        written_by=Writer.EXTRACTIVE,
        sources=tuple([await _source(path, one) for one in ids]),
        contradictions=(),
        flags=(),
        support=Support(agents=1, sessions=1, days=1, rows=len(ids)),
        score=1.0,
        created_at=now,
        changed_at=now,
    )
    path.ledger.put(made)
    return made.id


async def _source(path: Path, log_id: UUID) -> InsightSource:
    row = await path.quarantine.get("g", log_id)
    assert row is not None
    capture = row.capture
    return InsightSource(
        log_id=log_id,
        agent_id=capture.agent_id,
        session_id=capture.session_id,
        node_id=capture.node_id,
        node_type=capture.node_type,
        occurred_at=capture.occurred_at or capture.created_at,
        confidence=stated_confidence(capture.metadata),
        admission=row.admission,
        content=capture.content,
        flags=row.flags,
    )


async def decide(path: Path, action: Action, insight_id: UUID, **more: object) -> DecisionResult:
    return await path.review.decide(DecisionRequest(action=action, id=insight_id, **more), group="g")  # type: ignore[arg-type]


async def insight(path: Path, insight_id: UUID) -> Insight:
    found = await path.review_store.insight("g", insight_id)
    assert found is not None
    return found


def verified(path: Path) -> list[str]:
    return [chunk.content for chunk in path.longterm.chunks if chunk.valid_to is None]


async def test_what_is_promoted_is_verified_judged_and_undone() -> None:
    path = Path()
    one = await offered(path, LONG, said(LONG))
    done = await decide(path, Action.PROMOTE, one)
    assert (done.status, done.already, verified(path)) == ("promoted", False, [LONG])
    (row,) = (source.log_id for source in (await insight(path, one)).sources)
    assert path.ledger.mark("g", row).judged_by == one
    undone = await decide(path, Action.UNDO, one)
    assert (undone.undone, verified(path), path.ledger.mark("g", row).judged_by) == (Action.PROMOTE, [], None)
    found = await insight(path, one)
    assert (found.state, found.version) == (InsightState.PENDING, 3)
    again = await decide(path, Action.PROMOTE, one)
    assert (again.already, verified(path)) == (False, [LONG])
    assert again.id != done.id


async def test_the_same_decision_again_is_the_same_answer_and_another_is_refused() -> None:
    path = Path()
    one = await offered(path, LONG)
    first = await decide(path, Action.PROMOTE, one)
    again = await decide(path, Action.PROMOTE, one, text=f"  {LONG}")
    assert (again.id, again.decision_id, again.already) == (first.id, first.decision_id, True)
    for action, more in ((Action.REJECT, {"reason": "no"}), (Action.SNOOZE, {})):
        with pytest.raises(Conflict) as refused:
            await decide(path, action, one, **more)
        assert refused.value.code == "insight_decided"
    for more in ({"text": OTHER}, {"agent_id": "a1"}):
        with pytest.raises(Conflict) as refused:
            await decide(path, Action.PROMOTE, one, **more)
        assert refused.value.code == "insight_promoted_otherwise"
        there = {"memory_id": str(first.id), "content": LONG, "agent_id": None, "state": "promoted"}
        assert refused.value.current | there == refused.value.current
    assert verified(path) == [LONG]


async def test_a_promoted_insight_may_still_replace_a_memory() -> None:
    path = Path()
    one, old = await offered(path, LONG), await path.memory.promote(OTHER, group="g")
    first = await decide(path, Action.PROMOTE, one)
    with pytest.raises(NotFound):
        await decide(path, Action.PROMOTE, one, supersedes=UUID(int=1))
    again = await decide(path, Action.PROMOTE, one, supersedes=old.id)
    assert (again.id, again.already, again.superseded, verified(path)) == (first.id, True, old.id, [LONG])
    repeated = await decide(path, Action.PROMOTE, one, supersedes=old.id)
    assert (repeated.decision_id, repeated.insight) == (again.decision_id, again.insight)
    undone = await decide(path, Action.UNDO, one)
    assert (undone.insight is not None and undone.insight.state, undone.memories) == (InsightState.PROMOTED, (old.id,))
    assert sorted(verified(path)) == sorted([LONG, OTHER])
    await decide(path, Action.UNDO, one)
    assert ((await insight(path, one)).state, verified(path)) == (InsightState.PENDING, [OTHER])


async def test_an_output_that_was_promoted_otherwise_is_not_promoted_again_in_silence() -> None:
    path = Path()
    row = (await path.memory.capture(said(LONG), wait=True)).id
    first = await path.review.promote_row(row, NewMemory(content=OTHER), group="g")
    for asked in (NewMemory(content=THIRD), NewMemory(content=""), NewMemory(content=OTHER, agent_id="a1")):
        for promote in (path.review.promote_row, path.review.promote_entry):
            with pytest.raises(Conflict) as refused:
                await promote(row, asked, group="g")
            assert refused.value.code == "promoted_otherwise"
            assert refused.value.current["content"] == OTHER
            assert refused.value.current["decision_id"] == str(first.decision_id)
    replaced = await path.review.promote_row(row, NewMemory(content=THIRD, supersedes=first.id), group="g")
    again = await path.review.promote_row(row, NewMemory(content=THIRD, supersedes=first.id), group="g")
    assert (again.id, again.decision_id, verified(path)) == (replaced.id, replaced.decision_id, [THIRD])
    assert replaced.decision_id is not None
    await path.review.undo(replaced.decision_id, group="g")
    assert verified(path) == [OTHER]


async def test_a_version_that_is_not_the_present_one_is_refused_with_what_changed() -> None:
    path = Path()
    one = await offered(path, LONG)
    await decide(path, Action.SNOOZE, one, version=1, days=2)
    with pytest.raises(Conflict) as stale:
        await decide(path, Action.PROMOTE, one, version=1)
    assert stale.value.code == "insight_stale"
    assert stale.value.current is not None
    assert (stale.value.current["version"], stale.value.current["action"]) == (2, "snooze")
    assert verified(path) == []


async def test_a_rejected_value_stays_out_until_that_is_undone() -> None:
    path = Path()
    one, same = await offered(path, LONG), await offered(path, LONG)
    done = await decide(path, Action.REJECT, one, reason="made up")
    assert done.tombstone_id is not None
    assert (await decide(path, Action.REJECT, one, reason="again")).already
    with pytest.raises(Conflict) as refused:
        await decide(path, Action.PROMOTE, same)
    assert refused.value.code == "promotion_rejected"
    await decide(path, Action.UNDO, one)
    assert (await decide(path, Action.PROMOTE, same)).status == "promoted"


async def test_what_only_quotes_a_source_is_not_promoted_but_may_be_said_again() -> None:
    path = Path()
    one = await offered(path, LONG, said(f"{OTHER} {LONG}"))
    done = await decide(path, Action.REJECT, one, reason="not worth keeping")
    (source,) = (await insight(path, one)).sources
    again = await path.memory.capture(replace(said(LONG), agent_id="a2"), wait=True)
    row = await path.quarantine.get("g", again.id)
    assert row is not None
    assert all(verdict.reason != "verdict_tombstone_rejected" for verdict in row.verdicts)
    for tried in (
        path.memory.promote(LONG, group="g"),
        path.memory.promote(f"> {LONG.upper()}\u200b", group="g", acknowledge=["hidden_text"]),
        path.review.promote_row(again.id, NewMemory(content=""), group="g"),
        path.review.promote_row(source.log_id, NewMemory(content=LONG), group="g"),
    ):
        with pytest.raises(Conflict) as refused:
            await tried
        assert refused.value.code == "promotion_rejected"
        assert f"tombstones/{done.tombstone_id}/lift" in refused.value.text()
    assert (await path.review.promote_row(source.log_id, NewMemory(content=""), group="g")).chunks >= 1
    assert done.tombstone_id is not None
    await path.memory.lift_tombstone(done.tombstone_id, group="g")
    assert (await path.memory.promote(LONG, group="g")).chunks == 1


async def test_what_nobody_can_read_is_neither_promoted_nor_a_reason() -> None:
    path = Path()
    one, two = await offered(path, LONG), await offered(path, OTHER)
    row = (await path.memory.capture(said(THIRD), wait=True)).id
    hidden = "\x1b[31m \u202e\u200b"
    for tried in (
        decide(path, Action.PROMOTE, one, text=hidden),
        decide(path, Action.MERGE, one, others=(two,), text=hidden),
        path.review.promote_row(row, NewMemory(content=hidden), group="g"),
        path.memory.promote(hidden, group="g"),
    ):
        with pytest.raises(InvalidInput) as refused:
            await tried
        assert refused.value.code == "text_unreadable"
    snoozed = await decide(path, Action.SNOOZE, one, days=1)
    assert snoozed.decision_id is not None
    for reason, code in (("a\x00b", "text_nul"), ("r" * 2001, "reason_large")):
        for said_so in (
            decide(path, Action.UNDO, one, reason=reason),
            decide(path, Action.REJECT, one, reason=reason),
            decide(path, Action.SNOOZE, one, reason=reason),
            path.review.undo(snoozed.decision_id, group="g", reason=reason),
            path.review.retract(SourceSelector(agent_id="a1"), token="x", reason=reason, group="g"),
            path.memory.add_tombstone(LONG, reason=reason, group="g"),
        ):
            with pytest.raises(InvalidInput) as refused:
                await said_so
            assert refused.value.code == code


async def test_a_rejection_needs_a_reason() -> None:
    path = Path()
    one = await offered(path, LONG)
    with pytest.raises(InvalidInput):
        await decide(path, Action.REJECT, one)
    assert (await insight(path, one)).state is InsightState.PENDING


async def test_what_a_memory_superseded_comes_back_with_the_undo_and_in_order_only() -> None:
    path = Path()
    first = await path.memory.promote(LONG, group="g")
    one, two = await offered(path, OTHER), await offered(path, THIRD)
    second = await decide(path, Action.PROMOTE, one, supersedes=first.id)
    assert (second.superseded, verified(path)) == (first.id, [OTHER])
    third = await decide(path, Action.PROMOTE, two, supersedes=second.id)
    with pytest.raises(Conflict) as later:
        await decide(path, Action.UNDO, one)
    assert later.value.code == "undo_superseding_first"
    assert later.value.current == {"decision_id": str(third.decision_id), "memory_id": str(third.id)}
    await decide(path, Action.UNDO, two)
    assert verified(path) == [OTHER]
    await decide(path, Action.UNDO, one)
    assert verified(path) == [LONG]


async def test_what_was_superseded_and_then_rejected_does_not_come_back() -> None:
    path = Path()
    first = await path.memory.promote(LONG, group="g")
    one = await offered(path, OTHER)
    await decide(path, Action.PROMOTE, one, supersedes=first.id)
    await path.memory.add_tombstone(LONG, reason="wrong all along", group="g")
    with pytest.raises(Conflict) as refused:
        await decide(path, Action.UNDO, one)
    assert refused.value.code == "undo_tombstoned"
    assert verified(path) == [OTHER], "an undo is whole or not at all"


async def test_a_memory_that_two_insights_hold_goes_with_the_last() -> None:
    path = Path()
    one, two = await offered(path, LONG), await offered(path, LONG)
    assert (await decide(path, Action.PROMOTE, one)).id == (await decide(path, Action.PROMOTE, two)).id
    await decide(path, Action.UNDO, one)
    assert verified(path) == [LONG]
    await decide(path, Action.UNDO, two)
    assert verified(path) == []


async def test_a_decision_is_undone_once_and_an_undo_never() -> None:
    path = Path()
    one = await offered(path, LONG)
    done = await decide(path, Action.PROMOTE, one)
    assert done.decision_id is not None
    undone = await path.review.undo(done.decision_id, group="g", reason="too early")
    assert undone.decision_id is not None
    for decision_id, code in ((done.decision_id, "undo_twice"), (undone.decision_id, "undo_of_undo")):
        with pytest.raises(Conflict) as refused:
            await path.review.undo(decision_id, group="g")
        assert refused.value.code == code
    with pytest.raises(Conflict) as nothing:
        await decide(path, Action.UNDO, one)
    assert nothing.value.code == "undo_nothing"
    with pytest.raises(NotFound):
        await path.review.undo(UUID(int=1), group="g")


async def test_a_later_decision_on_the_insight_is_undone_first() -> None:
    path = Path()
    one, two = await offered(path, LONG, said(LONG)), await offered(path, OTHER, said(OTHER))
    merged = await decide(path, Action.MERGE, one, others=(two,))
    assert merged.decision_id is not None
    await decide(path, Action.PROMOTE, one)
    with pytest.raises(Conflict) as later:
        await path.review.undo(merged.decision_id, group="g")
    assert later.value.code == "undo_later_first"


async def test_merged_insights_are_one_and_are_separated_as_they_were() -> None:
    path = Path()
    one = await offered(path, LONG, said(LONG))
    two = await offered(path, OTHER, said(OTHER))
    before = await insight(path, one)
    await decide(path, Action.MERGE, one, others=(two, two, one))
    both = await insight(path, one)
    assert (both.summary, len(both.sources), both.support.rows) == (f"{LONG}\n{OTHER}", 2, 2)
    assert ((await insight(path, two)).state, (await insight(path, two)).merged_into) == (InsightState.MERGED, one)
    with pytest.raises(Conflict) as gone:
        await decide(path, Action.PROMOTE, two)
    assert gone.value.code == "insight_merged"
    await decide(path, Action.UNDO, one)
    after = await insight(path, one)
    assert (after.summary, after.sources, after.written_by) == (before.summary, before.sources, before.written_by)
    assert (await insight(path, two)).state is InsightState.PENDING
    for others in ((), (one,), tuple(UUID(int=number) for number in range(1000, 1051))):
        with pytest.raises(InvalidInput):
            await decide(path, Action.MERGE, one, others=others)


async def test_a_dossier_leaves_out_contradictions_with_memories_that_are_no_longer_valid() -> None:
    path = Path()
    known = await path.memory.promote(OTHER, group="g")
    one = await offered(path, LONG, said(LONG))
    (row,) = (source.log_id for source in (await insight(path, one)).sources)
    against = Contradiction(of=row, against=known.id, layer=Layer.LONGTERM, reason="conflict_number")
    path.ledger.put(replace(await insight(path, one), contradictions=(against,)))
    assert (await path.review.insight(one, group="g")).insight.contradictions == (against,)
    await path.memory.promote(f"{OTHER} No longer.", group="g", supersedes=known.id)
    assert (await path.review.insight(one, group="g")).insight.contradictions == ()
    await decide(path, Action.REJECT, one, reason="wrong")
    rejected = await path.review.insight(one, group="g")
    assert (rejected.rejected, "near_rejected" in rejected.flags) == (None, False)


async def test_a_merge_keeps_the_contradictions_of_all_and_its_undo_gives_back_what_each_had() -> None:
    path = Path()
    one, two = await offered(path, LONG, said(LONG)), await offered(path, OTHER, said(OTHER))
    against = Contradiction(of=one, against=two, layer=Layer.QUARANTINE, reason="conflict_number")
    disputed = replace(await insight(path, two), contradictions=(against,), flags=("contradiction",))
    path.ledger.put(replace(disputed, support=Support(agents=7, sessions=7, days=7, rows=7)))
    before = [await insight(path, each) for each in (one, two)]
    await decide(path, Action.MERGE, one, others=(two,))
    both = await insight(path, one)
    assert (both.contradictions, both.flags) == ((against,), ("contradiction",))
    await decide(path, Action.UNDO, one)
    await decide(path, Action.MERGE, two, others=(one,))
    await decide(path, Action.UNDO, two)
    after = [await insight(path, each) for each in (one, two)]
    same = [
        replace(now, version=was.version, changed_at=was.changed_at) for now, was in zip(after, before, strict=True)
    ]
    assert same == before


async def test_an_undo_gives_back_the_state_before() -> None:
    path = Path()
    one, two = await offered(path, LONG), await offered(path, OTHER)
    until = (await decide(path, Action.SNOOZE, one, days=7)).insight
    assert until is not None
    for action, more in ((Action.PROMOTE, {}), (Action.REJECT, {"reason": "no"}), (Action.MERGE, {"others": (two,)})):
        await decide(path, action, one, **more)
        await decide(path, Action.UNDO, one)
        found = await insight(path, one)
        assert (found.state, found.snoozed_until) == (InsightState.SNOOZED, until.snoozed_until)
    await decide(path, Action.MERGE, two, others=(one,))
    await decide(path, Action.UNDO, two)
    assert (await insight(path, one)).state is InsightState.SNOOZED
    await decide(path, Action.PROMOTE, one)
    path.clock.forward(timedelta(days=8))
    await decide(path, Action.UNDO, one)
    assert (await insight(path, one)).state is InsightState.PENDING


async def test_a_snoozed_insight_can_be_decided_on_and_wakes_by_itself() -> None:
    path = Path()
    one = await offered(path, LONG)
    await decide(path, Action.SNOOZE, one, days=2)
    assert await path.review.insights(group="g", state=InsightState.PENDING) == []
    path.clock.forward(timedelta(days=2))
    (found,) = await path.review.insights(group="g", state=InsightState.PENDING)
    assert (found.id, found.snoozed_until) == (one, None)
    for bad in ({"days": 0}, {"days": 4000}, {"until": path.clock.now()}):
        with pytest.raises(InvalidInput):
            await decide(path, Action.SNOOZE, one, **bad)


async def test_without_the_model_a_decision_stands_and_its_memory_follows() -> None:
    model = Weak()
    path = Path(embedder=model)
    one, two = await offered(path, LONG), await offered(path, OTHER)
    model.down = True
    assert (await decide(path, Action.PROMOTE, one)).status == "promoting"
    await decide(path, Action.PROMOTE, two)
    await decide(path, Action.UNDO, two)
    assert await path.promotion_completer.complete_due() == 0
    model.down = False
    path.clock.forward(timedelta(minutes=1))
    assert (await path.promotion_completer.complete_due(), verified(path)) == (1, [LONG])


async def test_many_decisions_have_a_result_each_and_are_made_once() -> None:
    path = Path()
    one, two = await offered(path, LONG), await offered(path, OTHER)
    wanted = [DecisionRequest(action=Action.PROMOTE, id=one), DecisionRequest(action=Action.REJECT, id=two)]
    request = IdempotencyKey(principal="ann", route="decide", key="k", request_hash=b"h")
    first = await path.review.decide_many(wanted, group="g", idempotency_key=request)
    again = await path.review.decide_many(wanted, group="g", idempotency_key=request)
    assert [type(each).__name__ for each in first] == ["DecisionResult", "InvalidInput"]
    assert [type(each).__name__ for each in again] == ["DecisionResult", "Conflict"]
    assert again[0] == first[0]
    assert len(path.longterm.promotions) == 1


async def test_a_repeated_request_is_answered_from_what_was_kept() -> None:
    path = Path()
    one = await offered(path, LONG)
    request = IdempotencyKey(principal="ann", route="decide", key="k", request_hash=b"h")
    wanted = DecisionRequest(action=Action.SNOOZE, id=one, days=1)
    first = await path.review.decide(wanted, group="g", idempotency_key=request)
    again = await path.review.decide(wanted, group="g", idempotency_key=request)
    assert (again.replayed, again.decision_id, again.insight) == (True, first.decision_id, first.insight)
    assert len(await path.review.decisions(group="g")) == 1


async def test_agents_decide_nothing_and_read_nothing_of_review() -> None:
    path = Path()
    one = await offered(path, LONG)
    for action in Action:
        with pytest.raises(NotAllowed):
            await path.review.acting_as(AGENT).decide(DecisionRequest(action=action, id=one), group="g")
    with pytest.raises(NotAllowed):
        await path.review.acting_as(AGENT).insights(group="g")
    with pytest.raises(NotAllowed):
        await path.review.acting_as(AGENT).promote_row(one, NewMemory(content=""), group="g")
    assert [event.action for event in path.audit.events] == ["refused"] * 8
    assert path.ledger.decisions("g") == []


async def test_the_last_decision_of_a_person_that_can_be_undone() -> None:
    path = Path()
    one, two = await offered(path, LONG), await offered(path, OTHER)
    assert await path.review.find_undoable(group="g") is None
    first = await decide(path, Action.SNOOZE, one, days=7)
    second = await decide(path, Action.REJECT, two, reason="no")
    found = await path.review.find_undoable(group="g")
    assert found is not None
    assert found.id == second.decision_id
    await decide(path, Action.UNDO, two)
    found = await path.review.find_undoable(group="g")
    assert found is not None
    assert found.id == first.decision_id
    by_another = path.review.acting_as(replace(PERSON, name="key:another"))
    assert await by_another.find_undoable(group="g") is None
