"""What reviewers read: insights in order, what was decided on them, and on PostgreSQL what rests on what."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from clearwell.flow.working.recalls import RecallLog, UsageRecorder
from clearwell.ports import DecisionTransaction, MemoryFilter, Stores, WaitingPromotion
from clearwell.records import (
    Action,
    Admission,
    Decision,
    Insight,
    InsightState,
    Layer,
    Memory,
    MemoryState,
    NewMemory,
    Origin,
    PromotedPart,
    Promotion,
    Sighting,
    SourceSelector,
)
from clearwell.testing import ManualClock
from clearwell.vocabulary import IdKind
from tests.contract.ports import capture, event, promotion, settled, unit
from tests.contract.test_decisions import decision
from tests.contract.test_digests import LATER, begun, candidates, done, insight, keep, settle

DECIDED = LATER + timedelta(minutes=1)


async def shown(stores: Stores, *sources: Sequence[int], number: int = 1, flags: tuple[str, ...] = ()) -> list[Insight]:
    """A digest with an insight on each of these rows, which are captured first."""
    rows = sorted({row for each in sources for row in each})
    await keep(stores, *rows)
    await settle(stores, *(settled(row, vector=unit(row)) for row in rows))
    asked, run = await begun(stores, number)
    made = [
        replace(insight(10 * number + place, asked, *each), flags=flags if place == 0 else ())
        for place, each in enumerate(sources)
    ]
    ids = [UUID(int=row) for row in rows]
    assert await stores.digest_runs.finish(
        run, done(asked), made, considered=ids, replaced={}, event=event(200 + number)
    )
    return made


def from_insight(number: int, one: Insight) -> tuple[Promotion, Sequence[Memory]]:
    return _from(number, Origin.INSIGHT, one.id)


def from_row(number: int, row: int) -> tuple[Promotion, Sequence[Memory]]:
    return _from(number, Origin.QUARANTINE, UUID(int=row))


def _from(number: int, origin: Origin, origin_id: UUID) -> tuple[Promotion, Sequence[Memory]]:
    made, chunks = promotion(number)
    text = NewMemory(content=made.text.content, origin=origin, origin_id=origin_id)
    return replace(made, text=text), [replace(one, session_id=None, author=None) for one in chunks]


async def promote(transaction: DecisionTransaction, number: int, one: Insight) -> Decision:
    made = from_insight(number, one)
    await transaction.insert_promotions([made])
    await transaction.update_insight(replace(one, state=InsightState.PROMOTED, version=2, changed_at=DECIDED))
    return await record(
        transaction, number, insight_id=one.id, promotion_id=made[0].id, memory_id=made[0].memory_id, at=DECIDED
    )


async def record(transaction: DecisionTransaction, number: int, **more: object) -> Decision:
    taken = decision(number, **more)
    await transaction.record_decisions([(taken, event(300 + number))])
    return taken


def ids(found: Sequence[Insight]) -> list[int]:
    return [one.id.int for one in found]


async def test_the_newest_digest_comes_first_and_what_is_like_something_rejected_last(stores: Stores) -> None:
    await shown(stores, [1], [2])
    await shown(stores, [3], [4], [5], number=2, flags=("near_rejected",))
    assert ids(await stores.review.insights("g", now=LATER)) == [7021, 7022, 7020, 7010, 7011]
    assert ids(await stores.review.insights("g", now=LATER, limit=2)) == [7021, 7022]
    assert ids(await stores.review.insights("g", now=LATER, before=UUID(int=7022), limit=2)) == [7020, 7010]
    assert await stores.review.insights("other", now=LATER) == []


async def test_a_snoozed_insight_is_pending_when_its_time_has_come(stores: Stores) -> None:
    first, second = await shown(stores, [1], [2])
    async with stores.decisions.transaction("g") as transaction:
        await transaction.update_insight(replace(first, state=InsightState.SNOOZED, snoozed_until=DECIDED))
    asked = stores.review.insights
    assert ids(await asked("g", now=LATER, state=InsightState.PENDING)) == [second.id.int]
    assert ids(await asked("g", now=LATER, state=InsightState.SNOOZED)) == [first.id.int]
    assert ids(await asked("g", now=DECIDED, state=InsightState.PENDING)) == [first.id.int, second.id.int]
    assert await asked("g", now=DECIDED, state=InsightState.SNOOZED) == []


async def test_an_insight_is_read_as_it_was_made_and_as_it_was_changed(stores: Stores) -> None:
    (made,) = await shown(stores, [1, 2])
    assert await stores.review.insight("g", made.id) == made
    assert await stores.review.insight("other", made.id) is None
    changed = replace(made, version=2, summary="Other words.", changed_at=DECIDED, flags=("conflict",))
    changed = replace(changed, embedding=None, embedding_model=None)
    async with stores.decisions.transaction("g") as transaction:
        await transaction.update_insight(changed)
        assert (await transaction.find_insights([made.id, UUID(int=1)])) == {made.id: changed}
    assert await stores.review.insight("g", made.id) == changed


async def test_a_promoted_insight_has_the_text_that_was_promoted(stores: Stores) -> None:
    first, second = await shown(stores, [1], [2])
    async with stores.decisions.transaction("g") as transaction:
        taken = await promote(transaction, 5, first)
    text = from_insight(5, first)[0].text.content
    assert [one.promoted_text for one in await stores.review.insights("g", now=LATER)] == [text, None]
    async with stores.decisions.transaction("g") as transaction:
        await transaction.update_insight(replace(first, version=3))
        await record(transaction, 6, action=Action.UNDO, undoes=taken.id, insight_id=first.id)
    found = await stores.review.insight("g", first.id)
    assert found is not None
    assert found.promoted_text is None
    assert second.promoted_text is None


async def test_sources_are_united_once_and_separated_again(stores: Stores) -> None:
    first, second, third = await shown(stores, [1, 2], [2, 3], [3, 4])
    async with stores.decisions.transaction("g") as transaction:
        await transaction.merge_sources(first.id, [third.id, second.id])
        united = (await transaction.find_insights([first.id]))[first.id]
        assert [one.log_id.int for one in united.sources] == [1, 2, 3, 4]
        await transaction.separate_sources(first.id, [second.id, third.id])
        assert (await transaction.find_insights([first.id]))[first.id].sources == first.sources


async def test_decided_outputs_are_candidates_again_once_their_decision_is_cleared(stores: Stores) -> None:
    await keep(stores, 1, 2)
    await settle(stores, settled(1), settled(2))
    async with stores.decisions.transaction("g") as transaction:
        await transaction.mark_decided({UUID(int=1): UUID(int=8001)})
        await transaction.mark_decided({UUID(int=1): UUID(int=8002), UUID(int=2): UUID(int=8002)})
    assert await candidates(stores) == []
    async with stores.decisions.transaction("g") as transaction:
        await transaction.clear_judged(by=UUID(int=8002))
    assert await candidates(stores) == [2]
    async with stores.decisions.transaction("g") as transaction:
        await transaction.clear_judged(by=UUID(int=8001))
    assert await candidates(stores) == [1, 2]


async def test_a_transaction_that_fails_leaves_insights_as_they_were(stores: Stores) -> None:
    (made,) = await shown(stores, [1])
    with pytest.raises(ZeroDivisionError):
        async with stores.decisions.transaction("g") as transaction:
            await transaction.update_insight(replace(made, state=InsightState.REJECTED))
            await record(transaction, 1, action=Action.REJECT, insight_id=made.id)
            raise ZeroDivisionError
    assert await stores.review.insight("g", made.id) == made
    assert await stores.review.decisions("g") == []


async def test_decisions_are_read_newest_first_and_by_insight(stores: Stores) -> None:
    first, second = await shown(stores, [1], [2])
    async with stores.decisions.transaction("g") as transaction:
        snooze = await record(transaction, 1, action=Action.SNOOZE, insight_id=first.id, until=DECIDED)
        merge = await record(
            transaction, 2, action=Action.MERGE, insight_id=second.id, others=(first.id,), text_before="x"
        )
        undo = await record(transaction, 3, action=Action.UNDO, insight_id=second.id, undoes=merge.id)
    assert await stores.review.decisions("g") == [undo, merge, snooze]
    assert await stores.review.decisions("g", before=undo.id, limit=1) == [merge]
    assert await stores.review.decisions("g", insight_id=first.id) == [merge, snooze]
    assert await stores.review.decisions("other") == []
    async with stores.decisions.transaction("g") as transaction:
        assert await transaction.find_last_decision(first.id) == snooze
        assert await transaction.find_last_decision(second.id) is None


async def test_the_group_of_anything_is_found_by_its_id(stores: Stores) -> None:
    (made,) = await shown(stores, [1])
    async with stores.decisions.transaction("g") as transaction:
        taken = await promote(transaction, 1, made)
    assert taken.memory_id is not None
    named = {"insight": made.id, "decision": taken.id, "memory": taken.memory_id, "row": UUID(int=1)}
    assert {kind: await stores.review.group_of(kind, one) for kind, one in named.items()} == dict.fromkeys(named, "g")
    nothing = {kind: await stores.review.group_of(kind, UUID(int=4)) for kind in named}
    assert nothing == dict.fromkeys(named)


async def test_ids_are_found_by_their_last_characters_in_one_group(stores: Stores) -> None:
    (made,) = await shown(stores, [1])
    await keep(stores, 0x100000001)
    async with stores.decisions.transaction("g") as transaction:
        taken = await promote(transaction, 1, made)
    assert taken.memory_id is not None
    named = {
        IdKind.INSIGHT: made.id,
        IdKind.DECISION: taken.id,
        IdKind.MEMORY: taken.memory_id,
        IdKind.DIGEST: made.digest_id,
    }
    for kind, one in named.items():
        assert await stores.review.find_ids("g", kind, str(one)[-8:], limit=5) == [one]
        assert await stores.review.find_ids("other", kind, str(one)[-8:], limit=5) == []
    assert await stores.review.find_ids("g", IdKind.TOMBSTONE, str(made.id)[-8:], limit=5) == []
    both = [UUID(int=1), UUID(int=0x100000001)]
    assert await stores.review.find_ids("g", IdKind.ROW, "00000001", limit=5) == both
    assert await stores.review.find_ids("g", IdKind.ROW, "00000001", limit=1) == both[:1]
    assert await stores.review.find_ids("g", IdKind.ROW, "000100000001", limit=5) == both[1:]


async def test_statements_that_a_promoted_insight_rests_on_are_known(stores: Stores) -> None:
    first, _ = await shown(stores, [1, 2], [3])
    rows = [UUID(int=number) for number in (1, 2, 3)]
    async with stores.decisions.transaction("g") as transaction:
        taken = await promote(transaction, 1, first)
    assert await stores.longterm.find_promoted("g", rows, agent_id=None) == {PromotedPart(rows[0], (0, 6))}
    assert await stores.longterm.find_promoted("g", rows[1:], agent_id=None) == set()
    async with stores.decisions.transaction("g") as transaction:
        await record(transaction, 2, action=Action.UNDO, insight_id=first.id, undoes=taken.id)
    assert await stores.longterm.find_promoted("g", rows, agent_id=None) == set()


async def test_statements_of_a_side_that_was_not_promoted_are_not_known(stores: Stores) -> None:
    (one,) = await shown(stores, [1, 2])
    made = from_insight(1, one)
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([made])
        known = {"insight_id": one.id, "promotion_id": made[0].id, "memory_id": made[0].memory_id}
        await record(transaction, 1, side_sources=(UUID(int=2),), **known)
    assert await stores.longterm.find_promoted("g", [UUID(int=1), UUID(int=2)], agent_id=None) == set()


async def test_groups_with_insights_are_listed(real_stores: Stores) -> None:
    await shown(real_stores, [1])
    assert await real_stores.statistics.groups(limit=5) == ["g"]


async def test_an_insight_is_promoting_while_its_memory_is_to_come(stores: Stores) -> None:
    first, second = await shown(stores, [1], [2])
    made, chunks = from_insight(1, first)
    async with stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([(made, None)])
        await transaction.update_insight(replace(first, state=InsightState.PROMOTED))
        await record(transaction, 1, insight_id=first.id, promotion_id=made.id, memory_id=made.memory_id)
        assert (await transaction.find_insights([first.id]))[first.id].state is InsightState.PROMOTED
        await promote(transaction, 2, second)

    async def states() -> list[list[int]]:
        wanted = (InsightState.PROMOTING, InsightState.PROMOTED)
        return [ids(await stores.review.insights("g", now=DECIDED, state=one)) for one in wanted]

    assert await states() == [[first.id.int], [second.id.int]]
    read = await stores.review.insight("g", first.id)
    assert read is not None
    assert read.state is InsightState.PROMOTING
    waiting = WaitingPromotion(group_id="g", promotion_id=made.id)
    assert await stores.decisions.complete_waiting(waiting, chunks, value_hashes=[], event=event(9))
    assert sorted((await states())[1]) == [first.id.int, second.id.int]


async def test_a_memory_leads_to_its_insights_and_their_rows(real_stores: Stores) -> None:
    first, second, third = await shown(real_stores, [1], [2], [3])
    async with real_stores.decisions.transaction("g") as transaction:
        await transaction.merge_sources(second.id, [third.id])
        await transaction.update_insight(replace(third, state=InsightState.MERGED, merged_into=second.id))
        await transaction.merge_sources(first.id, [second.id])
        await transaction.update_insight(replace(second, state=InsightState.MERGED, merged_into=first.id))
        taken = await promote(transaction, 1, first)
        later = await record(transaction, 2, memory_id=None, supersedes=taken.memory_id)
    assert taken.memory_id is not None
    found = await real_stores.provenance.origin("g", taken.memory_id)
    assert found is not None
    assert [one.promotion.memory_id for one in found.promotions] == [taken.memory_id]
    assert list(found.decisions) == [taken, later]
    assert sorted(ids(found.insights)) == [first.id.int, second.id.int, third.id.int], "also what went into it before"
    assert [(one.capture.id.int, one.admission, len(one.verdicts)) for one in found.rows] == [
        (1, Admission.ADMITTED, 1),
        (2, Admission.ADMITTED, 1),
        (3, Admission.ADMITTED, 1),
    ]
    assert await real_stores.provenance.origin("other", taken.memory_id) is None
    assert await real_stores.provenance.origin("g", UUID(int=4)) is None


async def test_a_row_leads_to_the_memories_that_rest_on_it(real_stores: Stores) -> None:
    (made,) = await shown(real_stores, [1, 2])
    await keep(real_stores, 3, 4)
    seen = Sighting(entry_id=UUID(int=1), layer=Layer.WORKING)
    await settle(real_stores, replace(settled(3, Admission.REFUSED), sightings=[seen]))
    async with real_stores.decisions.transaction("g") as transaction:
        taken = await promote(transaction, 1, made)
        straight = from_row(2, 1)
        await transaction.insert_promotions([straight])
    found = await real_stores.provenance.influence("g", UUID(int=1))
    assert found is not None
    assert [one.promotion.memory_id for one in found.promotions] == [taken.memory_id, straight[0].memory_id]
    assert (found.decisions, ids(found.insights)) == ((taken,), [made.id.int])
    again = await real_stores.provenance.influence("g", UUID(int=3))
    assert again is not None
    assert (again.promotions, again.sightings_of) == ((), ((UUID(int=1), Layer.WORKING),))
    waits = await real_stores.provenance.influence("g", UUID(int=4))
    assert waits is not None
    assert [(one.admission, one.next_try_at) for one in waits.rows] == [
        (Admission.PENDING, capture(4).created_at + timedelta(seconds=2))
    ]
    assert await real_stores.provenance.influence("other", UUID(int=1)) is None


async def test_what_rests_on_a_row_a_session_or_an_agent_is_found_while_it_holds(real_stores: Stores) -> None:
    (made,) = await shown(real_stores, [1])
    await real_stores.captures.add([replace(capture(2), session_id="s2", agent_id="a2")])
    async with real_stores.decisions.transaction("g") as transaction:
        await promote(transaction, 1, made)
        await transaction.insert_promotions([from_row(2, 2), promotion(3, agent_id="a2")])

    async def dependents(**on: object) -> list[int]:
        found = await real_stores.provenance.find_dependents("g", SourceSelector(**on))  # type: ignore[arg-type]
        return [one.memory_id.int for one in found]

    assert await dependents(source=UUID(int=1)) == [1001]
    assert await dependents(session_id="s1") == [1001, 1003]
    assert await dependents(session_id="s2") == [1002]
    assert await dependents(agent_id="a2") == [1002, 1003]
    assert await dependents(agent_id="Ann") == [1003]
    async with real_stores.decisions.transaction("g") as transaction:
        await transaction.withdraw_memories([UUID(int=1002)], at=DECIDED)
    assert await dependents(agent_id="a2") == [1003]
    states = await real_stores.review.promotions("g", [UUID(int=1002), UUID(int=1001)])
    assert [(one.promotion.memory_id.int, one.state) for one in states] == [(1001, "verified"), (1002, "withdrawn")]


async def test_what_a_memory_rests_on_beside_what_is_meant_is_counted(real_stores: Stores) -> None:
    first, second = await shown(real_stores, [1, 2], [3])
    await keep(real_stores, 4)
    async with real_stores.decisions.transaction("g") as transaction:
        taken = await promote(transaction, 1, first)
        known = {"promotion_id": taken.promotion_id, "memory_id": taken.memory_id, "already": True}
        await record(transaction, 2, origin_id=UUID(int=4), **known)
        undone = await record(transaction, 3, insight_id=second.id, **known)
        await record(transaction, 4, action=Action.UNDO, undoes=undone.id)

    async def counted(number: int) -> list[tuple[int, int]]:
        found = await real_stores.provenance.find_dependents("g", SourceSelector(source=UUID(int=number)))
        return [(one.matching, one.others) for one in found]

    assert await counted(1) == [(1, 2)]
    assert await counted(4) == [(1, 2)], "its words were known when it was promoted"
    assert await counted(3) == [], "what was undone holds nothing"
    (all_,) = await real_stores.provenance.find_dependents("g", SourceSelector(agent_id="a1"))
    assert (all_.matching, all_.others) == (3, 0)


async def test_numbers_tell_how_review_goes(real_stores: Stores) -> None:
    first, second, _ = await shown(real_stores, [1], [2], [3])
    await real_stores.captures.add([replace(capture(4), agent_id="a2")])
    await settle(real_stores, settled(4))
    straight = from_row(2, 4)
    async with real_stores.decisions.transaction("g") as transaction:
        await promote(transaction, 1, first)
        await transaction.update_insight(replace(second, state=InsightState.REJECTED))
        await record(transaction, 2, action=Action.REJECT, insight_id=second.id, at=DECIDED + timedelta(minutes=2))
        await transaction.insert_promotions([straight, (promotion(3)[0], None)])
        await record(transaction, 3, promotion_id=straight[0].id, memory_id=straight[0].memory_id)
    await real_stores.statistics.note_uses("g", {UUID(int=1001): DECIDED, UUID(int=4): DECIDED})
    await real_stores.statistics.note_uses("g", {UUID(int=1001): DECIDED + timedelta(days=1)})
    found = await real_stores.statistics.statistics("g")
    assert found.insights == {"pending": 1, "promoted": 1, "rejected": 1}
    assert (found.lag_median, found.lag_p90) == pytest.approx((120.0, 168.0))
    assert (found.lag_sum, found.lag_count, found.oldest_pending_at) == (240.0, 2, LATER)
    assert (found.accepted.promoted, found.accepted.rejected) == (2, 1)
    assert [(one.by, one.promoted, one.rejected) for one in found.by_agent] == [("a1", 1, 1), ("a2", 1, 0)]
    assert [(one.by, one.promoted, one.rejected) for one in found.by_check] == [("length:pass", 2, 1)]
    assert (found.memories, found.memories_used, found.promoting) == (2, 1, 1)
    assert (found.digests, found.digests_yield) == (1, 0.5)


async def test_memories_are_listed_with_their_use_and_state(real_stores: Stores) -> None:
    kept, waiting, gone = promotion(1), (promotion(2)[0], None), promotion(3)
    async with real_stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([kept, waiting, gone])
        await transaction.withdraw_memories([gone[0].memory_id], at=DECIDED)
    for days in (0, 0, 1, 0):
        await real_stores.statistics.note_uses("g", {kept[0].memory_id: DECIDED + timedelta(days=days)})

    async def listed(before: UUID | None = None, limit: int = 50, **where: Any) -> list[UUID]:
        found = await real_stores.provenance.list_memories("g", where=MemoryFilter(**where), before=before, limit=limit)
        return [one.promotion.promotion.id for one in found]

    newest_first = [gone[0].id, waiting[0].id, kept[0].id]
    assert await listed() == newest_first
    assert await listed(limit=1) == newest_first[:1]
    assert await listed(before=gone[0].id) == newest_first[1:]
    assert await listed(state=MemoryState.VERIFIED) == [kept[0].id]
    assert await listed(state=MemoryState.PROMOTING) == [waiting[0].id]
    assert await listed(state=MemoryState.WITHDRAWN) == [gone[0].id]
    assert await listed(unused=True) == newest_first[:2]
    assert await listed(words=kept[0].text.content.upper()) == [kept[0].id]
    assert await listed(words="%") == []
    assert await listed(origin=Origin.INSIGHT) == []
    assert await listed(promoted_by=kept[0].decided_by, since=kept[0].decided_at) == newest_first
    assert await listed(until=kept[0].decided_at) == []
    found = await real_stores.provenance.list_memories("g", where=MemoryFilter(state=MemoryState.VERIFIED))
    assert (found[0].days_used, found[0].last_used_at) == (2, DECIDED + timedelta(days=1))


async def test_use_is_stored_with_its_time_also_after_a_restart(real_stores: Stores, clock: ManualClock) -> None:
    kept = promotion(1)
    async with real_stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([kept])

    async def record_use(*, restart_after: timedelta) -> tuple[int, datetime | None]:
        """Days of use and the last one, as another process stores them after this time."""
        clock.forward(restart_after)
        await UsageRecorder(RecallLog(real_stores.recalls), real_stores.statistics, clock).record()
        (found,) = await real_stores.provenance.list_memories("g", where=MemoryFilter())
        return found.days_used, found.last_used_at

    given: list[datetime] = []
    for agent_id, later in (("a1", timedelta(hours=20)), ("a2", timedelta(hours=5))):
        clock.forward(later)
        given.append(clock.now())
        await real_stores.recalls.record({("g", agent_id): [kept[0].memory_id]})
    assert given[0].date() < given[1].date()
    assert await record_use(restart_after=timedelta(hours=1)) == (2, given[1])
    assert await record_use(restart_after=timedelta(hours=1)) == (2, given[1])


async def test_memories_are_listed_by_the_sessions_and_agents_of_their_sources(real_stores: Stores) -> None:
    first, second = await shown(real_stores, [1], [2])
    async with real_stores.decisions.transaction("g") as transaction:
        await promote(transaction, 1, first)
        taken = await promote(transaction, 2, second)

    async def listed(**where: Any) -> list[UUID]:
        found = await real_stores.provenance.list_memories("g", where=MemoryFilter(**where))
        return [one.promotion.promotion.memory_id for one in found]

    assert await listed(session_id="s1") == [UUID(int=1002), UUID(int=1001)]
    assert await listed(agent_id="a1") == [UUID(int=1002), UUID(int=1001)]
    assert await listed(session_id="s2") == await listed(agent_id="a2") == []
    async with real_stores.decisions.transaction("g") as transaction:
        await record(transaction, 4, action=Action.UNDO, undoes=taken.id, insight_id=second.id)
    assert await listed(session_id="s1") == await listed(agent_id="a1") == [UUID(int=1001)]


async def test_memories_that_contradict_each_other_are_listed_as_disputed(real_stores: Stores) -> None:
    first, second, third = (promotion(number) for number in (1, 2, 3))
    pair = (first[0].memory_id, second[0].memory_id)
    async with real_stores.decisions.transaction("g") as transaction:
        await transaction.insert_promotions([first, second, third])
        await transaction.insert_conflicts([pair, pair[::-1]], at=DECIDED)
    disputed = MemoryFilter(disputed=True)
    found = await real_stores.provenance.list_memories("g", where=disputed)
    assert [one.conflicts_with for one in found] == [(pair[0],), (pair[1],)]
    async with real_stores.decisions.transaction("g") as transaction:
        await transaction.withdraw_memories([pair[0]], at=DECIDED)
    assert await real_stores.provenance.list_memories("g", where=disputed) == []


async def test_decided_insights_and_promoted_outputs_are_counted_by_agent(stores: Stores) -> None:
    first, second, _ = await shown(stores, [1], [2], [3])
    await stores.captures.add([replace(capture(4), agent_id="a2")])
    await settle(stores, settled(4))
    straight = from_row(2, 4)
    async with stores.decisions.transaction("g") as transaction:
        await promote(transaction, 1, first)
        await transaction.update_insight(replace(second, state=InsightState.REJECTED))
        await record(transaction, 2, action=Action.REJECT, insight_id=second.id)
        await transaction.insert_promotions([straight])
        await record(transaction, 3, promotion_id=straight[0].id, memory_id=straight[0].memory_id)
    assert await stores.digest_material.count_decisions("g") == {"a1": (1, 1), "a2": (1, 0)}
    async with stores.decisions.transaction("g") as transaction:
        await record(transaction, 4, action=Action.UNDO, undoes=UUID(int=9003))
    assert await stores.digest_material.count_decisions("g") == {"a1": (1, 1)}


async def test_numbers_of_a_group_without_anything(real_stores: Stores) -> None:
    found = await real_stores.statistics.statistics("g")
    assert (found.insights, found.lag_median, found.lag_count, found.oldest_pending_at) == ({}, None, 0, None)
    assert (found.by_agent, found.by_check, found.memories, found.digests_yield) == ([], [], 0, None)
    assert (found.accepted.promoted, found.accepted.rejected, found.accepted.rate) == (0, 0, None)
    assert await real_stores.statistics.calibration("g") == []
    assert await real_stores.statistics.groups(limit=5) == []


async def test_what_agents_stated_is_held_against_what_became_of_it(real_stores: Stores) -> None:
    first, second, _ = await shown(real_stores, [1], [2], [3])
    await real_stores.captures.add([replace(capture(4), agent_id=None, metadata={"confidence": "high"})])
    async with real_stores.decisions.transaction("g") as transaction:
        await promote(transaction, 1, first)
        await transaction.update_insight(replace(second, state=InsightState.REJECTED))
    stated, unstated = await real_stores.statistics.calibration("g")
    assert (stated.agent_id, stated.low, stated.high) == ("a1", 0.9, 1.0)
    assert stated.mean_stated == pytest.approx(0.9)
    assert (stated.entries, stated.promoted, stated.rejected, stated.conflict) == (3, 1, 1, 0)
    assert (unstated.agent_id, unstated.low, unstated.entries, unstated.promoted) == (None, None, 1, 0)
