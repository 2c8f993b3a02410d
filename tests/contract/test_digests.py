"""Digests: one at a time in a group, taken over but never done twice, and which rows they look at."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from clearwell.ports import AddDueResult, AdmissionResult, CandidateFilter, DigestAttempt, SegmentedOutput, Stores
from clearwell.records import (
    Admission,
    Contradiction,
    Digest,
    DigestStatus,
    GroupChange,
    Insight,
    InsightSide,
    InsightSource,
    InsightState,
    Json,
    Layer,
    Note,
    Outcome,
    Segment,
    SegmentKind,
    Sentence,
    Sighting,
    Statement,
    Support,
    Tombstone,
    TombstoneKind,
    Vector,
    Verdict,
    Writer,
)
from tests.contract.ports import START, capture, event, promote, promotion, settled, unit

LATER = START + timedelta(hours=2)
LEASE_END = LATER + timedelta(seconds=30)
ALL = CandidateFilter(group_id="g", model="m", without_types=("fact_check",))


def digest(number: int, group_id: str = "g", *, tick: int | None = None) -> Digest:
    return Digest(
        id=UUID(int=9000 + number),
        group_id=group_id,
        status=DigestStatus.QUEUED,
        requested_by="ann",
        created_at=START + timedelta(seconds=number),
        due_at=None if tick is None else START + timedelta(days=tick),
    )


def insight(number: int, of: Digest, *sources: int) -> Insight:
    return Insight(
        id=UUID(int=7000 + number),
        group_id=of.group_id,
        digest_id=of.id,
        version=1,
        state=InsightState.PENDING,
        summary="“output 1”",
        written_by=Writer.EXTRACTIVE,
        sources=tuple(source(one) for one in sources),
        contradictions=(
            Contradiction(
                of=UUID(int=1),
                against=UUID(int=2),
                layer=Layer.QUARANTINE,
                reason="contradiction_by_model",
                params={"why": "五 / 7"},
            ),
        ),
        flags=("single_author",),
        support=Support(agents=1, sessions=1, days=1, rows=len(sources)),
        score=0.5,
        created_at=LATER,
        changed_at=LATER,
        embedding=unit(1),
        embedding_model="m",
        sentences=(Sentence(text="output 1", sources=(UUID(int=1),)),),
        notes=(Note(code="insight_near_rejected", params={"at": "2026-01-01", "why": "wrong"}),),
        sides=(InsightSide(statement="五", log_ids=(UUID(int=1),), support=Support(agents=1, rows=1)),),
    )


def source(number: int) -> InsightSource:
    return InsightSource(
        log_id=UUID(int=number),
        agent_id="a1",
        session_id="s1",
        node_id="n1",
        node_type="agent",
        occurred_at=START - timedelta(days=1),
        confidence=0.9,
        admission=Admission.ADMITTED,
        content=f"output {number}",
        flags=("self_consistency_not_checked",),
        statement="says one" if number == 1 else None,
        number=number,
        span=(0, 6) if number == 1 else None,
        side=0 if number == 1 else None,
        captured_by="tester",
    )


async def keep(stores: Stores, *numbers: int, group_id: str = "g", node_type: str = "agent") -> None:
    await stores.captures.add([replace(capture(one, group_id), node_type=node_type) for one in numbers])


def claim(log_id: UUID, number: int, vector: Vector | None = None) -> Statement:
    return Statement(
        log_id=log_id,
        number=number,
        segment=Segment(start=10 * (number - 1), end=10 * (number - 1) + 6, kind=SegmentKind.CLAIM),
        embedding=vector,
        embedding_model=None if vector is None else "m",
    )


def segmented(one: AdmissionResult, *more: Statement) -> AdmissionResult:
    """With the claim that an insight with this row as a source is based on, and others."""
    own = claim(one.log_id, one.log_id.int, one.embedding)
    output = SegmentedOutput(log_id=one.log_id, version=1, model="m", statements=(own, *more))
    return replace(one, segmented=output)


async def settle(stores: Stores, *settlements: AdmissionResult, group_id: str = "g") -> None:
    async with stores.admissions.open(group_id, [one.log_id for one in settlements]) as batch:
        await batch.settle([one if one.segmented is not None else segmented(one) for one in settlements])


async def candidates(stores: Stores, where: CandidateFilter = ALL) -> list[int]:
    """The rows that have a candidate."""
    return [
        one.log_id.int for one in await stores.digest_material.list_rows(where, after=None, limit=100) if one.statements
    ]


async def begun(stores: Stores, number: int = 1) -> tuple[Digest, DigestAttempt]:
    asked = await stores.digests.request(digest(number), event=event(100 + number))
    taken = await stores.digest_runs.claim("g", asked.id, at=LATER, until=LEASE_END)
    assert taken is not None
    return taken, DigestAttempt(group_id="g", digest_id=taken.id, number=taken.attempts)


def done(one: Digest) -> Digest:
    return replace(one, note="digest_done", note_params={"insights": 1}, report={"rows": 2}, finished_at=LATER)


async def test_a_second_request_is_answered_with_the_open_one(stores: Stores) -> None:
    first = await stores.digests.request(digest(1), event=event(1))
    assert (first.id, first.status, first.progress) == (digest(1).id, DigestStatus.QUEUED, 0.0)
    assert (await stores.digests.request(digest(2), event=event(2))).id == first.id
    assert (await stores.digests.request(digest(3, "other"), event=event(3, "other"))).id == digest(3).id
    due = [("g", digest(1).id), ("other", digest(3).id)]
    assert [(one.group_id, one.digest_id) for one in await stores.digest_runs.find_due(at=LATER)] == due
    taken = await stores.digest_runs.claim("g", first.id, at=LATER, until=LEASE_END)
    assert taken is not None
    assert (await stores.digests.request(digest(4), event=event(4))).status is DigestStatus.RUNNING
    assert [(one.group_id, one.digest_id) for one in await stores.digest_runs.find_due(at=LATER)] == due[1:]
    assert [(one.group_id, one.digest_id) for one in await stores.digest_runs.find_due(at=LEASE_END)] == due


async def test_a_tick_has_one_digest_and_waits_for_an_open_one(stores: Stores) -> None:
    asked, run = await begun(stores)
    assert await stores.digest_runs.add_due(digest(2, tick=7), event=event(2)) is AddDueResult.BUSY
    assert await stores.digest_runs.finish(run, done(asked), [], considered=[], replaced={}, event=event(3))
    assert await stores.digest_runs.add_due(digest(2, tick=7), event=event(4)) is AddDueResult.ADDED
    assert await stores.digest_runs.add_due(digest(3, tick=7), event=event(5)) is AddDueResult.ALREADY_ADDED
    assert await stores.digest_runs.add_due(digest(4, tick=14), event=event(6)) is AddDueResult.BUSY
    assert await stores.digest_runs.add_due(digest(5, "other", tick=7), event=event(7, "other")) is AddDueResult.ADDED


async def test_a_digest_is_found_by_its_id_in_its_group_or_without(stores: Stores) -> None:
    await stores.digests.request(digest(1), event=event(1))
    assert await stores.digests.find_group(digest(1).id) == "g"
    assert await stores.digests.find_group(digest(2).id) is None
    assert await stores.digests.get("other", digest(1).id) is None
    found = await stores.digests.get("g", digest(1).id)
    assert found is not None
    assert (found.requested_by, found.created_at, found.insights) == ("ann", digest(1).created_at, ())


async def test_pages_are_newest_first(stores: Stores) -> None:
    for number in (1, 2, 3):
        asked, run = await begun(stores, number)
        await stores.digest_runs.finish(run, done(asked), [], considered=[], replaced={}, event=event(number))
    assert [one.id.int for one in await stores.digests.page("g")] == [9003, 9002, 9001]
    assert [one.id.int for one in await stores.digests.page("g", before=UUID(int=9003), limit=1)] == [9002]
    assert await stores.digests.page("other") == []


async def test_a_later_try_takes_over_and_the_earlier_one_can_write_nothing(stores: Stores) -> None:
    await keep(stores, 1)
    await settle(stores, settled(1, vector=unit(1)))
    asked, first = await begun(stores)
    assert await stores.digest_runs.report(
        first, progress=0.4, note="digest_stage_reading", params={"done": 1, "of": 2}
    )
    hour = timedelta(hours=1)
    taken = await stores.digest_runs.claim("g", asked.id, at=LATER + hour, until=LATER + 2 * hour)
    assert taken is not None
    assert (taken.attempts, taken.progress, taken.started_at) == (2, 0.0, LATER)
    shown = insight(1, asked, 1)
    assert not await stores.digest_runs.report(first, progress=0.5, note="x", params={})
    assert not await stores.digest_runs.renew(first, until=LATER + 3 * hour)
    assert not await stores.digest_runs.release(first)
    assert not await stores.digest_runs.postpone(first, again=LATER, note="x", params={})
    assert not await stores.digest_runs.fail(first, at=LATER, note="x", params={}, event=event(2))
    assert not await stores.digest_runs.finish(
        first, done(asked), [shown], considered=[UUID(int=1)], replaced={}, event=event(3)
    )
    assert await candidates(stores) == [1]
    second = replace(first, number=2)
    assert await stores.digest_runs.finish(
        second, done(asked), [shown], considered=[UUID(int=1)], replaced={}, event=event(4)
    )
    for group_id in ("g", "other"):
        assert await stores.digest_runs.claim(group_id, asked.id, at=LATER + 9 * hour, until=LATER + 10 * hour) is None


async def test_a_leased_digest_is_left_to_its_worker(stores: Stores) -> None:
    asked, run = await begun(stores)
    almost, late = LEASE_END - timedelta(seconds=1), LEASE_END + timedelta(minutes=1)
    assert await stores.digest_runs.claim("g", asked.id, at=almost, until=late) is None
    assert await stores.digest_runs.renew(run, until=late)
    assert await stores.digest_runs.claim("g", asked.id, at=LEASE_END, until=late) is None
    assert await stores.digest_runs.release(run)
    taken = await stores.digest_runs.claim("g", asked.id, at=almost, until=late)
    assert taken is not None
    assert taken.attempts == 2


async def test_a_try_that_is_put_off_waits_with_its_reason_and_one_that_fails_has_ended(stores: Stores) -> None:
    asked, run = await begun(stores)
    assert await stores.digest_runs.postpone(run, again=LEASE_END, note="digest_put_off", params={"attempt": 1})
    found = await stores.digests.get("g", asked.id)
    assert found is not None
    assert (found.status, found.note, found.note_params) == (DigestStatus.QUEUED, "digest_put_off", {"attempt": 1})
    assert await stores.digest_runs.find_due(at=LEASE_END - timedelta(seconds=1)) == []
    assert await stores.digest_runs.claim("g", asked.id, at=LATER, until=LEASE_END) is None, "not before its time"
    await stores.digest_runs.claim("g", asked.id, at=LEASE_END, until=LEASE_END + timedelta(minutes=1))
    later = replace(run, number=2)
    assert await stores.digest_runs.fail(later, at=LATER, note="digest_failed", params={"attempts": 2}, event=event(2))
    found = await stores.digests.get("g", asked.id)
    assert found is not None
    assert (found.status, found.finished_at, found.note) == (DigestStatus.FAILED, LATER, "digest_failed")
    assert await stores.digest_runs.find_due(at=LEASE_END + timedelta(days=1)) == []
    assert (await stores.digests.request(digest(2), event=event(3))).id == digest(2).id


async def test_what_a_digest_shows_is_read_as_it_was_made(stores: Stores) -> None:
    await keep(stores, 1, 2)
    await settle(stores, settled(1, vector=unit(1)), settled(2, vector=unit(2)))
    asked, run = await begun(stores)
    first, second = insight(1, asked, 1), insight(2, asked, 2)
    ids = [UUID(int=1), UUID(int=2)]
    assert await stores.digest_runs.finish(
        run, done(asked), [first, second], considered=ids, replaced={}, event=event(2)
    )
    found = await stores.digests.get("g", asked.id)
    assert found is not None
    assert (found.status, found.progress, found.finished_at) == (DigestStatus.DONE, 1.0, LATER)
    assert (found.note, found.note_params, found.report) == ("digest_done", {"insights": 1}, {"rows": 2})
    assert [one.id for one in found.insights] == [first.id, second.id]
    shown = found.insights[0]
    bare = tuple(replace(one, verdicts=()) for one in shown.sources)
    assert replace(shown, sources=bare) == first
    assert [one.id for one in await stores.digest_material.list_undecided("g", "m")] == [first.id, second.id]
    assert await stores.digest_material.list_undecided("g", "another") == []
    assert await stores.digest_material.list_undecided("other", "m") == []


async def test_an_undecided_insight_has_its_rows_with_the_statements_it_is_based_on(stores: Stores) -> None:
    await keep(stores, 1, 2)
    other = claim(UUID(int=1), 2, unit(2))
    await settle(stores, segmented(settled(1, vector=unit(1)), other), settled(2, vector=unit(2)))
    asked, run = await begun(stores)
    ids = [UUID(int=1), UUID(int=2)]
    shown = insight(1, asked, 1)
    await stores.digest_runs.finish(run, done(asked), [shown], considered=ids, replaced={}, event=event(2))
    (found,) = await stores.digest_material.list_undecided("g", "m")
    assert (found.id, found.has_sides) == (shown.id, bool(shown.sides))
    (row,) = found.rows
    assert row.log_id == UUID(int=1)
    assert row.content.startswith(row.content[: row.statements[0].segment.end])
    spans = [(one.segment.start, one.segment.end) for one in row.statements]
    assert spans == [source.span for source in shown.sources]
    assert all(one.embedding is not None for one in row.statements)
    (again,) = await stores.digest_material.list_rows(ALL, after=None, limit=1)
    assert {one.number for one in again.statements}.isdisjoint(one.number for one in row.statements)


async def test_an_insight_that_a_digest_replaces_is_merged_unless_it_was_decided(stores: Stores) -> None:
    await keep(stores, 1, 2, 3)
    await settle(stores, *(settled(number, vector=unit(number)) for number in (1, 2, 3)))
    asked, run = await begun(stores)
    open_one, decided = insight(1, asked, 1), insight(2, asked, 2)
    await stores.digest_runs.finish(run, done(asked), [open_one, decided], considered=[], replaced={}, event=event(2))
    async with stores.decisions.transaction("g") as transaction:
        await transaction.update_insight(replace(decided, state=InsightState.PROMOTED, version=2))
    asked, run = await begun(stores, 2)
    dispute = insight(3, asked, 3, 1, 2)
    replaced = {open_one.id: dispute.id, decided.id: dispute.id}
    assert await stores.digest_runs.finish(
        run, done(asked), [dispute], considered=[], replaced=replaced, event=event(3)
    )
    async with stores.decisions.transaction("g") as transaction:
        found = await transaction.find_insights([open_one.id, decided.id])
    merged = found[open_one.id]
    assert (merged.state, merged.merged_into, merged.version) == (InsightState.MERGED, dispute.id, 2)
    assert merged.changed_at == LATER
    assert (found[decided.id].state, found[decided.id].merged_into) == (InsightState.PROMOTED, None)
    assert [one.id for one in await stores.digest_material.list_undecided("g", "m")] == [dispute.id]


async def test_candidates_are_settled_rows_that_no_insight_has_shown(stores: Stores) -> None:
    await keep(stores, 1, 2, 3, 4)
    await keep(stores, 5, node_type="fact_check")
    await keep(stores, 6, group_id="other")
    await settle(stores, settled(1, vector=unit(1)), settled(2, Admission.REFUSED), settled(3), settled(5))
    assert await stores.digest_material.count_unsettled("g") == 1
    assert await candidates(stores) == [1, 2, 3]
    assert await candidates(stores, replace(ALL, without_types=())) == [1, 2, 3, 5]
    asked, run = await begun(stores)
    ids = [UUID(int=one) for one in (1, 2, 3)]
    await stores.digest_runs.finish(
        run, done(asked), [insight(1, asked, 1)], considered=ids, replaced={}, event=event(2)
    )
    assert await candidates(stores) == [2, 3]


async def test_other_claims_of_a_shown_row_stay_candidates(stores: Stores) -> None:
    await keep(stores, 1)
    question = replace(claim(UUID(int=1), 3), segment=Segment(start=0, end=6, kind=SegmentKind.QUESTION))
    await settle(stores, segmented(settled(1, vector=unit(1)), claim(UUID(int=1), 2, unit(2)), question))
    (row,) = await stores.digest_material.list_rows(ALL, after=None, limit=10)
    assert [one.number for one in row.statements] == [1, 2]
    asked, run = await begun(stores)
    made = insight(1, asked, 1)
    await stores.digest_runs.finish(run, done(asked), [made], considered=[UUID(int=1)], replaced={}, event=event(2))
    async with stores.decisions.transaction("g") as transaction:
        await transaction.mark_decided({UUID(int=1): made.id})
    (row,) = await stores.digest_material.list_rows(ALL, after=None, limit=10)
    assert [one.number for one in row.statements] == [2]
    assert row.considered == 1


async def test_a_row_without_statements_yet_is_waited_for(stores: Stores) -> None:
    await keep(stores, 1)
    async with stores.admissions.open("g", [UUID(int=1)]) as batch:
        await batch.settle([settled(1)])
    assert await stores.digest_material.list_rows(ALL, after=None, limit=10) == []
    assert await stores.digest_material.count_unsettled("g") == 1
    output = SegmentedOutput(log_id=UUID(int=1), version=1, model="m", statements=(claim(UUID(int=1), 1),))
    await stores.statements.put("g", [output])
    assert await stores.digest_material.count_unsettled("g") == 0
    assert await candidates(stores) == [1]


async def test_contents_of_rows_are_read_by_their_ids(stores: Stores) -> None:
    await keep(stores, 1, 2)
    await keep(stores, 3, group_id="other")
    found = await stores.digest_material.read_contents("g", [UUID(int=2), UUID(int=3)])
    assert found == {UUID(int=2): "output 2"}


async def test_a_row_is_looked_at_so_often_and_no_more(stores: Stores) -> None:
    await keep(stores, 1)
    await settle(stores, settled(1))
    for number in range(1, 5):
        (found,) = await stores.digest_material.list_rows(ALL, after=None, limit=10)
        assert found.considered == number - 1
        asked, run = await begun(stores, number)
        await stores.digest_runs.finish(
            run, done(asked), [], considered=[UUID(int=1)], replaced={}, event=event(number)
        )
    assert await candidates(stores) == []


async def test_an_echo_and_an_instruction_are_no_candidates_and_a_repeat_is(stores: Stores) -> None:
    await keep(stores, 1, 2, 3, 4)
    seen = replace(
        settled(2, Admission.REFUSED, vector=unit(2)), sightings=[Sighting(entry_id=UUID(int=1), layer=Layer.WORKING)]
    )
    refused = settled(3, Admission.REFUSED)
    echo = Verdict(check="echo", outcome=Outcome.FAIL, reason="verdict_echo", at=refused.at, params={"of": "x"})
    order = settled(4, Admission.REFUSED)
    spoken = Verdict(check="instruction", outcome=Outcome.FAIL, reason="verdict_instruction", at=order.at)
    await settle(stores, settled(1), seen, replace(refused, verdicts=[echo]), replace(order, verdicts=[spoken]))
    assert await candidates(stores) == [1, 2]


async def test_what_a_person_admitted_is_a_candidate(stores: Stores) -> None:
    await keep(stores, 1)
    refused = settled(1, Admission.REFUSED)
    echo = Verdict(check="echo", outcome=Outcome.FAIL, reason="verdict_echo", at=refused.at)
    await settle(stores, replace(refused, verdicts=[echo]))
    later = refused.at + timedelta(minutes=1)
    async with stores.admissions.open("g", []) as batch:
        admitted = replace(refused, state=Admission.ADMITTED, at=later, verdicts=[replace(echo, at=later)])
        assert await batch.admit_refused(admitted, event=event(9))
    assert await candidates(stores) == [1]


async def test_a_candidate_has_what_its_row_has(stores: Stores) -> None:
    odd: dict[str, Json] = {"confidence": "high", "confidence_score": 0.7}
    await stores.captures.add([capture(1), replace(capture(2), metadata=odd), replace(capture(3), metadata={})])
    await settle(stores, settled(1, vector=unit(1)), settled(2, Admission.REFUSED), settled(3))
    first, second, third = await stores.digest_material.list_rows(ALL, after=None, limit=10)
    assert (first.content, first.agent_id, first.session_id, first.node_id) == ("output 1", "a1", "s1", "n1")
    assert (first.occurred_at, first.confidence) == (START - timedelta(days=1), 0.9)
    assert (first.admission, first.flags) == (Admission.ADMITTED, ("self_consistency_not_checked",))
    (said,) = first.statements
    assert said.embedding is not None
    assert said.embedding[1] == pytest.approx(1.0)
    assert (second.admission, second.confidence) == (Admission.REFUSED, None)
    assert [one.embedding for one in second.statements] == [None]
    assert third.confidence is None
    page = await stores.digest_material.list_rows(ALL, after=first.log_id, limit=1)
    assert [one.log_id for one in page] == [second.log_id]
    assert await stores.digest_material.count_rows(ALL) == 3


async def test_vectors_of_another_model_are_left_out(stores: Stores) -> None:
    await keep(stores, 1)
    await settle(stores, settled(1, vector=unit(1)))
    (row,) = await stores.digest_material.list_rows(replace(ALL, model="another"), after=None, limit=10)
    assert [(one.embedding, one.embedding_model) for one in row.statements] == [(None, None)]


async def test_what_the_group_knows_and_has_refused(stores: Stores) -> None:
    await promote(stores, "g", [promotion(1, vectors=[unit(1), unit(2)])])
    await promote(stores, "g", [promotion(2, agent_id="a1")])
    known = await stores.digest_material.list_verified("g", "m")
    assert [(one.id.int, one.content) for one in known] == [(1001, "memory 1 chunk 0"), (1001, "memory 1 chunk 1")]
    assert await stores.digest_material.list_verified("g", "another") == []
    stone = Tombstone(
        id=UUID(int=1), group_id="g", kind=TombstoneKind.REJECTED, reason="wrong", made_by="ann", made_at=START
    )
    forgotten = replace(stone, id=UUID(int=2), kind=TombstoneKind.FORGOTTEN)
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_tombstone(stone, b"1", embedding=unit(4), model="m")
        await transaction.insert_tombstone(forgotten, b"2", embedding=None, model=None)
    (rejected,) = await stores.digest_material.list_rejected("g", "m")
    assert (rejected.reason, rejected.at, int(rejected.embedding.argmax())) == ("wrong", START, 4)
    assert await stores.digest_material.list_refused_values("g") == {b"1", b"2"}
    async with stores.decisions.transaction("g") as transaction:
        await transaction.lift_tombstone(UUID(int=1), by="ann", at=START)
    assert await stores.digest_material.list_refused_values("g") == {b"2"}
    assert await stores.digest_material.list_rejected("g", "m") == []


async def test_agents_whose_insights_nobody_decided_on_are_not_counted(stores: Stores) -> None:
    await stores.captures.add([capture(1)])
    await stores.digests.request(digest(1), event=event(1))
    assert await stores.digest_material.count_decisions("g") == {}


async def test_a_group_is_scheduled_from_its_first_settled_row_also_where_nothing_was_admitted(stores: Stores) -> None:
    await keep(stores, 1, 2)
    await keep(stores, 3, group_id="refused")
    await keep(stores, 4, group_id="pending")
    await settle(stores, settled(1))
    await settle(stores, settled(2))
    await settle(stores, settled(3, Admission.REFUSED), group_id="refused")
    found = await stores.digest_runs.list_schedules()
    assert [(one.group_id, one.since, one.cron, one.zone) for one in found] == [
        ("g", settled(1).at, None, None),
        ("refused", settled(3).at, None, None),
    ]


async def test_whether_anything_was_captured_in_a_group(stores: Stores) -> None:
    assert not await stores.digest_material.has_rows("g")
    await keep(stores, 1)
    assert await stores.digest_material.has_rows("g")
    assert not await stores.digest_material.has_rows("other")


async def test_a_schedule_counts_from_when_it_was_changed(stores: Stores) -> None:
    """Changing the prompt, or saying the same schedule again, is no change of it."""
    await keep(stores, 1)
    await settle(stores, settled(1))
    days = [START + timedelta(days=day) for day in range(6)]
    changes = [
        GroupChange(system_prompt="x"),
        GroupChange(digest_cron="0 4 * * *"),
        GroupChange(digest_cron="0 4 * * *", system_prompt="y"),
        GroupChange(digest_zone="Asia/Shanghai"),
        GroupChange(digest_cron=None),
    ]
    since = []
    for number, change in enumerate(changes, start=1):
        await stores.groups.change("g", change, event=replace(event(number), at=days[number]))
        (only,) = await stores.digest_runs.list_schedules()
        since.append(only.since)
    assert since == [settled(1).at, days[2], days[2], days[4], days[5]]


async def test_a_schedule_that_comes_before_its_first_output_counts_from_that(stores: Stores) -> None:
    await stores.groups.change("g", GroupChange(digest_zone="UTC"), event=event(1))
    await keep(stores, 1)
    await settle(stores, settled(1))
    (only,) = await stores.digest_runs.list_schedules()
    assert (only.since, only.zone) == (settled(1).at, "UTC")
