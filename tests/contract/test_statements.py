"""Statements of outputs: stored with an admission or by the worker, and found again when they are outdated."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np

from clearwell.ports import DueOutput, OutdatedOutput, SegmentedOutput, Stores
from clearwell.records import Admission, Segment, SegmentKind, Statement, Vector
from clearwell.vocabulary import RULES
from tests.contract.ports import capture, event, settled, unit

NOW = datetime(2026, 11, 2, 9, tzinfo=UTC)


def statement(
    log: int, number: int, *, vector: Vector | None = None, kind: SegmentKind = SegmentKind.CLAIM
) -> Statement:
    segment = Segment(
        start=10 * number, end=10 * number + 9, kind=kind, headings=("Plan", '预算 "2026"'), lead_in="Costs, in €:"
    )
    model = None if vector is None else "m"
    return Statement(log_id=UUID(int=log), number=number, segment=segment, embedding=vector, embedding_model=model)


def segmented(
    log: int,
    *statements: Statement,
    version: int = 1,
    model: str = "m",
    segmenter: str = RULES,
    due_at: datetime | None = None,
) -> SegmentedOutput:
    return SegmentedOutput(
        log_id=UUID(int=log), version=version, model=model, statements=statements, segmenter=segmenter, due_at=due_at
    )


async def settle(stores: Stores, number: int, output: SegmentedOutput | None = None, group_id: str = "g") -> None:
    await stores.captures.add([capture(number, group_id)])
    async with stores.admissions.open(group_id, [UUID(int=number)]) as batch:
        await batch.settle([replace(settled(number), segmented=output)])


async def find(stores: Stores, *, version: int = 1, model: str = "m", limit: int = 10) -> list[tuple[str, int]]:
    found = await stores.statements.find_outdated(version=version, model=model, limit=limit)
    assert all(isinstance(one, OutdatedOutput) for one in found)
    return sorted((one.group_id, one.log_id.int) for one in found)


async def test_statements_are_stored_with_the_admission(stores: Stores) -> None:
    kept = [statement(1, 0, kind=SegmentKind.STRUCTURE), statement(1, 1, vector=unit(3, tilt=0.5))]
    await settle(stores, 1, segmented(1, *kept))
    found = await stores.statements.read("g", [UUID(int=1)])
    assert list(found[UUID(int=1)]) == kept
    assert found[UUID(int=1)][0].embedding is None
    vector = found[UUID(int=1)][1].embedding
    assert vector is not None
    np.testing.assert_allclose(vector, unit(3, tilt=0.5), atol=1e-3)
    assert await stores.statements.read("other", [UUID(int=1)]) == {}
    row = await stores.quarantine.get("g", UUID(int=1))
    assert row is not None
    assert list(row.statements or ()) == kept


async def test_an_output_without_segments_differs_from_one_that_was_not_segmented(stores: Stores) -> None:
    await settle(stores, 1, segmented(1))
    await settle(stores, 2)
    found = await stores.statements.read("g", [UUID(int=1), UUID(int=2)])
    assert {log_id.int: list(of) for log_id, of in found.items()} == {1: []}
    rows = [await stores.quarantine.get("g", UUID(int=number)) for number in (1, 2)]
    assert [None if row is None else row.statements for row in rows] == [(), None]


async def test_statements_of_several_outputs_replace_earlier_ones(stores: Stores) -> None:
    await settle(stores, 1, segmented(1, statement(1, 0), statement(1, 1)))
    await settle(stores, 2)
    await stores.statements.put(
        "g", [segmented(1, statement(1, 0), version=2), segmented(2, statement(2, 0), version=2)]
    )
    found = await stores.statements.read("g", [UUID(int=1), UUID(int=2)])
    assert {log_id.int: [one.number for one in of] for log_id, of in found.items()} == {1: [0], 2: [0]}
    await stores.statements.put("g", [])


async def test_outputs_of_any_group_are_found_by_an_older_version_or_another_model(stores: Stores) -> None:
    await settle(stores, 1)
    await settle(stores, 2, segmented(2, version=2, model=""), "h")
    await settle(stores, 3, segmented(3, version=2))
    await settle(stores, 4, segmented(4, version=3, model="newer"))
    await settle(stores, 5, segmented(5, version=1))
    await stores.captures.add([capture(6)])
    assert await find(stores, version=2) == [("g", 1), ("g", 5), ("h", 2)]
    assert await find(stores, version=2, model="another") == [("g", 1), ("g", 3), ("g", 5), ("h", 2)]
    assert len(await find(stores, version=2, limit=2)) == 2
    await stores.statements.put("g", [segmented(1, version=2), segmented(5, version=2)])
    assert await find(stores, version=2) == [("h", 2)]


async def test_an_output_that_is_pending_again_is_left_to_its_admission(stores: Stores) -> None:
    await stores.captures.add([capture(1)])
    async with stores.admissions.open("g", [UUID(int=1)]) as batch:
        await batch.settle([settled(1, Admission.REFUSED)])
    assert await find(stores) == [("g", 1)]
    await stores.admissions.requeue("g", UUID(int=1), event=event(1))
    assert await find(stores) == []


async def test_an_output_keeps_its_statements_when_it_is_settled_again(stores: Stores) -> None:
    refused = replace(settled(1, Admission.REFUSED), segmented=segmented(1, statement(1, 0)))
    await stores.captures.add([capture(1)])
    for result in (refused, replace(settled(1), verdicts=())):
        async with stores.admissions.open("g", [UUID(int=1)]) as batch:
            await batch.settle([result])
        await stores.admissions.requeue("g", UUID(int=1), event=event(1))
    assert [one.number for one in (await stores.statements.read("g", [UUID(int=1)]))[UUID(int=1)]] == [0]
    assert await find(stores) == []


async def test_settled_outputs_are_read_to_segment_them(stores: Stores) -> None:
    await settle(stores, 1)
    await stores.captures.add([capture(2)])
    ids = [UUID(int=number) for number in (2, 1, 3)]
    assert list(await stores.statements.read_outputs("g", ids)) == [capture(1)]
    assert list(await stores.statements.read_outputs("other", ids)) == []


async def test_outputs_of_another_language_model_are_outdated(stores: Stores) -> None:
    for number, segmenter in ((1, RULES), (2, "a"), (3, "b"), (4, "c")):
        await settle(stores, number, segmented(number, segmenter=segmenter))
    await settle(stores, 5, segmented(5, segmenter="b", model="other"))

    async def find_outdated(segmenter: str) -> dict[int, bool]:
        found = await stores.statements.find_outdated(version=1, model="m", segmenter=segmenter, limit=9)
        return {one.log_id.int: one.keeps_segments for one in found}

    refused = replace(settled(6, Admission.REFUSED), segmented=segmented(6))
    await stores.captures.add([capture(6)])
    async with stores.admissions.open("g", [UUID(int=6)]) as batch:
        await batch.settle([refused])
    assert await stores.statements.find_admitted("g", [UUID(int=1), UUID(int=6), UUID(int=7)]) == {UUID(int=1)}
    assert await find_outdated("b") == {2: False, 4: False, 5: True}
    assert await find_outdated(RULES) == {2: False, 3: False, 4: False, 5: False}


async def test_outputs_that_a_model_is_to_be_asked_about_are_leased_and_postponed(stores: Stores) -> None:
    await settle(stores, 1, segmented(1))
    await settle(stores, 2, segmented(2, statement(2, 0), due_at=NOW))
    await settle(stores, 3, segmented(3, due_at=NOW - timedelta(hours=1)), "h")
    due = [DueOutput(group_id=group, log_id=UUID(int=log), attempts=0) for group, log in (("h", 3), ("g", 2))]
    store, second, later = stores.statements, UUID(int=2), NOW + timedelta(minutes=5)
    assert list(await store.find_due(now=NOW, limit=9)) == due
    assert list(await store.find_due(now=NOW, limit=1)) == due[:1]
    assert await store.lease("g", second, now=NOW, until=later)
    assert not await store.lease("g", second, now=NOW, until=later)
    assert not await store.lease("g", UUID(int=1), now=NOW, until=later)
    assert list(await store.find_due(now=NOW, limit=9)) == due[:1]
    await store.postpone("g", second, problem="writer_timeout", due_at=later)
    assert list(await store.find_due(now=later, limit=9)) == [due[0], replace(due[1], attempts=1)]
    row = await stores.quarantine.get("g", second)
    assert row is not None
    assert (row.segmented_by, row.segmenter_problem) == (RULES, "writer_timeout")
    await store.postpone("g", second, problem="writer_cut", due_at=None)
    assert list(await store.find_due(now=later, limit=9)) == due[:1]
    await store.put("g", [segmented(2, statement(2, 0), segmenter="a")])
    row = await stores.quarantine.get("g", second)
    assert row is not None
    assert (row.segmented_by, row.segmenter_problem) == ("a", None)
