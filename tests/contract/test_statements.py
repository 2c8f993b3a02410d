"""Statements of outputs: stored with an admission or by the worker, and found again when they are outdated."""

from dataclasses import replace
from uuid import UUID

import numpy as np

from clearwell.ports import OutdatedOutput, SegmentedOutput, Stores
from clearwell.records import Admission, Segment, SegmentKind, Statement, Vector
from tests.contract.ports import capture, event, settled, unit


def statement(
    log: int, number: int, *, vector: Vector | None = None, kind: SegmentKind = SegmentKind.CLAIM
) -> Statement:
    segment = Segment(
        start=10 * number, end=10 * number + 9, kind=kind, headings=("Plan", '预算 "2026"'), lead_in="Costs, in €:"
    )
    model = None if vector is None else "m"
    return Statement(log_id=UUID(int=log), number=number, segment=segment, embedding=vector, embedding_model=model)


def segmented(log: int, *statements: Statement, version: int = 1, model: str = "m") -> SegmentedOutput:
    return SegmentedOutput(log_id=UUID(int=log), version=version, model=model, statements=statements)


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
