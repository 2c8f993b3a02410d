"""Decisions: a transaction is committed whole or not at all, and promotions that wait for the model are found again."""

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from clearwell.errors import Unauthenticated
from clearwell.ports import (
    TOMBSTONED,
    Claim,
    DecisionTransaction,
    PromotionKey,
    RecordedDecision,
    Stores,
    WaitingPromotion,
)
from clearwell.records import (
    Action,
    Contradiction,
    Decision,
    InsightBeforeMerge,
    Layer,
    NewMemory,
    Origin,
    PromotionState,
    SearchFilter,
    Support,
    Tombstone,
    TombstoneKind,
)
from clearwell.testing import ManualClock
from tests.contract.ports import START, event, promotion, request, unit
from tests.contract.test_access import EVENT, KEY, REVOKED
from tests.contract.test_longterm import query
from tests.contract.test_search_where import query as where


def decision(number: int, **more: object) -> Decision:
    made = Decision(id=UUID(int=9000 + number), group_id="g", action=Action.PROMOTE, by="ann", at=START)
    return replace(made, **more)  # type: ignore[arg-type]


async def find_duplicate(
    transaction: DecisionTransaction, text: NewMemory, fingerprint: bytes
) -> PromotionState | None:
    key = PromotionKey(fingerprint, text.origin_id)
    return (await transaction.find_duplicates([key])).get(key)


async def test_a_transaction_that_fails_leaves_nothing(stores: Stores) -> None:
    with pytest.raises(ZeroDivisionError):
        async with stores.decisions.transaction("g") as transaction:
            await transaction.insert_promotions([promotion(1)])
            await transaction.record_event(event(1))
            raise ZeroDivisionError
    assert await stores.longterm.search(query(unit(1))) == []
    async with stores.decisions.transaction("g") as transaction:
        assert await transaction.find_promotions([UUID(int=1001)]) == {}


async def test_the_same_is_found_while_it_holds(stores: Stores) -> None:
    made, chunks = promotion(1)
    made = replace(made, fingerprint=b"f")
    async with stores.decisions.transaction("g") as transaction:
        assert await find_duplicate(transaction, made.text, b"f") is None
        await transaction.insert_promotions([(made, chunks)])
        same = await find_duplicate(transaction, made.text, b"f")
        assert same is not None
        assert (same.promotion.memory_id, same.chunks, same.state) == (made.memory_id, 1, "verified")
        assert await find_duplicate(transaction, made.text, b"other") is None
        await transaction.withdraw_memories([made.memory_id], at=START)
        assert await find_duplicate(transaction, made.text, b"f") is None
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
        await transaction.record_decisions([(found, event(1))])
        own = await find_duplicate(transaction, asked, b"f")
        assert own is not None
        assert own.promotion.id == made[0].id, "before what only says the same"
        key = PromotionKey(b"f", asked.origin_id)
        assert [one.promotion.id for one in await transaction.list_duplicates(key)] == [made[0].id, known[0].id]
        by_decision = replace(asked, origin_id=UUID(int=3))
        same = await find_duplicate(transaction, by_decision, b"x")
        assert same is not None
        assert same.promotion.id == known[0].id
        await transaction.record_decisions([(decision(2, action=Action.UNDO, undoes=found.id), event(2))])
        assert await find_duplicate(transaction, by_decision, b"x") is None
        await transaction.withdraw_memories([made[0].memory_id], at=START)
        assert [one.state for one in await transaction.list_duplicates(key)] == ["withdrawn", "verified"]
        assert await transaction.list_duplicates(PromotionKey(b"x", None)) == []


async def test_a_retraction_is_named_until_it_is_undone(stores: Stores) -> None:
    gone = decision(1, action=Action.RETRACT, others=(UUID(int=1001), UUID(int=1002)))
    async with stores.decisions.transaction("g") as transaction:
        await transaction.record_decisions([(gone, event(1))])
        assert await transaction.find_retracting_decision(UUID(int=1002)) == gone
        assert await transaction.find_retracting_decision(UUID(int=1003)) is None
        undo = decision(2, action=Action.UNDO, undoes=gone.id, others=gone.others)
        await transaction.record_decisions([(undo, event(2))])
        assert await transaction.find_retracting_decision(UUID(int=1002)) is None


async def test_what_a_merge_found_is_kept_with_it(stores: Stores) -> None:
    against = Contradiction(of=UUID(int=1), against=UUID(int=2), layer=Layer.QUARANTINE, reason="r", params={"a": "b"})
    before = InsightBeforeMerge(
        flags=("x",), contradictions=(against,), support=Support(agents=1, sessions=2, days=3, rows=4)
    )
    async with stores.decisions.transaction("g") as transaction:
        await transaction.record_decisions([(decision(1, action=Action.MERGE, before=before), event(1))])
        found = await transaction.find_decision(UUID(int=9001))
    assert found is not None
    assert found.before == before


async def test_what_is_withdrawn_is_not_found_until_it_is_restored(stores: Stores) -> None:
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([promotion(1), promotion(2)])
        await transaction.withdraw_memories([UUID(int=1001)], at=START)
    assert [one.memory.id.int for one in await stores.longterm.search(query(unit(1)))] == [1002]
    async with stores.decisions.transaction("g") as transaction:
        await transaction.restore_memories([UUID(int=1001)], at=START)
    assert [one.memory.id.int for one in await stores.longterm.search(query(unit(1)))] == [1001, 1002]


async def test_the_time_in_which_a_memory_did_not_hold_is_kept(stores: Stores) -> None:
    hour = timedelta(hours=1)
    made, chunks = promotion(1)

    async def held(at: datetime) -> bool:
        return bool(await stores.longterm.search(where(SearchFilter(as_of=at))))

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
        await transaction.record_decisions([(later, event(1))])
        also = replace(later, id=UUID(int=9009), supersedes=UUID(int=1004))
        await transaction.record_decisions([(also, event(9))])
        await transaction.record_decisions([(other, event(2))])
        await transaction.record_decisions([(decision(3, action=Action.UNDO, undoes=other.id), event(3))])
    assert await stores.decisions.complete_waiting(waiting, new[1], value_hashes=[], event=event(4))
    assert {one.memory.id.int for one in await stores.longterm.search(query(unit(1)))} == {1002, 1003}
    async with stores.decisions.transaction("g") as transaction:
        (state,) = (await transaction.find_promotions([old[0].memory_id])).values()
        assert (state.state, state.valid_to) == ("withdrawn", event(4).at)
        (state,) = (await transaction.find_promotions([UUID(int=1004)])).values()
        assert (state.state, state.waiting) == ("withdrawn", False), "it waited as well"


async def test_what_replaced_a_memory_is_named_until_it_is_undone(stores: Stores) -> None:
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([promotion(1), promotion(2)])
        assert await transaction.find_superseding_decisions([UUID(int=1001)]) == {}
        replacing = decision(1, memory_id=UUID(int=1002), supersedes=UUID(int=1001))
        await transaction.record_decisions([(replacing, event(1))])
        later = (await transaction.find_superseding_decisions([UUID(int=1001)])).get(UUID(int=1001))
        assert later is not None
        assert later.id == UUID(int=9001)
        undo = decision(2, action=Action.UNDO, undoes=UUID(int=9001), supersedes=UUID(int=1001))
        await transaction.record_decisions([(undo, event(2))])
        assert await transaction.find_superseding_decisions([UUID(int=1001)]) == {}


async def test_a_promotion_without_chunks_waits_and_is_carried_out_once(stores: Stores, clock: ManualClock) -> None:
    made, chunks = promotion(1)
    waiting = WaitingPromotion(group_id="g", promotion_id=made.id)
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([(made, None)])
        assert (await transaction.find_promotions([made.memory_id]))[made.memory_id].state == "promoting"
    assert await stores.decisions.list_waiting(limit=5) == [waiting]
    await stores.decisions.postpone_waiting(waiting, problem="down")
    assert await stores.decisions.list_waiting(limit=5) == []
    clock.forward(timedelta(seconds=2))
    assert await stores.decisions.list_waiting(limit=5) == [waiting]
    loaded = await stores.decisions.read_waiting(waiting)
    assert loaded is not None
    assert loaded.text.content == made.text.content
    stone = Tombstone(
        id=UUID(int=7), group_id="g", kind=TombstoneKind.REJECTED, reason="no", made_by="ann", made_at=START
    )
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_tombstone(stone, b"d", embedding=None, model=None)
    assert not await stores.decisions.complete_waiting(waiting, chunks, value_hashes=[b"d"], event=event(1))
    assert await stores.decisions.complete_waiting(waiting, chunks, value_hashes=[b"x"], event=event(1))
    assert not await stores.decisions.complete_waiting(waiting, chunks, value_hashes=[], event=event(2))
    assert await stores.decisions.read_waiting(waiting) is None
    assert [one.memory.id for one in await stores.longterm.search(query(unit(1)))] == [made.memory_id]


async def test_withdrawing_what_waits_ends_the_waiting_until_it_is_restored(stores: Stores) -> None:
    made, _ = promotion(1)
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([(made, None)])
        await transaction.withdraw_memories([made.memory_id], at=START)
        assert (await transaction.find_promotions([made.memory_id]))[made.memory_id].state == "withdrawn"
    assert await stores.decisions.list_waiting(limit=5) == []
    async with stores.decisions.transaction("g") as transaction:
        await transaction.restore_memories([made.memory_id], at=START)
    assert await stores.decisions.list_waiting(limit=5) == [WaitingPromotion(group_id="g", promotion_id=made.id)]


async def test_decisions_are_kept_and_undone_once(stores: Stores) -> None:
    made, chunks = promotion(1)
    first = decision(1, promotion_id=made.id, memory_id=made.memory_id)
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([(made, chunks)])
        await transaction.record_decisions([(first, event(1))])
        assert await transaction.find_decision(first.id) == first
        found = await transaction.find_promoting_decisions([made.memory_id])
        assert found == {made.memory_id: [RecordedDecision(first, undone=False)]}
        assert not await transaction.is_undone(first.id)
        await transaction.record_decisions([(decision(2, action=Action.UNDO, undoes=first.id), event(2))])
        assert await transaction.is_undone(first.id)
        found = await transaction.find_promoting_decisions([made.memory_id])
        assert found == {made.memory_id: [RecordedDecision(first, undone=True)]}
        assert await transaction.find_decision(UUID(int=1)) is None


async def test_a_value_is_rejected_and_that_is_lifted(stores: Stores) -> None:
    stone = Tombstone(
        id=UUID(int=7), group_id="g", kind=TombstoneKind.REJECTED, reason="no", made_by="ann", made_at=START
    )
    async with stores.decisions.transaction("g") as transaction:
        assert await transaction.insert_tombstone(stone, b"d", embedding=unit(1), model="m")
        again = replace(stone, id=UUID(int=8))
        assert not await transaction.insert_tombstone(again, b"d", embedding=None, model=None)
        assert await transaction.find_tombstones([b"x", b"d"]) == {b"d": stone}
        await transaction.lift_tombstone(stone.id, by="bob", at=START)
        assert await transaction.find_tombstones([b"d"]) == {}


async def test_what_waits_because_it_was_refused_is_made_due(stores: Stores, clock: ManualClock) -> None:
    refused, other = promotion(1)[0], promotion(2)[0]
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([(refused, None), (other, None)])
    for one, problem in ((refused, TOMBSTONED), (other, "down")):
        await stores.decisions.postpone_waiting(WaitingPromotion(group_id="g", promotion_id=one.id), problem=problem)
    async with stores.decisions.transaction("other") as transaction:
        await transaction.retry_refused_promotions(at=clock.now())
    assert await stores.decisions.list_waiting(limit=5) == []
    async with stores.decisions.transaction("g") as transaction:
        await transaction.retry_refused_promotions(at=clock.now())
    assert await stores.decisions.list_waiting(limit=5) == [WaitingPromotion(group_id="g", promotion_id=refused.id)]


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
            await transaction.record_decisions([(one, event(number))])
        undo = decision(3, action=Action.UNDO, undoes=first.id, tombstone_id=stone.id)
        await transaction.record_decisions([(undo, event(3))])
        assert await transaction.find_rejecting_decisions(stone.id) == [
            RecordedDecision(first, undone=True),
            RecordedDecision(second, undone=False),
        ]
        assert await transaction.find_flagged_insights("near_rejected") == []


async def test_an_answer_is_kept_with_the_decision(stores: Stores) -> None:
    claim = await stores.idempotency.claim(request())
    assert isinstance(claim, Claim)
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([promotion(1)])
        await transaction.store_answer(claim, {"id": "x"})
    assert await stores.idempotency.claim(request()) == {"id": "x"}


async def test_a_batch_is_stored_and_found_by_its_keys(stores: Stores) -> None:
    made = [promotion(number, vectors=[unit(number), unit(number, tilt=0.5)]) for number in range(1, 6)]
    made = [(replace(one, fingerprint=bytes([number])), chunks) for number, (one, chunks) in enumerate(made)]
    batch = [(made[0][0], None), *made[1:4], (made[4][0], None)]
    decisions = [
        decision(number, promotion_id=one.id, memory_id=one.memory_id, supersedes=UUID(int=number % 2))
        for number, (one, _) in enumerate(made)
    ]
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions(batch)
        await transaction.record_decisions([(one, event(number)) for number, one in enumerate(decisions)])
    keys = [PromotionKey(bytes([number]), None) for number in (4, 1, 9, 0)]
    async with stores.decisions.transaction("g") as transaction:
        found = await transaction.find_duplicates(keys)
        assert {key: (one.promotion.id, one.state) for key, one in found.items()} == {
            keys[0]: (made[4][0].id, "promoting"),
            keys[1]: (made[1][0].id, "verified"),
            keys[3]: (made[0][0].id, "promoting"),
        }
        memory_ids = [one.memory_id for one, _ in made]
        by_memory = await transaction.find_promoting_decisions(memory_ids)
        assert by_memory == {
            one.memory_id: [RecordedDecision(one, undone=False)] for one in decisions if one.memory_id is not None
        }
        superseding = await transaction.find_superseding_decisions([UUID(int=1), UUID(int=0), UUID(int=2)])
        assert superseding == {UUID(int=0): decisions[4], UUID(int=1): decisions[3]}, "of several the last"
        assert {one.chunks for one in (await transaction.find_promotions(memory_ids)).values()} == {0, 2}
    assert {one.memory.id for one in await stores.longterm.search(query(unit(1)))} == {
        one.memory_id for one, _ in made[1:4]
    }


async def test_a_decision_by_a_revoked_key_is_not_stored(stores: Stores) -> None:
    await stores.keys.add(KEY, b"hash", event=EVENT)
    async with stores.decisions.transaction("g") as transaction:
        await transaction.record_decisions([(decision(1, by=KEY.holder), event(1))])
    assert await stores.keys.revoke(KEY.id, at=START, event=REVOKED)
    with pytest.raises(Unauthenticated):
        async with stores.decisions.transaction("g") as transaction:
            await transaction.record_decisions([(decision(2, by=KEY.holder), event(2))])
    async with stores.decisions.transaction("g") as transaction:
        assert await transaction.find_decision(UUID(int=9001)) is not None
        assert await transaction.find_decision(UUID(int=9002)) is None
