"""Which duties a process has."""

from datetime import timedelta

from clearwell.records import Admission
from clearwell.worker import Worker, run_due_digests, sweep
from tests.path import LONG, OTHER, Path


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
