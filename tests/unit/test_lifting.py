"""What a tombstone holds back, and what is free when it is lifted."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from clearwell.errors import Conflict
from clearwell.records import Action
from clearwell.testing import MemoryTombstones
from clearwell.vocabulary import AuditAction
from tests.path import LONG, OTHER, Path
from tests.unit.test_review import Weak, decide, insight, offered, verified


async def held_back(path: Path, model: Weak) -> UUID:
    """A promotion that waits, and a rejection of its value that came after it; the rejected insight."""
    one = await offered(path, LONG)
    model.down = True
    assert (await path.memory.promote(LONG, group="g")).waiting
    await decide(path, Action.REJECT, one, reason="made up")
    model.down = False
    assert (await path.promotion_completer.complete_due(), verified(path)) == (0, [])
    return one


async def test_a_promotion_that_met_a_tombstone_is_carried_out_when_that_is_lifted() -> None:
    model = Weak()
    path = Path(embedder=model)
    one = await held_back(path, model)
    (waiting,) = path.ledger.delays.values()
    assert waiting.problem == "promotion_tombstoned"
    assert waiting.until - path.clock.now() <= timedelta(minutes=5), "looked at again, whatever lifts it"
    await decide(path, Action.UNDO, one)
    assert (await path.promotion_completer.complete_due(), verified(path)) == (1, [LONG])


async def test_so_it_is_when_the_tombstone_itself_is_lifted() -> None:
    model = Weak()
    path = Path(embedder=model)
    await held_back(path, model)
    (stone,) = await path.memory.tombstones(group="g")
    await path.memory.lift_tombstone(stone.id, group="g")
    assert (await path.promotion_completer.complete_due(), verified(path)) == (1, [LONG])
    assert [event.action for event in path.decisions.events].count("lift tombstone") == 1


async def test_a_value_is_rejected_without_the_model() -> None:
    model = Weak()
    path = Path(embedder=model)
    model.down = True
    await path.memory.add_tombstone(LONG, reason="made up", group="g")
    model.down = False
    with pytest.raises(Conflict):
        await path.memory.promote(LONG, group="g")


async def reject_by_hand(path: Path, model: Weak) -> None:
    model.down = True
    await path.memory.add_tombstone(LONG, reason="made up", group="g")


async def reject_insight(path: Path, model: Weak) -> None:
    model.down = True
    await decide(path, Action.REJECT, await offered(path, LONG), reason="made up")


@pytest.mark.parametrize("reject", [reject_by_hand, reject_insight])
async def test_a_tombstone_without_a_vector_has_no_model_and_is_logged(
    reject: Callable[[Path, Weak], Awaitable[None]],
) -> None:
    model = Weak()
    path = Path(embedder=model)
    with capture_logs() as logged:
        await reject(path, model)
    tombstones = path.program.stores.tombstones
    assert isinstance(tombstones, MemoryTombstones)
    ((_, _, vector, vector_model),) = tombstones.list_in_force("g")
    assert (vector, vector_model) == (None, None)
    warning = {"event": "values rejected without vectors", "values": 1, "reason": "embedder_unavailable"}
    assert [line for line in logged if line.items() >= warning.items()]


async def test_a_value_that_is_rejected_again_is_recorded_once() -> None:
    path = Path()
    made = await path.memory.add_tombstone(LONG, reason="made up", group="g")
    again = await path.memory.add_tombstone(LONG.upper(), reason="again", group="g")
    assert again.tombstone_id == made.tombstone_id
    added = [event.subject for event in path.decisions.events if event.action == AuditAction.ADD_TOMBSTONE]
    assert added == [f"tombstone {made.tombstone_id}"]


async def test_a_value_that_two_insights_were_rejected_for_stays_out_until_both_are_undone() -> None:
    path = Path()
    one, two = await offered(path, LONG), await offered(path, LONG)
    first = await decide(path, Action.REJECT, one, reason="made up")
    second = await decide(path, Action.REJECT, two, reason="again")
    assert first.tombstone_id == second.tombstone_id
    await decide(path, Action.UNDO, one)
    with pytest.raises(Conflict):
        await path.memory.promote(LONG, group="g")
    await decide(path, Action.UNDO, two)
    assert (await path.memory.promote(LONG, group="g")).chunks == 1


async def test_a_value_that_was_rejected_by_hand_stays_out_when_a_rejection_is_undone() -> None:
    path = Path()
    one = await offered(path, LONG)
    await path.memory.add_tombstone(LONG, reason="no", group="g")
    await decide(path, Action.REJECT, one, reason="made up")
    await decide(path, Action.UNDO, one)
    with pytest.raises(Conflict):
        await path.memory.promote(LONG, group="g")


async def test_what_is_like_a_rejected_value_says_so_only_while_that_stands() -> None:
    path = Path()
    one, like, other = [await offered(path, text) for text in (LONG, f"{LONG} Really.", OTHER)]
    for text, flagged in ((f"{LONG} Really.", like), (OTHER, other)):
        (vector,) = await path.embedder.embed([text])
        path.ledger.put(
            replace(
                await insight(path, flagged),
                flags=("near_rejected", "contradiction"),
                embedding=vector,
                embedding_model=path.embedder.model,
            )
        )
    await path.memory.add_tombstone(OTHER, reason="no", group="g")
    await decide(path, Action.REJECT, one, reason="made up")
    shown = await path.review.insight(like, group="g")
    assert (shown.rejected is not None, "near_rejected" in shown.flags) == (True, True)
    await decide(path, Action.UNDO, one)
    shown = await path.review.insight(like, group="g")
    assert (shown.rejected, "near_rejected" in shown.flags) == (None, False)
    assert [(await insight(path, each)).flags for each in (like, other)] == [
        ("contradiction",),
        ("near_rejected", "contradiction"),
    ]
    assert (await insight(path, like)).version == 1, "nobody decided on it"
