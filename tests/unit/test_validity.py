"""When a memory holds: never two for one, never none in between, and later it can be told what held when."""

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from clearwell.errors import Conflict
from clearwell.flow.context.builder import ContextRequest
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.records import Action, Label, NewMemory, Principal, PromotionResult, Right
from clearwell.views.memories import RetrievedMemoryView
from tests.path import LONG, OTHER, Path, said
from tests.unit.test_review import THIRD, Weak, decide, offered, verified

STEP = timedelta(minutes=10)


async def verified_at(path: Path, at: datetime) -> set[str]:
    found = await path.memory.retrieve("payment backups billed", group="g", options=RetrieveOptions(as_of=at))
    return {item.content for item in found.items}


def later(path: Path) -> datetime:
    """A moment of its own, and time before and after it."""
    path.clock.forward(STEP)
    now = path.clock.now()
    path.clock.forward(STEP)
    return now


async def test_what_is_replaced_without_the_model_holds_until_the_other_is_there() -> None:
    model = Weak()
    path = Path(embedder=model)
    old = await path.memory.promote(LONG, group="g")
    model.down = True
    new = await path.memory.promote(OTHER, group="g", supersedes=old.id)
    assert (new.waiting, verified(path)) == (True, [LONG])
    between = later(path)
    model.down = False
    assert (await path.promotion_completer.complete_due(), verified(path)) == (1, [OTHER])
    after = later(path)
    assert (await verified_at(path, between), await verified_at(path, after)) == ({LONG}, {OTHER})
    assert new.decision_id is not None
    await path.review.undo(new.decision_id, group="g")
    assert verified(path) == [LONG]


async def test_a_waiting_replacement_that_is_undone_changes_nothing() -> None:
    model = Weak()
    path = Path(embedder=model)
    old = await path.memory.promote(LONG, group="g")
    one = await offered(path, OTHER)
    model.down = True
    assert (await decide(path, Action.PROMOTE, one, supersedes=old.id)).status == "promoting"
    await decide(path, Action.UNDO, one)
    model.down = False
    path.clock.forward(STEP)
    assert (await path.promotion_completer.complete_due(), verified(path)) == (0, [LONG])


async def test_only_one_may_wait_to_replace_a_memory() -> None:
    model = Weak()
    path = Path(embedder=model)
    old = await path.memory.promote(LONG, group="g")
    model.down = True
    first = await path.memory.promote(OTHER, group="g", supersedes=old.id)
    assert (await path.memory.promote(OTHER, group="g", supersedes=old.id)).already
    with pytest.raises(Conflict) as refused:
        await path.memory.promote(THIRD, group="g", supersedes=old.id)
    assert refused.value.code == "supersedes_waiting"
    assert refused.value.current["memory_id"] == str(first.id)


async def test_as_of_tells_what_was_verified_then_also_where_that_was_undone() -> None:
    path = Path()
    old = await path.memory.promote(LONG, group="g")
    first = later(path)
    new = await path.memory.promote(OTHER, group="g", supersedes=old.id)
    replaced = later(path)
    assert new.decision_id is not None
    await path.review.undo(new.decision_id, group="g")
    undone = later(path)
    again = await path.memory.promote(THIRD, group="g", supersedes=old.id)
    second = later(path)
    assert again.decision_id is not None
    await path.review.undo(again.decision_id, group="g")
    last = later(path)
    told = [await verified_at(path, moment) for moment in (first, replaced, undone, second, last)]
    assert told == [{LONG}, {OTHER}, {LONG}, {THIRD}, {LONG}]


async def test_what_waits_and_is_replaced_or_withdrawn_waits_again_after_the_undo() -> None:
    model = Weak()
    path = Path(embedder=model)
    model.down = True
    old = await path.memory.promote(LONG, group="g")
    new = await path.memory.promote(OTHER, group="g", supersedes=old.id)
    path.ledger.delays[old.promotion_id] = replace(path.ledger.delays[old.promotion_id], until=path.clock.now() + STEP)
    model.down = False
    assert (await path.promotion_completer.complete_due(), verified(path)) == (1, [OTHER])
    path.clock.forward(2 * STEP)
    assert (await path.promotion_completer.complete_due(), verified(path)) == (0, [OTHER])
    undone = await path.review.undo(decision_of(new.decision_id), group="g")
    assert (undone.memories, verified(path)) == ((old.id,), [])
    assert (await path.promotion_completer.complete_due(), verified(path)) == (1, [LONG])


async def test_two_texts_at_once_do_not_both_replace_a_memory() -> None:
    path = Path()
    old = await path.memory.promote(LONG, group="g")
    texts = [NewMemory(content=text, supersedes=old.id) for text in (OTHER, THIRD, OTHER)]
    results = await path.memory.promote_many([*texts, NewMemory(content=OTHER, supersedes=UUID(int=1))], group="g")
    assert [getattr(one, "code", None) for one in results] == [None, "supersedes_withdrawn", None, "memory_not_found"]
    assert (results[0], verified(path)) == (replace(results[2], already=False, recorded=True), [OTHER])  # type: ignore[type-var]


async def promoted_row(path: Path, text: str = LONG) -> tuple[UUID, PromotionResult]:
    row = (await path.memory.capture(said(text), wait=True)).id
    return row, await path.review.promote_row(row, NewMemory(content=""), group="g")


def decision_of(given: UUID | None) -> UUID:
    assert given is not None
    return given


async def test_what_was_replaced_and_promoted_again_is_one_memory_after_the_undo() -> None:
    path = Path()
    old = await path.memory.promote(LONG, group="g")
    new = await path.memory.promote(OTHER, group="g", supersedes=old.id)
    again = await path.memory.promote(LONG, group="g")
    assert sorted(verified(path)) == sorted([LONG, OTHER])
    await path.review.undo(decision_of(new.decision_id), group="g")
    assert verified(path) == [LONG]
    back = await path.review.undo(decision_of(again.decision_id), group="g")
    assert (back.memories, verified(path)) == ((old.id,), [LONG])


async def test_each_persons_and_each_origins_promotion_holds_by_itself() -> None:
    path = Path()
    bob = Principal.local("bob")
    row, first = await promoted_row(path)
    typed = await path.memory.promote(LONG, group="g")
    bobs = await path.review.acting_as(bob).promote_row(row, NewMemory(content=""), group="g")
    made = (first, typed, bobs)
    assert len({one.id for one in made}) == 1
    assert [one.already for one in made] == [False, True, True]
    assert len({one.decision_id for one in made}) == 3
    for number, one in enumerate(made):
        mark = path.ledger.mark("g", row).judged_by
        assert (mark is not None, verified(path)) == (number < 3, [LONG])
        undone = await path.review.undo(decision_of(one.decision_id), group="g")
        assert undone.withdrawn == (one.id if number == 2 else None)
    assert (verified(path), path.ledger.mark("g", row).judged_by) == ([], None)


async def test_who_says_the_same_again_has_decided_it_before() -> None:
    path = Path()
    row, first = await promoted_row(path)
    again = await path.review.promote_row(row, NewMemory(content=""), group="g")
    typed = [await path.memory.promote(LONG, group="g") for _ in range(2)]
    assert (again.decision_id, again.already) == (first.decision_id, True)
    assert typed[0].decision_id == typed[1].decision_id
    assert len(path.ledger.decisions("g")) == sum(path.counters.decisions.values()) == 2


AGENTS = [
    Principal(name="bot", rights=frozenset({Right.CAPTURE, Right.READ})),
    Principal(name="bound", rights=frozenset({Right.READ}), agent_id="a1"),
    Principal.local().lowered(),
]


async def test_what_was_withdrawn_since_is_labelled_so_in_the_past() -> None:
    path = Path()
    first = await path.memory.promote(LONG, group="g")
    await path.memory.promote(OTHER, group="g")
    then = later(path)
    assert first.decision_id is not None
    await path.review.undo(first.decision_id, group="g")
    later(path)
    options = RetrieveOptions(as_of=then)
    found = (await path.memory.retrieve("payment backups billed", group="g", options=options)).items
    gone = next(item for item in found if item.content == LONG)
    assert (gone.label, gone.verified, gone.withdrawn_at is not None) == (Label.WITHDRAWN, False, True)
    stays = next(item for item in found if item.content == OTHER)
    assert (stays.label, stays.verified, stays.withdrawn_at) == (Label.VERIFIED, True, None)
    day = f"{gone.withdrawn_at:%Y-%m-%d}"
    assert RetrievedMemoryView.from_record(gone, "en").label_text == f"⛔ Withdrawn since {day}"
    assert RetrievedMemoryView.from_record(gone, "zh").label_text == f"⛔ 已于 {day} 撤回"
    request = ContextRequest(proposal="payment backups billed", options=options)
    (line,) = [line for line in (await path.memory.build_context(request, group="g")).text.splitlines() if LONG in line]
    assert f"Withdrawn since {day}" in line
    assert "✅" not in line


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
async def test_an_agent_gets_what_was_superseded_since_and_nothing_withdrawn(agent: Principal) -> None:
    path = Path()
    first = await path.memory.promote(LONG, group="g")
    second = await path.memory.promote(OTHER, group="g")
    await path.memory.promote(THIRD, group="g")
    then = later(path)
    assert first.decision_id is not None
    await path.review.undo(first.decision_id, group="g")
    await path.memory.promote("Backups were moved to another time of the day.", group="g", supersedes=second.id)
    later(path)
    options = RetrieveOptions(as_of=then, agent_id=agent.agent_id)
    memory = path.memory.acting_as(agent)
    found = await memory.retrieve("payment backups billed", group="g", options=options)
    assert {item.content: item.label for item in found.items} == {THIRD: Label.VERIFIED, OTHER: Label.SUPERSEDED}
    (old,) = [item for item in found.items if item.label is Label.SUPERSEDED]
    day = f"{old.withdrawn_at:%Y-%m-%d}"
    assert not old.verified
    assert RetrievedMemoryView.from_record(old, "en").label_text == f"🕓 Superseded since {day}"
    built = await memory.build_context(ContextRequest(proposal="payment backups", options=options), group="g")
    assert LONG not in built.text
    (line,) = [line for line in built.text.splitlines() if OTHER in line]
    assert f"Superseded since {day}" in line
    assert "✅" not in line


async def test_what_was_rejected_since_is_not_found_in_the_past() -> None:
    path = Path()
    await path.memory.promote(f"{LONG} {OTHER}", group="g")
    kept = await path.memory.promote(THIRD, group="g")
    then = later(path)
    await path.memory.add_tombstone(LONG, reason="wrong", group="g")
    later(path)
    assert await verified_at(path, then) == {THIRD}
    assert kept.decision_id is not None
    await path.review.undo(kept.decision_id, group="g")
    await path.memory.add_tombstone(THIRD.upper(), reason="wrong", group="g")
    later(path)
    assert await verified_at(path, then) == set()
