"""What the filter keeps beside the rows: tombstones, recalls, tries of the judge, counts, and how to rebuild."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from clearwell.ports import Claim, Stores
from clearwell.records import Admission, Outcome, Tombstone, TombstoneKind, Verdict
from clearwell.testing import ManualClock
from tests.contract.ports import (
    CAPACITY,
    LEASE,
    OTHER_LEASE,
    START,
    capture,
    entry,
    event,
    promote,
    promotion,
    request,
    settled,
    unit,
)


def tombstone(number: int, kind: TombstoneKind = TombstoneKind.REJECTED, group_id: str = "g") -> Tombstone:
    return Tombstone(id=UUID(int=number), group_id=group_id, kind=kind, reason="wrong", made_by="ann", made_at=START)


async def add(stores: Stores, one: Tombstone, digest: bytes, *, axis: int | None = None) -> bool:
    vector = None if axis is None else unit(axis)
    model = None if axis is None else "m"
    async with stores.decisions.transaction(one.group_id) as transaction:
        return await transaction.insert_tombstone(one, digest, embedding=vector, model=model)


async def test_a_tombstone_stands_in_its_group_for_its_value(stores: Stores) -> None:
    assert await add(stores, tombstone(1), b"digest")
    assert (await stores.tombstones.look_up("g", [b"other", b"digest"]))[0] == tombstone(1)
    assert await stores.tombstones.look_up("g", [b"other"]) == (None, None)
    assert await stores.tombstones.look_up("other", [b"digest"]) == (None, None)
    assert not await add(stores, tombstone(2), b"digest")


async def test_the_rejected_value_most_like_a_text_is_found(stores: Stores) -> None:
    await add(stores, tombstone(1), b"1", axis=1)
    await add(stores, tombstone(3), b"3", axis=3)
    _, near = await stores.tombstones.look_up("g", [], embeddings=[unit(3, tilt=0.1)], model="m")
    assert near is not None
    assert near[0].id == UUID(int=3)
    assert near[1] == pytest.approx(0.995, abs=0.01)
    assert (await stores.tombstones.look_up("g", [], embeddings=[unit(3)], model="another"))[1] is None
    _, nearest = await stores.tombstones.look_up("g", [], embeddings=[unit(5), unit(3), unit(6)], model="m")
    assert nearest is not None
    assert nearest[1] == pytest.approx(1.0, abs=1e-3)


async def test_an_admission_sees_a_tombstone_that_is_made_meanwhile(stores: Stores) -> None:
    async with stores.admissions.open("g", []) as batch:
        assert await batch.look_up("g", [b"1"], embeddings=[unit(1)], model="m") == (None, None)
        await add(stores, tombstone(1), b"1", axis=1)
        standing, near = await batch.look_up("g", [b"1"], embeddings=[unit(1)], model="m")
    assert standing == tombstone(1)
    assert near is not None
    assert near[0] == tombstone(1)


async def test_a_rejection_can_be_lifted_and_made_again_and_a_forgetting_cannot(stores: Stores) -> None:
    await add(stores, tombstone(1), b"1", axis=1)
    await add(stores, tombstone(2, TombstoneKind.FORGOTTEN), b"2")
    async with stores.decisions.transaction("g") as transaction:
        assert await transaction.lift_tombstone(UUID(int=1), by="ann", at=START)
        assert not await transaction.lift_tombstone(UUID(int=1), by="ann", at=START)
        assert not await transaction.lift_tombstone(UUID(int=2), by="ann", at=START)
    async with stores.decisions.transaction("other") as transaction:
        assert not await transaction.lift_tombstone(UUID(int=2), by="ann", at=START)
    assert await stores.tombstones.look_up("g", [b"1"], embeddings=[unit(1)], model="m") == (None, None)
    assert await add(stores, tombstone(3), b"1")
    lifted = replace(tombstone(1), lifted_by="ann", lifted_at=START)
    assert list(await stores.tombstones.all("g")) == [
        tombstone(3),
        tombstone(2, TombstoneKind.FORGOTTEN),
        lifted,
    ]


async def test_a_group_keeps_its_secret(stores: Stores) -> None:
    assert await stores.tombstones.secret("g") == await stores.tombstones.secret("g")
    assert await stores.tombstones.secret("g") != await stores.tombstones.secret("h")


async def test_what_was_recalled_is_known_for_a_day_by_whom_it_was_given_to(stores: Stores, clock: ManualClock) -> None:
    one, two, three = (UUID(int=number) for number in (1, 2, 3))
    await stores.recalls.record({("g", None): [one], ("g", "a1"): [two], ("h", None): [three]})
    assert await stores.recalls.find_recalled("g", agent_id="a1") == {one, two}
    assert await stores.recalls.find_recalled("g", agent_id="a2") == {one}
    assert await stores.recalls.find_recalled("g", agent_id=None) == {one}
    clock.forward(timedelta(hours=23))
    await stores.recalls.record({("g", "a1"): [two]})
    clock.forward(timedelta(hours=1))
    assert await stores.recalls.find_recalled("g", agent_id="a1") == {two}


async def test_recalls_since_a_moment_have_the_time_of_each(stores: Stores, clock: ManualClock) -> None:
    one, two = UUID(int=1), UUID(int=2)
    first = clock.now()
    await stores.recalls.record({("g", "a1"): [one, two], ("h", None): [two]})
    clock.forward(timedelta(minutes=5))
    second = clock.now()
    await stores.recalls.record({("g", "a1"): [one], ("g", "a2"): [two]})
    found = await stores.recalls.find_recalled_since(first - timedelta(seconds=1))
    assert {group_id: sorted(recalls) for group_id, recalls in found.items()} == {
        "g": [(one, second), (two, first), (two, second)],
        "h": [(two, first)],
    }
    assert sorted(await stores.recalls.find_recalled_since(first)) == ["g"]


PENDING = Verdict(
    check="self_consistency", outcome=Outcome.PENDING, reason="verdict_judge_pending", value=1, threshold=5.0, at=START
)


async def test_a_row_that_waits_for_the_judge_says_why_and_comes_back(stores: Stores, clock: ManualClock) -> None:
    await stores.captures.add([capture(1)])
    assert await stores.admissions.read_judge_tries("g", UUID(int=1)) == 0
    await stores.admissions.claim("g", [UUID(int=1)], LEASE)
    await stores.admissions.hold("g", UUID(int=1), PENDING, lease=LEASE, tries=1, wait=timedelta(minutes=10))
    assert await stores.admissions.read_judge_tries("g", UUID(int=1)) == 1
    assert (await stores.admissions.read_receipts("g", [UUID(int=1)]))[UUID(int=1)] == (Admission.PENDING, (PENDING,))
    clock.forward(timedelta(minutes=9))
    assert await stores.admissions.find_pending(limit=10) == []
    clock.forward(timedelta(minutes=2))
    assert len(await stores.admissions.find_pending(limit=10)) == 1


async def test_the_judge_is_waited_for_longer_each_time_and_its_tries_are_counted(
    stores: Stores, clock: ManualClock
) -> None:
    await stores.captures.add([capture(1)])
    waits = []
    for tries in (0, 1, 2, 3, 12):
        await stores.admissions.claim("g", [UUID(int=1)], LEASE)
        await stores.admissions.hold("g", UUID(int=1), replace(PENDING, at=clock.now()), lease=LEASE, tries=tries)
        row = await stores.quarantine.get("g", UUID(int=1))
        assert row is not None
        assert row.next_try_at is not None
        waits.append((row.attempts, (row.next_try_at - clock.now()).total_seconds()))
        clock.forward(timedelta(hours=1))
    assert waits == [(0, 5), (1, 5), (2, 10), (3, 20), (4, 900)], "a spent budget is no try"


async def test_a_pending_row_can_be_made_due_without_losing_its_tries(stores: Stores) -> None:
    await stores.captures.add([capture(1)])
    await stores.admissions.claim("g", [UUID(int=1)], LEASE)
    await stores.admissions.hold("g", UUID(int=1), PENDING, lease=LEASE, tries=2, wait=timedelta(hours=1))
    assert await stores.admissions.requeue("g", UUID(int=1), event=event(1)) is Admission.PENDING
    assert len(await stores.admissions.find_pending(limit=10)) == 1
    assert await stores.admissions.read_judge_tries("g", UUID(int=1)) == 2


async def test_what_a_check_refused_is_found_by_the_check_or_the_reason(stores: Stores) -> None:
    await stores.captures.add([capture(number) for number in (1, 2, 3)])
    at = settled(3).at
    failed = Verdict(check="length", outcome=Outcome.FAIL, reason="verdict_length_short", value=1, at=at)
    short = replace(settled(3, Admission.REFUSED), verdicts=[failed])
    async with stores.admissions.open("g", [UUID(int=number) for number in (1, 2, 3)]) as batch:
        await batch.settle([settled(1), settled(2, Admission.REFUSED), short])
    for by in ("length", "length_short"):
        assert list(await stores.admissions.find_refused("g", by=by, limit=10)) == [UUID(int=3)]
    assert list(await stores.admissions.find_refused("g", by="echo", limit=10)) == []
    assert list(await stores.admissions.find_refused("other", by="length", limit=10)) == []


async def test_only_the_latest_verdicts_are_told(stores: Stores) -> None:
    await stores.captures.add([capture(1)])
    await stores.admissions.claim("g", [UUID(int=1)], LEASE)
    await stores.admissions.hold("g", UUID(int=1), PENDING, lease=LEASE, tries=1)
    async with stores.admissions.open("g", [UUID(int=1)]) as batch:
        await batch.settle([settled(1)])
    row = await stores.quarantine.get("g", UUID(int=1))
    assert row is not None
    assert row.verdicts == tuple(settled(1).verdicts)


async def test_a_refused_row_can_be_put_back_and_no_other(stores: Stores, clock: ManualClock) -> None:
    await stores.captures.add([capture(1), capture(2)])
    async with stores.admissions.open("g", [UUID(int=1), UUID(int=2)]) as batch:
        await batch.settle([settled(1, Admission.REFUSED), settled(2)])
    assert await stores.admissions.requeue("g", UUID(int=1), event=event(1)) is Admission.REFUSED
    assert await stores.admissions.requeue("g", UUID(int=1), event=event(2)) is Admission.PENDING
    assert not await stores.admissions.requeue("g", UUID(int=2), event=event(3))
    assert not await stores.admissions.requeue("other", UUID(int=1), event=event(4, "other"))
    assert [one.log_id.int for one in await stores.admissions.find_pending(limit=10)] == [1]


async def test_what_a_person_removed_is_not_rebuilt(stores: Stores) -> None:
    await stores.captures.add([capture(1), capture(2)])
    async with stores.admissions.open("g", [UUID(int=1), UUID(int=2)]) as batch:
        await batch.settle([settled(1), settled(2)])
    assert await stores.admissions.mark_removed("g", UUID(int=1), event=event(1))
    assert not await stores.admissions.mark_removed("g", UUID(int=1), event=event(2))
    assert not await stores.admissions.mark_removed("g", UUID(int=9), event=event(3))
    assert [one.id.int for one in await stores.admissions.read_admitted("g", since=START, capacity=CAPACITY)] == [2]
    row = await stores.quarantine.get("g", UUID(int=1))
    assert row is not None
    assert row.removed_at == START


async def test_what_was_captured_can_be_read_whatever_became_of_it(stores: Stores) -> None:
    for number, state in ((1, Admission.ADMITTED), (2, Admission.REFUSED)):
        await stores.captures.add([capture(number)])
        async with stores.admissions.open("g", [UUID(int=number)]) as batch:
            await batch.settle([settled(number, state)])
    ids = [UUID(int=1), UUID(int=2), UUID(int=3)]
    expected = {UUID(int=1): capture(1).content, UUID(int=2): capture(2).content}
    assert await stores.admissions.read_texts("g", ids) == expected
    assert await stores.admissions.read_texts("other", ids) == {}


async def test_groups_with_entries_are_known_for_a_rebuild(stores: Stores) -> None:
    for number, group_id in ((1, "g"), (2, "h"), (3, "i")):
        await stores.captures.add([capture(number, group_id)])
        state = Admission.REFUSED if group_id == "i" else Admission.ADMITTED
        async with stores.admissions.open(group_id, [UUID(int=number)]) as batch:
            await batch.settle([settled(number, state)])
    assert list(await stores.admissions.find_working_groups(since=START)) == ["g", "h"]
    assert list(await stores.admissions.find_working_groups(since=settled(1).at)) == ["h"]


async def test_ends_of_checks_are_counted_by_agent(stores: Stores) -> None:
    await stores.captures.add([capture(1), capture(2), capture(3)])
    async with stores.admissions.open("g", [UUID(int=number) for number in (1, 2, 3)]) as batch:
        await batch.settle([replace(settled(1), agent_id="a1"), replace(settled(2), agent_id="a1"), settled(3)])
    counts = [(one.agent_id, one.check, one.outcome, one.count) for one in await stores.admissions.read_counts("g")]
    assert counts == [(None, "length", Outcome.PASS, 1), ("a1", "length", Outcome.PASS, 2)]
    assert list(await stores.admissions.read_counts("other")) == []


async def test_working_memory_can_be_replaced(stores: Stores, clock: ManualClock) -> None:
    await stores.working.push(entry(1))
    gone = entry(2, now=clock.now() - timedelta(hours=30))
    await stores.working.replace("g", [entry(4), entry(3), gone])
    assert [one.id.int for one in await stores.working.entries("g")] == [4, 3]
    await stores.working.replace("g", [])
    assert await stores.working.entries("g") == []


async def test_a_loss_is_found_until_everything_is_rebuilt(stores: Stores) -> None:
    run = await stores.working.find_loss()
    assert run is not None
    assert await stores.working.find_loss() == run, "nobody has rebuilt anything yet"
    await stores.working.note_rebuilt("another run")
    assert await stores.working.find_loss() == run, "the server was restarted during the rebuild"
    await stores.working.note_rebuilt(run)
    assert await stores.working.find_loss() is None


async def test_a_group_whose_first_admission_is_under_way_is_rebuilt_too(stores: Stores) -> None:
    assert list(await stores.admissions.find_working_groups(since=START)) == []
    await stores.captures.add([capture(1)])
    assert list(await stores.admissions.find_working_groups(since=START)) == ["g"]


async def test_all_chunks_of_memories_can_be_read(stores: Stores) -> None:
    many, own = promotion(1, vectors=[unit(1), unit(2)]), promotion(2, agent_id="a1")
    await promote(stores, "g", [many, own])
    ids = [many[0].memory_id, own[0].memory_id, UUID(int=7)]
    assert [one.content for one in await stores.longterm.get("g", ids)] == ["memory 1 chunk 0", "memory 1 chunk 1"]
    assert len(await stores.longterm.get("g", ids, agent_id="a1")) == 3
    assert list(await stores.longterm.get("other", ids)) == []
    async with stores.decisions.transaction("g") as transaction:
        await transaction.withdraw_memories([many[0].memory_id], at=START)
    assert len(await stores.longterm.get("g", ids)) == 2, "what was withdrawn may be cited"


async def test_an_act_that_ended_keeps_its_answer(stores: Stores) -> None:
    claim = await stores.idempotency.claim(request())
    assert isinstance(claim, Claim)
    await stores.idempotency.complete(claim, {"id": 1})
    assert await stores.idempotency.claim(request()) == {"id": 1}


async def test_work_from_before_the_clock_was_set_back_is_due(stores: Stores, clock: ManualClock) -> None:
    """A process ended, and then the clock was set back: nobody else waits until the time of its lease comes again."""
    clock.forward(timedelta(hours=3))
    await stores.captures.add([replace(capture(number), created_at=clock.now()) for number in (1, 2)])
    ids = [UUID(int=1), UUID(int=2)]
    assert len(await stores.admissions.claim("g", ids[:1], LEASE)) == 1
    await stores.idempotency.claim(request())
    clock.forward(timedelta(hours=-3))
    assert {one.log_id for one in await stores.admissions.find_pending(limit=9)} == {*ids}
    assert [one.id for one in await stores.admissions.claim("g", ids, OTHER_LEASE)] == ids
    assert isinstance(await stores.idempotency.claim(request()), Claim)
