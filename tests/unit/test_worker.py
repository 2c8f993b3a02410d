"""Which duties a process has, what a sweep takes, and that a duty that fails runs again."""

import asyncio
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime, timedelta

from clearwell.flow.ingress.queue import AdmissionQueue
from clearwell.ports import OpenDigest
from clearwell.records import Admission, DigestStatus, Judgement
from clearwell.settings import Settings
from clearwell.testing.digests import MemoryDigests
from clearwell.testing.longterm import MemoryTombstones
from clearwell.worker import SWEEP_LIMIT, Worker, digest_worker, run_due_digests, sweep
from tests.path import LONG, OTHER, PERSON, Path, said
from tests.waiting import until


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


class HeldJudge:
    """Answers nothing before ``answers`` is set."""

    model = "held"

    def __init__(self) -> None:
        self.asked = 0
        self.answers = asyncio.Event()

    async def judge(self, content: str) -> Judgement:
        self.asked += 1
        await self.answers.wait()
        return Judgement(consistent=True)


async def test_a_sweep_takes_rows_while_hundreds_wait_for_the_judge() -> None:
    judge = HeldJudge()
    settings = Settings(min_width=0, ingress_checks=("confidence", "self_consistency"))
    path = Path(settings=settings, judge=judge)
    texts = [said(f"Node {number} is up.", group_id="judged") for number in range(SWEEP_LIMIT + 1)]
    await path.memory.capture_many(texts)
    async with asyncio.timeout(30):
        while judge.asked <= SWEEP_LIMIT:  # noqa: ASYNC110 - the judge counts, and has no event for a number
            await asyncio.sleep(0)
    row = await path.memory.log_quarantine("s", "n", OTHER, group="g", metadata={"confidence": 0.1})
    path.clock.forward(timedelta(seconds=10))
    assert await sweep(path.program) == 1
    await path.queue.offer("g", row)
    assert (await path.memory.quarantine_row(row, group="g")).admission is Admission.REFUSED
    judge.answers.set()
    await path.queue.join()


class FailingDigests(MemoryDigests):
    """Fails when it is asked for due digests for the first time."""

    failures = 0

    async def find_due(self, *, at: datetime) -> Sequence[OpenDigest]:
        if not self.failures:
            self.failures += 1
            raise ZeroDivisionError
        return await super().find_due(at=at)


async def test_a_duty_that_fails_unexpectedly_runs_again() -> None:
    path = Path()
    digests = FailingDigests(path.quarantine, path.longterm, MemoryTombstones(), path.ledger, path.groups)
    program = path.build(replace(path.program.stores, digests=digests, digest_runs=digests, digest_material=digests))
    digest_id, _ = await program.memory.acting_as(PERSON).request_digest(group="g")

    async def is_done() -> bool:
        return (await program.memory.acting_as(PERSON).digest(digest_id)).status is DigestStatus.DONE

    async with digest_worker(program, scheduled=False):
        await until(is_done)
    assert digests.failures == 1
