"""Events on twins: what each change announces, and that failing to write an event harms nothing."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from typing import ClassVar
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from clearwell.flow.counters import Counters
from clearwell.flow.events.publisher import MAX_WAITING, WRITE_DELAY, EventPublisher
from clearwell.messages import catalogue
from clearwell.ports import BEGINNING
from clearwell.records import (
    EVENT_FIELDS,
    Action,
    Admission,
    DecisionRequest,
    Event,
    EventType,
    Json,
)
from clearwell.settings import Settings
from clearwell.testing import ManualClock, MemoryEvents
from clearwell.worker import run_due_digests
from tests.events import WeakEvents, published
from tests.path import LONG, OTHER, Path, said
from tests.unit.test_review import offered

THIRD = "Customers in Japan are billed in yen since the second quarter, and no longer in dollars."


async def types(path: Path, group_id: str = "g") -> list[EventType]:
    return [event.type for event in await published(path, group_id)]


def _ids(values: Json) -> list[UUID]:
    assert isinstance(values, list)
    return [UUID(str(value)) for value in values]


# what is announced


async def test_an_output_is_captured_and_admitted() -> None:
    path = Path()
    receipt = await path.memory.capture(said(), wait=True)
    captured, admitted = await published(path)
    assert (captured.type, admitted.type) == (EventType.CAPTURED, EventType.ADMITTED)
    for event in (captured, admitted):
        assert (event.group_id, event.agent_id, event.session_id, event.node_id) == ("g", "a1", "s1", "n1")
        assert event.data["log_id"] == str(receipt.id)
    (entry,) = await path.memory.working_memory(group="g")
    assert entry.expires_at is not None
    assert admitted.data["expires_at"] == entry.expires_at.isoformat()


async def test_a_refused_output_names_the_check_and_the_reason() -> None:
    path = Path()
    await path.memory.capture(said("too short"), wait=True)
    _, refused = await published(path)
    assert refused.type is EventType.REFUSED
    assert (refused.data["check"], refused.data["reason"]) == ("length", "verdict_length_short")


async def test_an_output_without_a_group_is_captured_and_refused_there() -> None:
    path = Path()
    await path.memory.capture(said(group_id=None), wait=True)
    assert await types(path, "unassigned") == [EventType.CAPTURED, EventType.REFUSED]


async def test_a_person_admits_requeues_and_removes() -> None:
    path = Path()
    first = await path.memory.capture(said("too short"), wait=True)
    await path.memory.admit_refused(first.id, group="g")
    await path.memory.remove_working_entry(first.id, group="g")
    second = await path.memory.capture(said("short too"), wait=True)
    assert await path.memory.requeue(second.id, group="g") is Admission.REFUSED
    await path.queue.join()
    found = (await published(path))[2:]
    assert [event.type for event in found] == [
        EventType.ADMITTED,
        EventType.ENTRY_REMOVED,
        EventType.CAPTURED,
        EventType.REFUSED,
        EventType.REQUEUED,
        EventType.REFUSED,
    ]
    assert (found[0].data["by"], found[1].data["by"]) == ("local", "local")


async def test_retrieval_names_what_was_found_and_for_whom() -> None:
    path = Path()
    promoted = await path.memory.promote(LONG, group="g")
    captured = await path.memory.capture(said(OTHER), wait=True)
    await path.memory.retrieve("payment service and nightly backups of billing", group="g")
    event = (await published(path))[-1]
    assert event.type is EventType.MEMORY_RETRIEVED
    assert event.data["count"] == 2
    assert set(_ids(event.data["ids"])) == {promoted.id, captured.id}
    assert _ids(event.data["hot_ids"]) == [captured.id]


async def test_the_retrieval_node_announces_its_session_and_its_failures() -> None:
    path = Path()
    node = path.memory.retrieval_node(group="g")
    await node({"topic": "payment service", "session_id": "s9"})
    await node({"session_id": "s9"})
    retrieved, error = await published(path)
    assert (retrieved.type, retrieved.session_id) == (EventType.MEMORY_RETRIEVED, "s9")
    assert (error.type, error.session_id) == (EventType.MEMORY_RETRIEVAL_ERROR, "s9")
    assert error.data == {"reason": "node_no_query"}


async def test_a_fact_check_announces_its_rating_and_its_failures() -> None:
    path = Path()
    promoted = await path.memory.promote(LONG, group="g")
    node = path.memory.fact_check_node(group="g")
    await node({"claim": LONG, "session_id": "s9"})
    await node({"session_id": "s9"})
    *_, retrieved, checked, error = await published(path)
    assert (retrieved.type, retrieved.session_id) == (EventType.MEMORY_RETRIEVED, "s9")
    assert (checked.type, checked.session_id) == (EventType.FACT_CHECKED, "s9")
    assert checked.data == {"rating": "supported", "method": "rules", "claims": 1, "ids": [str(promoted.id)]}
    assert (error.type, error.data) == (EventType.FACT_CHECK_ERROR, {"reason": "node_no_claim"})


async def test_a_promotion_that_supersedes_announces_both() -> None:
    path = Path()
    first = await path.memory.promote(LONG, group="g")
    second = await path.memory.promote(OTHER, group="g", supersedes=first.id, agent_id="a1")
    _, promoted, superseded = await published(path)
    assert promoted.type is EventType.PROMOTED
    assert promoted.agent_id == "a1"
    assert promoted.data["memory_id"] == str(second.id)
    assert (promoted.data["origin"], promoted.data["by"]) == ("typed", "local")
    assert superseded.type is EventType.SUPERSEDED
    assert superseded.data == {"memory_id": str(first.id), "superseded_by": str(second.id)}


async def test_a_digest_and_the_decisions_on_it_are_announced() -> None:
    path = Path(Settings(digest_min_insights=1))
    for session, agent in (("s1", "a1"), ("s2", "a2"), ("s3", "a3")):
        for text in (LONG, OTHER, THIRD):
            output = replace(said(text), session_id=session, agent_id=agent)
            await path.memory.capture(output, wait=True)
    digest_id, _ = await path.memory.request_digest(group="g")
    await run_due_digests(path.program)
    made = [event for event in await published(path) if event.type.startswith("digest")]
    assert [event.type for event in made] == [EventType.DIGEST_REQUESTED, EventType.DIGEST_MADE]
    assert made[1].data["digest_id"] == str(digest_id)
    insights = await path.review.insights(group="g")
    assert made[1].data["insights"] == len(insights) == 3
    promoted, rejected, snoozed = [one.id for one in insights]
    await path.review.decide(DecisionRequest(action=Action.PROMOTE, id=promoted), group="g")
    await path.review.decide(DecisionRequest(action=Action.REJECT, id=rejected, reason="wrong"), group="g")
    await path.review.decide(DecisionRequest(action=Action.SNOOZE, id=snoozed, days=2), group="g")
    await path.review.decide(DecisionRequest(action=Action.UNDO, id=rejected), group="g")
    decided = (await published(path))[-4:]
    assert [event.type for event in decided] == [
        EventType.PROMOTED,
        EventType.REJECTED,
        EventType.SNOOZED,
        EventType.UNDONE,
    ]
    assert decided[0].data["origin_id"] == str(promoted)
    assert decided[1].data["insight_id"] == str(rejected)
    assert decided[3].data["undone"] == "reject"


async def test_tombstones_are_announced_when_they_are_added_and_lifted() -> None:
    path = Path()
    tombstone_id = (await path.memory.add_tombstone(LONG, group="g", reason="wrong")).id
    await path.memory.add_tombstone(LONG, group="g", reason="still wrong")
    await path.memory.lift_tombstone(tombstone_id, group="g")
    assert await types(path) == [EventType.TOMBSTONE_ADDED, EventType.TOMBSTONE_LIFTED]


async def test_withdrawals_that_come_with_a_rejection_are_announced() -> None:
    path = Path()
    first, second = await path.memory.promote(LONG, group="g"), await path.memory.promote(OTHER, group="g")
    one = await offered(path, LONG)
    rejected = await path.review.reject(one, group="g", reason="wrong", withdraw=True)
    await path.memory.add_tombstone(OTHER, reason="wrong", withdraw=True, group="g")
    retracted = [event.data for event in await published(path) if event.type is EventType.RETRACTED]
    assert [data["memory_ids"] for data in retracted] == [[str(first.id)], [str(second.id)]]
    assert retracted[0]["decision_id"] == str(rejected.withdrawal_id)


async def test_no_event_holds_a_text() -> None:
    path = Path()
    receipt = await path.memory.capture(said(secret="swordfish"), wait=True)
    await path.memory.retrieve("payment service cluster", group="g")
    await path.memory.promote(OTHER, group="g")
    await path.memory.add_tombstone(THIRD, group="g", reason="a private reason")
    refused = await path.memory.capture(said("too short a text"), wait=True)
    await path.memory.admit_refused(refused.id, group="g", reason="why not")
    text = json.dumps([asdict(event) for event in await published(path)], default=str)
    assert str(receipt.id) in text
    for word in ("payment", "backups", "Japan", "swordfish", "private", "why not", "short a"):
        assert word not in text


# what happens when events cannot be written


async def test_an_outage_harms_nothing_and_is_logged_once_and_counted() -> None:
    store = WeakEvents()
    path = Path(event_store=store)
    store.down = True
    with capture_logs() as logs:
        for number in range(3):
            receipt = await path.memory.capture(said(f"{LONG} Number {number}."), wait=True)
            await path.program.events.flush()
            assert receipt.admission is not Admission.PENDING
    assert [entry["event"] for entry in logs if "events" in entry["event"]] == ["events not written"]
    assert sum(path.counters.lost_events.values()) == 6


async def test_after_an_outage_readers_are_reset() -> None:
    store = WeakEvents()
    path = Path(event_store=store)
    store.down = True
    await path.memory.promote(LONG, group="g")
    await path.program.events.flush()
    store.down = False
    await path.memory.promote(OTHER, group="g")
    reset, promoted = await published(path)
    assert (reset.type, reset.data) == (EventType.RESET, {"reason": "events_lost"})
    assert promoted.type is EventType.PROMOTED
    await path.memory.promote(THIRD, group="g")
    assert (await types(path)).count(EventType.RESET) == 1


async def test_a_steady_flow_of_events_is_written_in_batches() -> None:
    class FlowingEvents(MemoryEvents):
        """Each time events are written, one more is published."""

        times: ClassVar[list[float]] = []
        written = asyncio.Event()

        async def append(self, events: Sequence[Event]) -> None:
            self.times.append(asyncio.get_running_loop().time())
            if len(self.times) < 5:
                publisher.publish(EventType.CAPTURED, "g")
            else:
                self.written.set()
            await super().append(events)

    publisher = EventPublisher(FlowingEvents(), ManualClock(), Counters())
    publisher.publish(EventType.CAPTURED, "g")
    await FlowingEvents.written.wait()
    assert min(later - earlier for earlier, later in pairwise(FlowingEvents.times)) > WRITE_DELAY / 2
    await publisher.flush()


async def test_the_events_that_wait_are_bounded() -> None:
    store, counters = MemoryEvents(length=2 * MAX_WAITING), Counters()
    events = EventPublisher(store, ManualClock(), counters)
    for number in range(MAX_WAITING + 5):
        events.publish(EventType.CAPTURED, "g", number=number)
    await events.flush()
    assert counters.lost_events == {("g",): 5}
    page = await store.read("g", after=BEGINNING, limit=2 * MAX_WAITING)
    assert page is not None
    assert [event.data.get("number") for event in page.events if event.type is EventType.CAPTURED] == list(
        range(MAX_WAITING)
    )


@pytest.mark.parametrize("event_type", list(EventType))
def test_every_type_of_event_has_its_words_and_fields(event_type: EventType) -> None:
    assert f"event_{event_type}" in catalogue()
    assert event_type in EVENT_FIELDS
