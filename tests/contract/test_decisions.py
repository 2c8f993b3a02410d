"""The desk: what is decided at it is committed together, and what waits for the model is found again."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from clearwell.ports import Claim, Waiting
from clearwell.records import Action, Decision, Tombstone, TombstoneKind
from clearwell.testing import ManualClock
from tests.contract.ports import START, Stores, event, promotion, request, unit
from tests.contract.test_longterm import query


def decision(number: int, **more: object) -> Decision:
    made = Decision(id=UUID(int=9000 + number), group_id="g", action=Action.PROMOTE, by="ann", at=START)
    return replace(made, **more)  # type: ignore[arg-type]


async def test_what_fails_at_the_desk_leaves_nothing(stores: Stores) -> None:
    with pytest.raises(ZeroDivisionError):
        async with stores.decisions.open("g") as desk:
            await desk.promote([promotion(1)])
            await desk.record(None, event(1))
            raise ZeroDivisionError
    assert await stores.search.search(query(unit(1))) == []
    async with stores.decisions.open("g") as desk:
        assert await desk.promotions([UUID(int=1001)]) == {}


async def test_the_same_is_found_while_it_holds(stores: Stores) -> None:
    made, chunks = promotion(1)
    made = replace(made, fingerprint=b"f")
    async with stores.decisions.open("g") as desk:
        assert await desk.same(made.text, b"f") is None
        await desk.promote([(made, chunks)])
        same = await desk.same(made.text, b"f")
        assert same is not None
        assert (same.promotion.memory_id, same.chunks, same.state) == (made.memory_id, 1, "verified")
        assert await desk.same(made.text, b"other") is None
        await desk.withdraw([made.memory_id], at=START)
        assert await desk.same(made.text, b"f") is None
        assert (await desk.promotions([made.memory_id]))[made.memory_id].state == "withdrawn"
    async with stores.decisions.open("other") as desk:
        assert await desk.promotions([made.memory_id]) == {}


async def test_what_is_withdrawn_is_not_found_until_it_is_restored(stores: Stores) -> None:
    async with stores.decisions.open("g") as desk:
        await desk.promote([promotion(1), promotion(2)])
        await desk.withdraw([UUID(int=1001)], at=START)
    assert [one.memory.id.int for one in await stores.search.search(query(unit(1)))] == [1002]
    async with stores.decisions.open("g") as desk:
        await desk.restore([UUID(int=1001)])
    assert [one.memory.id.int for one in await stores.search.search(query(unit(1)))] == [1001, 1002]


async def test_what_replaced_a_memory_is_named_until_it_is_undone(stores: Stores) -> None:
    async with stores.decisions.open("g") as desk:
        await desk.promote([promotion(1), promotion(2)])
        assert await desk.superseded_by(UUID(int=1001)) is None
        await desk.record(decision(1, memory_id=UUID(int=1002), supersedes=UUID(int=1001)), event(1))
        later = await desk.superseded_by(UUID(int=1001))
        assert later is not None
        assert later.id == UUID(int=9001)
        undo = decision(2, action=Action.UNDO, undoes=UUID(int=9001), supersedes=UUID(int=1001))
        await desk.record(undo, event(2))
        assert await desk.superseded_by(UUID(int=1001)) is None


async def test_a_promotion_without_chunks_waits_and_is_carried_out_once(stores: Stores, clock: ManualClock) -> None:
    made, chunks = promotion(1)
    waiting = Waiting(group_id="g", promotion_id=made.id)
    async with stores.decisions.open("g") as desk:
        await desk.promote([(made, None)])
        assert (await desk.promotions([made.memory_id]))[made.memory_id].state == "promoting"
    assert await stores.decisions.waiting(limit=5) == [waiting]
    await stores.decisions.postpone(waiting, problem="down")
    assert await stores.decisions.waiting(limit=5) == []
    clock.forward(timedelta(seconds=2))
    assert await stores.decisions.waiting(limit=5) == [waiting]
    loaded = await stores.decisions.load(waiting)
    assert loaded is not None
    assert loaded.text.content == made.text.content
    assert await stores.decisions.carry_out(waiting, chunks, event=event(1))
    assert not await stores.decisions.carry_out(waiting, chunks, event=event(2))
    assert await stores.decisions.load(waiting) is None
    assert [one.memory.id for one in await stores.search.search(query(unit(1)))] == [made.memory_id]


async def test_withdrawing_what_waits_ends_the_waiting(stores: Stores) -> None:
    made, _ = promotion(1)
    async with stores.decisions.open("g") as desk:
        await desk.promote([(made, None)])
        await desk.withdraw([made.memory_id], at=START)
    assert await stores.decisions.waiting(limit=5) == []


async def test_decisions_are_kept_and_undone_once(stores: Stores) -> None:
    made, chunks = promotion(1)
    first = decision(1, promotion_id=made.id, memory_id=made.memory_id)
    async with stores.decisions.open("g") as desk:
        await desk.promote([(made, chunks)])
        await desk.record(first, event(1))
        assert await desk.decision(first.id) == first
        assert await desk.promoted_by(made.memory_id) == [(first, False)]
        assert not await desk.is_undone(first.id)
        await desk.record(decision(2, action=Action.UNDO, undoes=first.id), event(2))
        assert await desk.is_undone(first.id)
        assert await desk.promoted_by(made.memory_id) == [(first, True)]
        assert await desk.decision(UUID(int=1)) is None


async def test_a_value_is_rejected_and_that_is_lifted(stores: Stores) -> None:
    stone = Tombstone(
        id=UUID(int=7), group_id="g", kind=TombstoneKind.REJECTED, reason="no", made_by="ann", made_at=START
    )
    async with stores.decisions.open("g") as desk:
        assert await desk.reject(stone, b"d", embedding=unit(1), model="m") == stone.id
        assert await desk.reject(replace(stone, id=UUID(int=8)), b"d", embedding=None, model=None) is None
        assert await desk.tombstone([b"x", b"d"]) == stone
        await desk.lift(stone.id, by="bob", at=START)
        assert await desk.tombstone([b"d"]) is None


async def test_an_answer_is_kept_with_the_decision(stores: Stores) -> None:
    claim = await stores.idempotency.claim(request())
    assert isinstance(claim, Claim)
    async with stores.decisions.open("g") as desk:
        await desk.promote([promotion(1)])
        await desk.answer(claim, {"id": "x"})
    assert await stores.idempotency.claim(request()) == {"id": "x"}
