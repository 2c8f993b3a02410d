"""The admission queue on twins: one row never holds up the others."""

import asyncio
import time
from collections.abc import Sequence
from datetime import timedelta

from structlog.testing import capture_logs

from clearwell.errors import EmbedderUnavailable
from clearwell.flow.ingress.queue import PAUSE_PER_WORK, AdmissionQueue
from clearwell.ports import Lease
from clearwell.records import Admission, CaptureReceipt, Outcome, Vector
from clearwell.settings import Settings
from clearwell.testing import WordEmbedder
from clearwell.vocabulary import AuditAction
from tests.path import AGENT, LONG, OTHER, Path, said

POISON = "poison"
BAD = f"{LONG} It was said to be {POISON}."


def refusal() -> EmbedderUnavailable:
    return EmbedderUnavailable("embedder_refused", where="api", model="m", status=400, said="no")


class FragileEmbedder(WordEmbedder):
    """Fails on every batch that holds one word."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error: Exception | None = error
        self.refuses_everything = False

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.error is not None and (self.refuses_everything or any(POISON in text for text in texts)):
            raise self.error
        return await super().embed(texts)


async def sweep(path: Path, times: int) -> None:
    for _ in range(times):
        path.clock.forward(timedelta(minutes=1))
        for due in await path.quarantine.find_pending(limit=10):
            path.queue.offer(due.group_id, due.log_id)
        await path.queue.join()


async def test_a_row_that_fails_does_not_hold_up_its_batch() -> None:
    error = ValueError(BAD)
    path = Path(embedder=FragileEmbedder(error))
    with capture_logs() as logs:
        receipts = await path.memory.acting_as(AGENT).capture_many([said(), said(BAD), said(OTHER)], wait=True)
    (retried,) = [entry for entry in logs if entry["event"] == "admission retried row by row"]
    assert (retried["rows"], retried["exc_info"]) == (3, error)
    states = [receipt.admission for receipt in receipts if isinstance(receipt, CaptureReceipt)]
    assert states == [Admission.ADMITTED, Admission.PENDING, Admission.ADMITTED]


async def test_every_admission_is_recorded_with_who_captured_it() -> None:
    path = Path()
    receipt = await path.memory.acting_as(AGENT).capture(said(), wait=True)
    (event,) = path.quarantine.events
    assert (event.action, event.detail["captured_by"]) == (
        AuditAction.SETTLE_CAPTURES,
        {"admitted": {str(receipt.id): AGENT.name}},
    )


class SlowEmbedder(WordEmbedder):
    """Takes a moment, and notes when each batch begins and ends."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[tuple[float, float]] = []

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        started = time.monotonic()
        await asyncio.sleep(0.05)
        self.times.append((started, time.monotonic()))
        return await super().embed(texts)


async def test_admission_pauses_between_batches_while_requests_wait() -> None:
    embedder = SlowEmbedder()
    path = Path(embedder=embedder)
    path.queue.leave_rows()
    rows = [(await path.memory.acting_as(AGENT).capture(said(text))).id for text in (LONG, OTHER)]
    lease = Lease(holder=path.ids.new(), lasts=timedelta(minutes=1))
    queue = AdmissionQueue(path.admitter, path.quarantine, lease, batch=1, is_behind=lambda: True)
    for row in rows:
        queue.offer("g", row)
    await queue.join()
    (_, first_end), (second_start, _) = embedder.times[-2:]
    assert second_start - first_end >= 0.05 * PAUSE_PER_WORK


async def test_a_row_that_keeps_failing_is_refused_with_the_reason() -> None:
    embedder = FragileEmbedder(ValueError(BAD))
    path = Path(embedder=embedder, settings=Settings(admission_attempts=3))
    receipt = await path.memory.acting_as(AGENT).capture(said(BAD), wait=True)
    await sweep(path, 1)
    assert (await path.memory.quarantine_row(receipt.id, group="g")).admission is Admission.PENDING
    await sweep(path, 1)
    row = await path.memory.quarantine_row(receipt.id, group="g")
    assert row.admission is Admission.REFUSED
    assert (row.verdicts[0].check, row.verdicts[0].outcome) == ("admission", Outcome.FAIL)
    told = row.verdicts[0].explanation("en")
    assert "3 times (ValueError)" in told
    assert POISON not in told, "an error may quote the output"
    assert [verdict.check for verdict in row.verdicts[1:]] == list(path.settings.ingress_checks)


async def test_a_row_that_was_given_up_can_be_put_back() -> None:
    embedder = FragileEmbedder(ValueError(BAD))
    path = Path(embedder=embedder, settings=Settings(admission_attempts=1))
    receipt = await path.memory.acting_as(AGENT).capture(said(BAD), wait=True)
    assert receipt.admission is Admission.REFUSED
    embedder.error = None
    requeued = await path.memory.requeue_refused("admission_failed", group="g")
    assert requeued.rows == 1
    await path.queue.join()
    assert (await path.memory.quarantine_row(receipt.id, group="g")).admission is Admission.ADMITTED


async def test_a_text_that_the_embedder_refuses_is_given_up() -> None:
    path = Path(embedder=FragileEmbedder(refusal()), settings=Settings(admission_attempts=2))
    receipts = await path.memory.acting_as(AGENT).capture_many([said(), said(BAD)], wait=True)
    await sweep(path, 1)
    rows = [
        await path.memory.quarantine_row(receipt.id, group="g")
        for receipt in receipts
        if isinstance(receipt, CaptureReceipt)
    ]
    assert [row.admission for row in rows] == [Admission.ADMITTED, Admission.REFUSED]
    assert "2 times (embedder_refused)" in rows[1].verdicts[0].explanation("en")


async def test_an_embedder_that_refuses_every_text_refuses_no_row() -> None:
    embedder = FragileEmbedder(refusal())
    embedder.refuses_everything = True
    path = Path(embedder=embedder, settings=Settings(admission_attempts=2))
    receipt = await path.memory.acting_as(AGENT).capture(said(), wait=True)
    await sweep(path, 5)
    assert (await path.memory.quarantine_row(receipt.id, group="g")).admission is Admission.PENDING
    embedder.error = None
    await sweep(path, 1)
    assert (await path.memory.quarantine_row(receipt.id, group="g")).admission is Admission.ADMITTED


async def test_a_queue_that_leaves_rows_to_others_admits_nothing() -> None:
    path = Path(settings=Settings(wait_seconds=0.05))
    path.queue.leave_rows()
    receipt = await path.memory.capture(said(), wait=True)
    assert receipt.admission is Admission.PENDING
    assert path.queue.length == 0
    path.clock.forward(timedelta(minutes=1))
    assert [due.log_id for due in await path.quarantine.find_pending(limit=5)] == [receipt.id]
