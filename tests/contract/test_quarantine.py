"""Quarantine, from the sides of the agent, the reviewer and the worker."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import numpy as np
import pytest

from clearwell.errors import IdempotencyMismatch
from clearwell.ports import PendingOutput, QuarantineFilter, Stores
from clearwell.records import Admission, Layer, Metadata, Origin, Outcome, Sighting, Verdict, WorkingCapacity
from clearwell.testing import ManualClock
from clearwell.vocabulary import Flag
from tests.contract.ports import (
    CAPACITY,
    LEASE,
    OTHER_LEASE,
    START,
    capture,
    event,
    promotion,
    request,
    settled,
    unit,
)


async def test_a_capture_is_kept_as_it_came_and_is_pending(stores: Stores) -> None:
    kept = capture(1, content="原文\u200b byte for byte 🙂 שלום\n\n  ")
    (stored,) = await stores.captures.add([kept])
    row = await stores.quarantine.get("g", stored.id)
    assert row is not None
    assert row.capture == kept
    assert row.admission is Admission.PENDING
    assert row.verdicts == ()


async def test_a_row_is_not_found_in_another_group(stores: Stores) -> None:
    await stores.captures.add([capture(1)])
    assert await stores.quarantine.get("other", UUID(int=1)) is None
    assert (await stores.quarantine.page("other", where=QuarantineFilter())).rows == ()
    assert await stores.admissions.claim("other", [UUID(int=1)], LEASE) == []
    assert await stores.admissions.read_receipts("other", [UUID(int=1)]) == {}


async def test_rows_are_found_by_their_ids_with_their_verdicts(stores: Stores) -> None:
    await stores.captures.add([capture(1), capture(2)])
    async with stores.admissions.open("g", [UUID(int=2)]) as batch:
        await batch.settle([settled(2)])
    found = await stores.quarantine.find("g", [UUID(int=2), UUID(int=3), UUID(int=1)])
    assert {log_id.int: (row.admission, len(row.verdicts)) for log_id, row in found.items()} == {
        1: (Admission.PENDING, 0),
        2: (Admission.ADMITTED, 1),
    }
    assert found[UUID(int=1)].capture == capture(1)
    assert await stores.quarantine.find("other", [UUID(int=1)]) == {}


async def test_a_repeated_request_finds_its_first_rows(stores: Stores) -> None:
    keys = [request("k1"), request("k2")]
    first = await stores.captures.add([capture(1), capture(2)], keys=keys)
    again = await stores.captures.add([capture(3), capture(4)], keys=keys)
    assert [one.id for one in again] == [one.id for one in first]
    assert [one.replayed for one in first + again] == [False, False, True, True]
    assert len((await stores.quarantine.page("g", where=QuarantineFilter())).rows) == 2


async def test_among_other_captures_a_known_key_is_stored_once(stores: Stores) -> None:
    await stores.captures.add([capture(1)], keys=[request("k1")])
    stored = await stores.captures.add([capture(2), capture(3), capture(4)], keys=[None, request("k1"), request("k2")])
    assert [(one.id.int, one.replayed) for one in stored] == [(2, False), (1, True), (4, False)]
    assert len((await stores.quarantine.page("g", where=QuarantineFilter())).rows) == 3


async def test_another_request_with_the_same_key_is_refused_and_stores_nothing(stores: Stores) -> None:
    await stores.captures.add([capture(1)], keys=[request()])
    with pytest.raises(IdempotencyMismatch):
        await stores.captures.add([capture(2), capture(3)], keys=[request("k2"), request(body=b"other")])
    assert len((await stores.quarantine.page("g", where=QuarantineFilter())).rows) == 1


async def test_keys_of_different_callers_do_not_meet(stores: Stores) -> None:
    await stores.captures.add([capture(1)], keys=[request()])
    other = replace(capture(2), captured_by="bob")
    (stored,) = await stores.captures.add([other], keys=[request(principal="bob")])
    assert not stored.replayed


async def test_rows_can_be_refused_as_they_come(stores: Stores) -> None:
    why = Verdict(check="group", outcome=Outcome.FAIL, reason="verdict_no_group", at=START)
    await stores.captures.add([capture(1, "unassigned")], settled=[why])
    row = await stores.quarantine.get("unassigned", UUID(int=1))
    assert row is not None
    assert (row.admission, row.verdicts) == (Admission.REFUSED, (why,))


async def test_pages_are_newest_first_and_filtered(stores: Stores) -> None:
    await stores.captures.add([capture(number, agent_id=f"a{number % 2}") for number in range(1, 8)])
    page = (await stores.quarantine.page("g", where=QuarantineFilter(), limit=3)).rows
    assert [row.capture.id.int for row in page] == [7, 6, 5]
    rest = (await stores.quarantine.page("g", where=QuarantineFilter(), before=page[-1].capture.id)).rows
    assert [row.capture.id.int for row in rest] == [4, 3, 2, 1]
    of_agent = (await stores.quarantine.page("g", where=QuarantineFilter(agent_id="a1"))).rows
    assert [row.capture.id.int for row in of_agent] == [7, 5, 3, 1]
    since = QuarantineFilter(since=START + timedelta(seconds=3), until=START + timedelta(seconds=5))
    assert [row.capture.id.int for row in (await stores.quarantine.page("g", where=since)).rows] == [4, 3]
    assert (await stores.quarantine.page("g", where=QuarantineFilter(admission=Admission.ADMITTED))).rows == ()
    assert (await stores.quarantine.page("g", where=QuarantineFilter(session_id="s2"))).rows == ()


async def test_a_page_says_where_the_next_one_begins(stores: Stores) -> None:
    await stores.captures.add([capture(number) for number in range(1, 4)])
    page = await stores.quarantine.page("g", where=QuarantineFilter(), limit=2)
    assert ([row.capture.id.int for row in page.rows], page.next) == ([3, 2], UUID(int=2))
    last = await stores.quarantine.page("g", where=QuarantineFilter(), before=page.next, limit=2)
    assert ([row.capture.id.int for row in last.rows], last.next) == ([1], None)


async def test_words_are_found_in_any_case(stores: Stores) -> None:
    said = [replace(capture(1), content="The Vault moved."), replace(capture(2), content="100% of them stayed.")]
    await stores.captures.add(said)
    for words, found in (("vault", [1]), ("0% OF", [2]), ("v_ult", []), ("moved", [1])):
        page = await stores.quarantine.page("g", where=QuarantineFilter(words=words))
        assert [row.capture.id.int for row in page.rows] == found


async def test_outputs_proposed_for_review_are_found_until_promoted(stores: Stores) -> None:
    marks: list[Metadata] = [{"proposed": True}, {"proposed": "true"}, {}, {"proposed": True, "confidence": 0.9}]
    await stores.captures.add([replace(capture(number), metadata=mark) for number, mark in enumerate(marks, start=1)])
    proposed = QuarantineFilter(proposed=True)
    assert [row.capture.id.int for row in (await stores.quarantine.page("g", where=proposed)).rows] == [4, 1]
    made, chunks = promotion(1)
    text = replace(made.text, origin=Origin.QUARANTINE, origin_id=UUID(int=4))
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([(replace(made, text=text), chunks)])
    assert [row.capture.id.int for row in (await stores.quarantine.page("g", where=proposed)).rows] == [1]
    assert len((await stores.quarantine.page("g", where=QuarantineFilter())).rows) == 4


async def test_pending_rows_of_all_groups_are_found_when_due(stores: Stores, clock: ManualClock) -> None:
    await stores.captures.add([capture(1, "g")])
    await stores.captures.add([capture(2, "h")])
    assert await stores.admissions.find_pending(limit=10) == []
    clock.forward(timedelta(minutes=1))
    expected = [PendingOutput(group_id="g", log_id=UUID(int=1)), PendingOutput(group_id="h", log_id=UUID(int=2))]
    assert await stores.admissions.find_pending(limit=10) == expected
    assert await stores.admissions.find_pending(limit=1) == expected[:1]


async def test_a_postponed_row_is_tried_later_each_time(stores: Stores, clock: ManualClock) -> None:
    await stores.captures.add([capture(1)])
    clock.forward(timedelta(minutes=1))
    waits = []
    for _ in range(7):
        await stores.admissions.claim("g", [UUID(int=1)], LEASE)
        await stores.admissions.postpone("g", [UUID(int=1)], LEASE)
        seconds = 0
        while not await stores.admissions.find_pending(limit=1):
            clock.forward(timedelta(seconds=1))
            seconds += 1
        waits.append(seconds)
    assert waits == [1, 2, 4, 8, 16, 30, 30]


async def test_a_refused_row_is_admitted_once_with_its_event(stores: Stores) -> None:
    await stores.captures.add([capture(1), capture(2)])
    async with stores.admissions.open("g", [UUID(int=1)]) as batch:
        await batch.settle([settled(1, Admission.REFUSED)])
    later = START + timedelta(hours=2)
    person = Verdict(check="admission", outcome=Outcome.PASS, reason="verdict_overridden", params={"by": "ann"})
    verdicts = [replace(one, at=later) for one in (*settled(1).verdicts, person)]
    admitted = replace(settled(1, vector=unit(1)), at=later, verdicts=verdicts)
    async with stores.admissions.open("g", []) as batch:
        assert await batch.admit_refused(admitted, event=event(1))
    row = await stores.quarantine.get("g", UUID(int=1))
    assert row is not None
    assert (row.admission, row.settled_at, list(row.verdicts)) == (Admission.ADMITTED, later, verdicts)
    for number in (1, 2, 3):
        async with stores.admissions.open("g", []) as batch:
            assert not await batch.admit_refused(replace(admitted, log_id=UUID(int=number)), event=event(2))
    counts = {(one.check, one.count) for one in await stores.admissions.read_counts("g")}
    assert counts == {("length", 1), ("admission", 1)}
    (entry,) = await stores.admissions.read_admitted("g", since=START, capacity=CAPACITY)
    assert entry.id == UUID(int=1)


async def test_failures_of_a_row_are_counted_apart_from_outages(stores: Stores, clock: ManualClock) -> None:
    async def fail() -> int:
        await stores.admissions.claim("g", [UUID(int=1)], LEASE)
        return await stores.admissions.fail("g", UUID(int=1), LEASE)

    await stores.captures.add([capture(1)])
    clock.forward(timedelta(minutes=1))
    await stores.admissions.claim("g", [UUID(int=1)], LEASE)
    await stores.admissions.postpone("g", [UUID(int=1)], LEASE)
    assert [await fail(), await fail()] == [1, 2]
    assert await stores.admissions.find_pending(limit=1) == [], "a failure postpones the row"
    row = await stores.quarantine.get("g", UUID(int=1))
    assert row is not None
    assert row.attempts == 3
    async with stores.admissions.open("g", [UUID(int=1)]) as batch:
        await batch.settle([settled(1, Admission.REFUSED)])
    assert await fail() == 0, "only pending rows fail"
    await stores.admissions.requeue("g", UUID(int=1), event=event(1))
    assert await fail() == 1


async def test_a_leased_row_is_left_to_its_holder(stores: Stores, clock: ManualClock) -> None:
    rows = [UUID(int=1), UUID(int=2)]
    await stores.captures.add([capture(1), capture(2)])
    clock.forward(timedelta(minutes=1))
    assert [one.id for one in await stores.admissions.claim("g", rows[:1], LEASE)] == rows[:1]
    assert [one.log_id for one in await stores.admissions.find_pending(limit=10)] == rows[1:]
    assert [one.id for one in await stores.admissions.claim("g", rows, OTHER_LEASE)] == rows[1:]
    assert [one.id for one in await stores.admissions.claim("g", rows, LEASE)] == rows[:1], "the holder may go on"
    await stores.admissions.release("g", rows, LEASE)
    assert [one.log_id for one in await stores.admissions.find_pending(limit=10)] == rows[:1]


async def test_a_lease_ends_unless_it_is_renewed(stores: Stores, clock: ManualClock) -> None:
    await stores.captures.add([capture(1)])
    await stores.admissions.claim("g", [UUID(int=1)], LEASE)
    for _ in range(3):
        clock.forward(timedelta(seconds=20))
        await stores.admissions.renew("g", [UUID(int=1)], LEASE)
        assert await stores.admissions.claim("g", [UUID(int=1)], OTHER_LEASE) == []
    clock.forward(timedelta(seconds=30))
    assert len(await stores.admissions.find_pending(limit=10)) == 1
    assert len(await stores.admissions.claim("g", [UUID(int=1)], OTHER_LEASE)) == 1
    await stores.admissions.renew("g", [UUID(int=1)], LEASE)
    assert await stores.admissions.claim("g", [UUID(int=1)], LEASE) == [], "who lost a lease cannot renew it"


async def test_only_the_holder_of_a_lease_postpones(stores: Stores, clock: ManualClock) -> None:
    await stores.captures.add([capture(1)])
    clock.forward(timedelta(minutes=1))
    await stores.admissions.claim("g", [UUID(int=1)], LEASE)
    waits = Verdict(check="self_consistency", outcome=Outcome.PENDING, reason="verdict_judge_pending", at=START)
    await stores.admissions.postpone("g", [UUID(int=1)], OTHER_LEASE)
    assert await stores.admissions.fail("g", UUID(int=1), OTHER_LEASE) == 0
    await stores.admissions.hold("g", UUID(int=1), waits, tries=1, lease=OTHER_LEASE)
    await stores.admissions.release("g", [UUID(int=1)], OTHER_LEASE)
    row = await stores.quarantine.get("g", UUID(int=1))
    assert row is not None
    assert (row.attempts, row.verdicts) == (0, ())
    assert await stores.admissions.claim("g", [UUID(int=1)], OTHER_LEASE) == []


async def test_known_flags_and_those_of_a_newer_version_are_stored_together(stores: Stores) -> None:
    await stores.captures.add([capture(1)])
    async with stores.admissions.open("g", [UUID(int=1)]) as batch:
        await batch.settle([replace(settled(1), flags=(Flag.CONFLICT, "of_a_newer_version"))])
    row = await stores.quarantine.get("g", UUID(int=1))
    assert row is not None
    assert row.flags == ("conflict", "of_a_newer_version")


async def test_what_is_settled_stays_settled(stores: Stores) -> None:
    await stores.captures.add([capture(1)])
    async with stores.admissions.open("g", [UUID(int=1)]) as batch:
        assert batch.pending == {UUID(int=1)}
        await batch.settle([settled(1)])
    async with stores.admissions.open("g", [UUID(int=1)]) as batch:
        assert batch.pending == frozenset()
    row = await stores.quarantine.get("g", UUID(int=1))
    assert row is not None
    assert (row.admission, row.flags, row.attempts) == (Admission.ADMITTED, ("self_consistency_not_checked",), 1)
    assert row.verdicts == tuple(settled(1).verdicts)
    assert await stores.admissions.claim("g", [UUID(int=1)], LEASE) == []
    receipts = await stores.admissions.read_receipts("g", [UUID(int=1)])
    assert receipts == {UUID(int=1): (Admission.ADMITTED, row.verdicts)}


async def test_a_failure_before_the_end_settles_nothing(stores: Stores) -> None:
    await stores.captures.add([capture(1)])
    with pytest.raises(RuntimeError):
        async with stores.admissions.open("g", [UUID(int=1)]) as batch:
            await batch.settle([settled(1)])
            raise RuntimeError
    assert [one.id for one in await stores.admissions.claim("g", [UUID(int=1)], LEASE)] == [UUID(int=1)]


async def test_one_admission_at_a_time_in_a_group(stores: Stores) -> None:
    await stores.captures.add([capture(1)])
    order: list[str] = []

    async def admit(name: str, inside: asyncio.Event, go_on: asyncio.Event) -> None:
        async with stores.admissions.open("g", [UUID(int=1)]) as batch:
            order.append(f"{name} in")
            inside.set()
            await go_on.wait()
            if batch.pending:
                await batch.settle([settled(1)])
            order.append(f"{name} out")

    inside, go_on = asyncio.Event(), asyncio.Event()
    first = asyncio.create_task(admit("first", inside, go_on))
    await inside.wait()
    second = asyncio.create_task(admit("second", asyncio.Event(), go_on))
    go_on.set()
    await asyncio.gather(first, second)
    assert order == ["first in", "first out", "second in", "second out"]


async def test_what_working_memory_should_hold_can_be_read_back(stores: Stores) -> None:
    await stores.captures.add([capture(1), capture(2), capture(3)])
    async with stores.admissions.open("g", [UUID(int=number) for number in (1, 2, 3)]) as batch:
        await batch.settle([settled(1, vector=unit(1)), settled(2, Admission.REFUSED), settled(3, vector=unit(3))])
    since = START
    entries = await stores.admissions.read_admitted("g", since=since, capacity=CAPACITY)
    assert [one.id.int for one in entries] == [3, 1]
    assert entries[0].expires_at == settled(3).at + timedelta(hours=24)
    assert entries[0].embedding is not None
    assert np.allclose(entries[0].embedding, unit(3))
    assert [
        one.id.int for one in await stores.admissions.read_admitted("g", since=settled(1).at, capacity=CAPACITY)
    ] == [3]


async def test_a_rebuild_keeps_the_entries_of_agents_beside_a_flood(stores: Stores) -> None:
    captures = [replace(capture(number), agent_id="quiet" if number <= 3 else "flooder") for number in range(1, 20)]
    await stores.captures.add(captures)
    async with stores.admissions.open("g", [one.id for one in captures]) as batch:
        await batch.settle([settled(number) for number in range(1, 20)])
    capacity = WorkingCapacity(size=10, agent_size=5)
    entries = await stores.admissions.read_admitted("g", since=START, capacity=capacity)
    assert [one.id.int for one in entries] == [19, 18, 17, 16, 15, 14, 13, 3, 2, 1]


async def test_a_sighting_is_kept_with_its_entry(stores: Stores) -> None:
    await stores.captures.add([capture(1), capture(2)])
    seen = Sighting(entry_id=UUID(int=1), layer=Layer.WORKING)
    async with stores.admissions.open("g", [UUID(int=2)]) as batch:
        again = settled(2, Admission.REFUSED)
        await batch.settle([replace(again, sightings=[seen])])
    receipts = await stores.admissions.read_receipts("g", [UUID(int=2)])
    assert receipts[UUID(int=2)][0] is Admission.REFUSED
