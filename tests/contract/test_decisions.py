"""The desk: what is decided at it is committed together, and what waits for the model is found again."""

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from clearwell.ports import TOMBSTONED, Claim, WaitingPromotion
from clearwell.records import (
    Action,
    Contradiction,
    Decision,
    InsightBeforeMerge,
    Layer,
    Origin,
    Support,
    Tombstone,
    TombstoneKind,
    Where,
)
from clearwell.testing import ManualClock
from tests.contract.ports import START, Stores, event, promotion, request, unit
from tests.contract.test_longterm import query
from tests.contract.test_search_where import query as where


def decision(number: int, **more: object) -> Decision:
    made = Decision(id=UUID(int=9000 + number), group_id="g", action=Action.PROMOTE, by="ann", at=START)
    return replace(made, **more)  # type: ignore[arg-type]


async def test_what_fails_at_the_desk_leaves_nothing(stores: Stores) -> None:
    with pytest.raises(ZeroDivisionError):
        async with stores.decisions.transaction("g") as transaction:
            await transaction.insert_promotions([promotion(1)])
            await transaction.record_decision(None, event(1))
            raise ZeroDivisionError
    assert await stores.search.search(query(unit(1))) == []
    async with stores.decisions.transaction("g") as transaction:
        assert await transaction.find_promotions([UUID(int=1001)]) == {}


async def test_the_same_is_found_while_it_holds(stores: Stores) -> None:
    made, chunks = promotion(1)
    made = replace(made, fingerprint=b"f")
    async with stores.decisions.transaction("g") as transaction:
        assert await transaction.find_duplicate(made.text, b"f") is None
        await transaction.insert_promotions([(made, chunks)])
        same = await transaction.find_duplicate(made.text, b"f")
        assert same is not None
        assert (same.promotion.memory_id, same.chunks, same.state) == (made.memory_id, 1, "verified")
        assert await transaction.find_duplicate(made.text, b"other") is None
        await transaction.withdraw_memories([made.memory_id], at=START)
        assert await transaction.find_duplicate(made.text, b"f") is None
        assert (await transaction.find_promotions([made.memory_id]))[made.memory_id].state == "withdrawn"
    async with stores.decisions.transaction("other") as transaction:
        assert await transaction.find_promotions([made.memory_id]) == {}


async def test_the_same_is_found_by_the_output_that_it_comes_from(stores: Stores) -> None:
    made, known = promotion(1), promotion(2)
    made = (replace(made[0], text=replace(made[0].text, origin=Origin.QUARANTINE, origin_id=UUID(int=1))), made[1])
    known = (replace(known[0], fingerprint=b"f"), known[1])
    asked = replace(known[0].text, origin=Origin.QUARANTINE, origin_id=UUID(int=1))
    found = decision(1, promotion_id=known[0].id, memory_id=known[0].memory_id, origin_id=UUID(int=3), already=True)
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([known, made])
        await transaction.record_decision(found, event(1))
        own = await transaction.find_duplicate(asked, b"f")
        assert own is not None
        assert own.promotion.id == made[0].id, "before what only says the same"
        assert [one.promotion.id for one in await transaction.list_duplicates(asked, b"f")] == [made[0].id, known[0].id]
        by_decision = replace(asked, origin_id=UUID(int=3))
        same = await transaction.find_duplicate(by_decision, b"x")
        assert same is not None
        assert same.promotion.id == known[0].id
        await transaction.record_decision(decision(2, action=Action.UNDO, undoes=found.id), event(2))
        assert await transaction.find_duplicate(by_decision, b"x") is None
        await transaction.withdraw_memories([made[0].memory_id], at=START)
        assert [one.state for one in await transaction.list_duplicates(asked, b"f")] == ["withdrawn", "verified"]
        assert await transaction.list_duplicates(replace(asked, origin_id=None), b"x") == []


async def test_a_retraction_is_named_until_it_is_undone(stores: Stores) -> None:
    gone = decision(1, action=Action.RETRACT, others=(UUID(int=1001), UUID(int=1002)))
    async with stores.decisions.transaction("g") as transaction:
        await transaction.record_decision(gone, event(1))
        assert await transaction.find_retracting_decision(UUID(int=1002)) == gone
        assert await transaction.find_retracting_decision(UUID(int=1003)) is None
        await transaction.record_decision(decision(2, action=Action.UNDO, undoes=gone.id, others=gone.others), event(2))
        assert await transaction.find_retracting_decision(UUID(int=1002)) is None


async def test_what_a_merge_found_is_kept_with_it(stores: Stores) -> None:
    against = Contradiction(of=UUID(int=1), against=UUID(int=2), layer=Layer.QUARANTINE, reason="r", params={"a": "b"})
    before = InsightBeforeMerge(
        flags=("x",), contradictions=(against,), support=Support(agents=1, sessions=2, days=3, rows=4)
    )
    async with stores.decisions.transaction("g") as transaction:
        await transaction.record_decision(decision(1, action=Action.MERGE, before=before), event(1))
        found = await transaction.find_decision(UUID(int=9001))
    assert found is not None
    assert found.before == before


async def test_what_is_withdrawn_is_not_found_until_it_is_restored(stores: Stores) -> None:
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([promotion(1), promotion(2)])
        await transaction.withdraw_memories([UUID(int=1001)], at=START)
    assert [one.memory.id.int for one in await stores.search.search(query(unit(1)))] == [1002]
    async with stores.decisions.transaction("g") as transaction:
        await transaction.restore_memories([UUID(int=1001)], at=START)
    assert [one.memory.id.int for one in await stores.search.search(query(unit(1)))] == [1001, 1002]


async def test_the_time_in_which_a_memory_did_not_hold_is_kept(stores: Stores) -> None:
    hour = timedelta(hours=1)
    made, chunks = promotion(1)

    async def held(at: datetime) -> bool:
        return bool(await stores.search.search(where(Where(as_of=at))))

    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([(made, chunks)])
        for withdrawn, restored in ((1, 3), (5, 7)):
            await transaction.withdraw_memories([made.memory_id], at=START + withdrawn * hour)
            await transaction.restore_memories([made.memory_id], at=START + restored * hour)
        await transaction.restore_memories([made.memory_id], at=START + 8 * hour)
    assert [number for number in range(9) if await held(START + number * hour)] == [0, 3, 4, 7, 8]


async def test_what_waits_to_replace_a_memory_does_so_when_it_is_carried_out(stores: Stores) -> None:
    old, new = promotion(1), promotion(2)
    waiting = WaitingPromotion(group_id="g", promotion_id=new[0].id)
    later = decision(1, promotion_id=new[0].id, memory_id=new[0].memory_id, supersedes=old[0].memory_id)
    other = decision(2, promotion_id=new[0].id, memory_id=new[0].memory_id, supersedes=UUID(int=1003))
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([old, (new[0], None), promotion(3), (promotion(4)[0], None)])
        await transaction.record_decision(later, event(1))
        also = replace(later, id=UUID(int=9009), supersedes=UUID(int=1004))
        await transaction.record_decision(also, event(9))
        await transaction.record_decision(other, event(2))
        await transaction.record_decision(decision(3, action=Action.UNDO, undoes=other.id), event(3))
    assert await stores.decisions.carry_out(waiting, new[1], digests=[], event=event(4))
    assert {one.memory.id.int for one in await stores.search.search(query(unit(1)))} == {1002, 1003}
    async with stores.decisions.transaction("g") as transaction:
        (state,) = (await transaction.find_promotions([old[0].memory_id])).values()
        assert (state.state, state.valid_to) == ("withdrawn", event(4).at)
        (state,) = (await transaction.find_promotions([UUID(int=1004)])).values()
        assert (state.state, state.waiting) == ("withdrawn", False), "it waited as well"


async def test_what_replaced_a_memory_is_named_until_it_is_undone(stores: Stores) -> None:
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([promotion(1), promotion(2)])
        assert await transaction.find_superseding_decision(UUID(int=1001)) is None
        await transaction.record_decision(decision(1, memory_id=UUID(int=1002), supersedes=UUID(int=1001)), event(1))
        later = await transaction.find_superseding_decision(UUID(int=1001))
        assert later is not None
        assert later.id == UUID(int=9001)
        undo = decision(2, action=Action.UNDO, undoes=UUID(int=9001), supersedes=UUID(int=1001))
        await transaction.record_decision(undo, event(2))
        assert await transaction.find_superseding_decision(UUID(int=1001)) is None


async def test_a_promotion_without_chunks_waits_and_is_carried_out_once(stores: Stores, clock: ManualClock) -> None:
    made, chunks = promotion(1)
    waiting = WaitingPromotion(group_id="g", promotion_id=made.id)
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([(made, None)])
        assert (await transaction.find_promotions([made.memory_id]))[made.memory_id].state == "promoting"
    assert await stores.decisions.waiting(limit=5) == [waiting]
    await stores.decisions.postpone(waiting, problem="down")
    assert await stores.decisions.waiting(limit=5) == []
    clock.forward(timedelta(seconds=2))
    assert await stores.decisions.waiting(limit=5) == [waiting]
    loaded = await stores.decisions.load(waiting)
    assert loaded is not None
    assert loaded.text.content == made.text.content
    stone = Tombstone(
        id=UUID(int=7), group_id="g", kind=TombstoneKind.REJECTED, reason="no", made_by="ann", made_at=START
    )
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_tombstone(stone, b"d", embedding=None, model=None)
    assert not await stores.decisions.carry_out(waiting, chunks, digests=[b"d"], event=event(1))
    assert await stores.decisions.carry_out(waiting, chunks, digests=[b"x"], event=event(1))
    assert not await stores.decisions.carry_out(waiting, chunks, digests=[], event=event(2))
    assert await stores.decisions.load(waiting) is None
    assert [one.memory.id for one in await stores.search.search(query(unit(1)))] == [made.memory_id]


async def test_withdrawing_what_waits_ends_the_waiting_until_it_is_restored(stores: Stores) -> None:
    made, _ = promotion(1)
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([(made, None)])
        await transaction.withdraw_memories([made.memory_id], at=START)
        assert (await transaction.find_promotions([made.memory_id]))[made.memory_id].state == "withdrawn"
    assert await stores.decisions.waiting(limit=5) == []
    async with stores.decisions.transaction("g") as transaction:
        await transaction.restore_memories([made.memory_id], at=START)
    assert await stores.decisions.waiting(limit=5) == [WaitingPromotion(group_id="g", promotion_id=made.id)]


async def test_decisions_are_kept_and_undone_once(stores: Stores) -> None:
    made, chunks = promotion(1)
    first = decision(1, promotion_id=made.id, memory_id=made.memory_id)
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([(made, chunks)])
        await transaction.record_decision(first, event(1))
        assert await transaction.find_decision(first.id) == first
        assert await transaction.find_promoting_decisions(made.memory_id) == [(first, False)]
        assert not await transaction.is_undone(first.id)
        await transaction.record_decision(decision(2, action=Action.UNDO, undoes=first.id), event(2))
        assert await transaction.is_undone(first.id)
        assert await transaction.find_promoting_decisions(made.memory_id) == [(first, True)]
        assert await transaction.find_decision(UUID(int=1)) is None


async def test_a_value_is_rejected_and_that_is_lifted(stores: Stores) -> None:
    stone = Tombstone(
        id=UUID(int=7), group_id="g", kind=TombstoneKind.REJECTED, reason="no", made_by="ann", made_at=START
    )
    async with stores.decisions.transaction("g") as transaction:
        assert await transaction.insert_tombstone(stone, b"d", embedding=unit(1), model="m") == stone.id
        assert (
            await transaction.insert_tombstone(replace(stone, id=UUID(int=8)), b"d", embedding=None, model=None) is None
        )
        assert await transaction.find_tombstone([b"x", b"d"]) == stone
        await transaction.lift_tombstone(stone.id, by="bob", at=START)
        assert await transaction.find_tombstone([b"d"]) is None


async def test_what_waits_because_it_was_refused_is_made_due(stores: Stores, clock: ManualClock) -> None:
    refused, other = promotion(1)[0], promotion(2)[0]
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([(refused, None), (other, None)])
    for one, problem in ((refused, TOMBSTONED), (other, "down")):
        await stores.decisions.postpone(WaitingPromotion(group_id="g", promotion_id=one.id), problem=problem)
    async with stores.decisions.transaction("other") as transaction:
        await transaction.retry_refused_promotions(at=clock.now())
    assert await stores.decisions.waiting(limit=5) == []
    async with stores.decisions.transaction("g") as transaction:
        await transaction.retry_refused_promotions(at=clock.now())
    assert await stores.decisions.waiting(limit=5) == [WaitingPromotion(group_id="g", promotion_id=refused.id)]


async def test_who_rejected_a_value_and_what_is_like_it_is_known(stores: Stores) -> None:
    stone = Tombstone(
        id=UUID(int=7), group_id="g", kind=TombstoneKind.REJECTED, reason="no", made_by="ann", made_at=START
    )
    first = decision(1, action=Action.REJECT, tombstone_id=stone.id)
    second = decision(2, action=Action.REJECT, tombstone_id=stone.id, already=True)
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_tombstone(stone, b"d", embedding=unit(1), model="m")
        near = await transaction.find_nearest_tombstone(unit(1), "m")
        assert near is not None
        assert (near[0], round(near[1], 2)) == (stone, 1.0)
        assert await transaction.find_nearest_tombstone(unit(1), "another") is None
        for number, one in enumerate((first, second)):
            await transaction.record_decision(one, event(number))
        await transaction.record_decision(
            decision(3, action=Action.UNDO, undoes=first.id, tombstone_id=stone.id), event(3)
        )
        assert await transaction.find_rejecting_decisions(stone.id) == [(first, True), (second, False)]
        assert await transaction.find_flagged_insights("near_rejected") == []


async def test_an_answer_is_kept_with_the_decision(stores: Stores) -> None:
    claim = await stores.idempotency.claim(request())
    assert isinstance(claim, Claim)
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([promotion(1)])
        await transaction.store_answer(claim, {"id": "x"})
    assert await stores.idempotency.claim(request()) == {"id": "x"}
