"""Which duties a process has."""

from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import timedelta

from clearwell.flow.ingress.queue import AdmissionQueue
from clearwell.records import Admission
from clearwell.worker import Worker, run_due_digests, sweep
from tests.path import LONG, OTHER, Path, said


def test_a_process_that_does_not_sweep_keeps_up_with_the_embedding_model_alone() -> None:
    worker = Worker(Path().program)
    assert [duty.name for duty in worker.duties(sweeps=False)] == ["embedding models"]
    assert {"embedding models", "heartbeat", "admissions", "digests"} <= {duty.name for duty in worker.duties()}


async def test_workers_leave_a_paused_group_alone() -> None:
    path = Path()
    rows = [
        await path.memory.log_quarantine("s", "n", text, group=group) for text, group in ((LONG, "g"), (OTHER, "h"))
    ]
    digest, _ = await path.memory.request_digest(group="g")
    path.clock.forward(timedelta(hours=1))
    await path.program.stores.pauses.pause("g", lasts=timedelta(minutes=1))
    assert (await sweep(path.program), await run_due_digests(path.program)) == (1, 0)
    await path.queue.join()
    states = [
        (await path.memory.quarantine_row(row, group=group)).admission for row, group in zip(rows, "gh", strict=True)
    ]
    assert states == [Admission.PENDING, Admission.ADMITTED]
    await path.program.stores.pauses.resume("g")
    assert (await sweep(path.program), await run_due_digests(path.program)) == (1, 1)
    assert (await path.memory.digest(digest)).status == "done"


class SlowPauses:
    """Pauses no group, and answers when the queue has done everything."""

    def __init__(self, queue: AdmissionQueue) -> None:
        self._queue = queue

    async def find_paused(self, group_ids: AbstractSet[str]) -> AbstractSet[str]:
        await self._queue.join()
        return frozenset()

    async def pause(self, group_id: str, *, lasts: timedelta) -> None:
        raise NotImplementedError

    async def resume(self, group_id: str) -> None:
        raise NotImplementedError


async def test_a_sweep_counts_what_it_adds_and_not_what_is_done_meanwhile() -> None:
    path = Path()
    await path.memory.log_quarantine("s", "n", OTHER, group="g")
    path.clock.forward(timedelta(hours=1))
    for number in range(3):
        await path.memory.capture(said(f"{LONG} It has {number} nodes."))
    assert path.queue.length > 0
    program = replace(path.program, stores=replace(path.program.stores, pauses=SlowPauses(path.queue)))
    due = await path.program.stores.admissions.find_pending(limit=10)
    assert await sweep(program) == len(due)
    await path.queue.join()
