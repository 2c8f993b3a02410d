"""What retrieval gave is written together, a moment later, and is known at once."""

import asyncio
from datetime import timedelta
from uuid import UUID

from clearwell.errors import WorkingMemoryUnavailable
from clearwell.flow.working.recalls import RecallLog
from clearwell.ports import Recalls
from clearwell.testing import ManualClock, MemoryRecalls
from tests.path import AGENT, LONG, Path, said
from tests.waiting import until

ONE, TWO, THREE = (UUID(int=number) for number in (1, 2, 3))


class CountedRecalls(MemoryRecalls):
    """Also remembers each time it was written to; while it is down, nothing can be."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.notes: list[tuple[str, tuple[UUID, ...], str | None]] = []
        self.down_for = ""

    async def record(self, recalls: Recalls) -> None:
        written = {key: ids for key, ids in recalls.items() if key[0] != self.down_for}
        self.notes += [(group_id, tuple(ids), agent_id) for (group_id, agent_id), ids in written.items()]
        await super().record(written)
        if len(written) < len(recalls):
            raise WorkingMemoryUnavailable("working_unavailable", problem="down")


async def test_what_is_given_in_a_moment_is_written_together() -> None:
    store = CountedRecalls(ManualClock())
    recalls = RecallLog(store)
    recalls.record("g", [ONE, TWO], agent_id="a1")
    recalls.record("g", [TWO, THREE], agent_id="a1")
    recalls.record("g", [ONE], agent_id=None)
    recalls.record("h", [ONE], agent_id="a1")
    await asyncio.sleep(0)
    assert store.notes == []
    await until(lambda: asyncio.sleep(0, result=len(store.notes) == 3))
    assert store.notes == [("g", (ONE, TWO, THREE), "a1"), ("g", (ONE,), None), ("h", (ONE,), "a1")]


async def test_whoever_reads_knows_what_is_not_yet_written() -> None:
    clock = ManualClock()
    recalls = RecallLog(MemoryRecalls(clock))
    recalls.record("g", [ONE], agent_id="a1")
    assert await recalls.find_recalled("g", agent_id="a1") == {ONE}
    recalls.record("g", [TWO], agent_id="a2")
    since = await recalls.find_recalled_since(clock.now() - timedelta(seconds=1))
    assert {recall.memory_id for recall in since["g"]} == {ONE, TWO}


async def test_at_the_end_nothing_is_left_unwritten() -> None:
    store = CountedRecalls(ManualClock())
    recalls = RecallLog(store)
    await recalls.flush()
    recalls.record("g", [ONE], agent_id=None)
    await recalls.flush()
    assert store.notes == [("g", (ONE,), None)]


async def test_what_cannot_be_written_keeps_nothing_else_from_it() -> None:
    store = CountedRecalls(ManualClock())
    store.down_for = "g"
    recalls = RecallLog(store)
    recalls.record("g", [ONE], agent_id=None)
    recalls.record("h", [TWO], agent_id=None)
    await recalls.flush()
    assert store.notes == [("h", (TWO,), None)]


async def test_an_echo_right_after_retrieval_is_known() -> None:
    path = Path()
    await path.memory.promote(LONG, group="g")
    await path.memory.acting_as(AGENT).retrieve("payment service", group="g")
    receipt = await path.memory.acting_as(AGENT).capture(said(f"As noted: {LONG}"), wait=True)
    assert [one.check for one in receipt.verdicts if one.outcome == "fail"] == ["echo"]
