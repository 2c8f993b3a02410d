"""Admissions that this process works on, off the caller's path."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias
from uuid import UUID

import structlog

from clearwell.errors import Unavailable
from clearwell.flow.deadlines import cancel_tasks
from clearwell.flow.ingress.admission import Admitter, BatchResult, JudgeAnswer, name_error
from clearwell.flow.ingress.segmentation import ABOUT_ONE_TEXT
from clearwell.ports import AdmissionStore, Lease
from clearwell.records import Capture

log = structlog.get_logger(__name__)
Waiting: TypeAlias = asyncio.Future[bool]
RENEWALS_PER_LEASE = 3
PAUSE_PER_WORK = 3.0
"""How long a group pauses after a batch, as a multiple of what the batch took."""
LONGEST_PAUSE_SECONDS = 1.0


class AdmissionQueue:
    """Admits rows in batches, one batch of a group at a time. Rows that wait for the judge let the others pass.

    A batch that fails for another reason than an outage is tried again row by row, so that one row does not hold up
    the others. The rows that this process works on are leased to it, and the leases are renewed until they end: other
    processes leave these rows alone, and take them over when a crash ends the renewals.

    While ``is_behind`` says so, a group pauses after each batch, longer than the batch took: requests come first.
    """

    def __init__(
        self,
        admitter: Admitter,
        admissions: AdmissionStore,
        lease: Lease,
        *,
        batch: int,
        is_behind: Callable[[], bool],
        groups_at_once: int = 4,
    ) -> None:
        self._admitter = admitter
        self._admissions = admissions
        self._lease = lease
        self._is_behind = is_behind
        self._batch = batch
        self._slots = asyncio.Semaphore(groups_at_once)
        self._waiting: defaultdict[str, dict[UUID, Waiting]] = defaultdict(dict)
        self._draining: dict[str, asyncio.Task[None]] = {}
        self._in_progress: dict[str, Sequence[UUID]] = {}
        self._judging: dict[UUID, tuple[asyncio.Task[None], Capture, Waiting]] = {}
        self._answers: dict[UUID, JudgeAnswer] = {}
        self._renewing: asyncio.Task[None] | None = None
        self._leaves_rows = False

    def leave_rows(self) -> None:
        """Admit nothing from now on: other processes work on the rows that are offered."""
        self._leaves_rows = True

    def offer(self, group_id: str, log_id: UUID, *, judged: Waiting | None = None) -> Waiting:
        """Admit this row soon.

        The future ends with True when this process has done what it can, and with False where the row was not
        pending, or another process works on it. ``judged`` is the future of a row that comes back from the judge.
        """
        if log_id in self._judging:
            return self._judging[log_id][2]
        future: Waiting = asyncio.get_running_loop().create_future() if judged is None else judged
        if self._leaves_rows and judged is None:
            future.set_result(False)
            return future
        future = self._waiting[group_id].setdefault(log_id, future)
        if group_id not in self._draining:
            self._draining[group_id] = asyncio.create_task(self._drain(group_id), name="admission")
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew_leases(), name="admission leases")
        return future

    @property
    def length(self) -> int:
        """How many rows are under way."""
        return sum(len(waiting) for waiting in self._waiting.values()) + len(self._judging)

    async def join(self) -> None:
        """Wait until nothing is under way."""
        while tasks := self._tasks():
            await asyncio.wait(tasks)

    async def close(self) -> None:
        """Stop, and leave the rows under way to other processes."""
        leased = self._leased_rows()
        while tasks := [task for task in (*self._tasks(), self._renewing) if task is not None and not task.done()]:
            await cancel_tasks(*tasks)
        for group_id, log_ids in leased.items():
            try:
                await self._admissions.release(group_id, log_ids, self._lease)
            except Unavailable as error:
                log.warning("leases not released", rows=len(log_ids), reason=error.code)

    def _tasks(self) -> list["asyncio.Task[None]"]:
        return [*self._draining.values(), *(task for task, _, _ in self._judging.values())]

    async def _drain(self, group_id: str) -> None:
        waiting, loop = self._waiting[group_id], asyncio.get_running_loop()
        try:
            while waiting:
                async with self._slots:
                    started = loop.time()
                    log_ids = list(waiting)[: self._batch]
                    answers = {log_id: self._answers.pop(log_id) for log_id in log_ids if log_id in self._answers}
                    self._in_progress[group_id] = log_ids
                    try:
                        result = await self._admitter.admit_batch(group_id, log_ids, answers)
                    except Exception as error:  # noqa: BLE001 - the worker's loop: one row must not stop the others
                        result = await self._recover_batch(group_id, log_ids, answers, error)
                    self._finish_batch(group_id, log_ids, result)
                if self._is_behind():
                    await asyncio.sleep(min(PAUSE_PER_WORK * (loop.time() - started), LONGEST_PAUSE_SECONDS))
        finally:
            self._in_progress.pop(group_id, None)
            for future in waiting.values():
                _end(future, here=True)
            del self._waiting[group_id], self._draining[group_id]

    async def _recover_batch(
        self, group_id: str, log_ids: Sequence[UUID], answers: Mapping[UUID, JudgeAnswer], error: Exception
    ) -> BatchResult:
        """Postpone the rows in an outage; otherwise retry them row by row, and record the failure of a single row."""
        if isinstance(error, Unavailable) and error.code not in ABOUT_ONE_TEXT:
            await self._postpone(group_id, log_ids, error)
            return BatchResult(claimed=frozenset(log_ids))
        if len(log_ids) == 1:
            await self._record_failure(group_id, log_ids[0], error)
            return BatchResult(claimed=frozenset(log_ids))
        log.warning("admission retried row by row", rows=len(log_ids), reason=name_error(error), exc_info=error)
        results: list[BatchResult] = []
        for log_id in log_ids:
            try:
                results.append(await self._admitter.admit_batch(group_id, [log_id], answers))
            except Exception as problem:  # noqa: BLE001 - the worker's loop: one row must not stop the others
                results.append(await self._recover_batch(group_id, [log_id], answers, problem))
        return BatchResult(
            claimed=frozenset(log_id for result in results for log_id in result.claimed),
            to_judge=[capture for result in results for capture in result.to_judge],
        )

    def _finish_batch(self, group_id: str, log_ids: Sequence[UUID], result: BatchResult) -> None:
        """Hand the rows that wait for the judge over to it, and end the futures of the others."""
        del self._in_progress[group_id]
        futures = {log_id: self._waiting[group_id].pop(log_id) for log_id in log_ids}
        for capture in result.to_judge:
            self._start_judging(capture, futures.pop(capture.id))
        for log_id, future in futures.items():
            _end(future, here=log_id in result.claimed)

    async def _postpone(self, group_id: str, log_ids: Sequence[UUID], error: Unavailable) -> None:
        log.warning("admission postponed", rows=len(log_ids), reason=error.code)
        try:
            await self._admissions.postpone(group_id, log_ids, self._lease)
        except Unavailable as problem:
            # The rows stay pending: the sweep finds them when the database is back and their leases have ended.
            log.warning("admission left to the sweep", rows=len(log_ids), reason=problem.code)

    async def _record_failure(self, group_id: str, log_id: UUID, error: Exception) -> None:
        log.error("admission failed", log_id=str(log_id), reason=name_error(error), exc_info=error)
        try:
            await self._admitter.record_failure(group_id, log_id, error)
        except Unavailable as problem:
            log.warning("admission left to the sweep", rows=1, reason=problem.code)
        except Exception as problem:
            log.warning("admission left to the sweep", rows=1, reason=name_error(problem), exc_info=problem)

    def _start_judging(self, capture: Capture, future: Waiting) -> None:
        task = asyncio.create_task(self._judge(capture, future), name="judge")
        self._judging[capture.id] = (task, capture, future)

    async def _judge(self, capture: Capture, future: Waiting) -> None:
        answer: JudgeAnswer | None = None
        try:
            answer = await self._admitter.judge(capture)
        except Unavailable as error:
            log.warning("judgement left to the sweep", rows=1, reason=error.code)
        except Exception as error:  # noqa: BLE001 - the worker's loop: one row must not stop the others
            await self._record_failure(capture.group_id, capture.id, error)
        finally:
            del self._judging[capture.id]
            if answer is None:
                _end(future, here=True)
            else:
                self._answers[capture.id] = answer
                self.offer(capture.group_id, capture.id, judged=future)

    async def _renew_leases(self) -> None:
        seconds = self._lease.lasts.total_seconds() / RENEWALS_PER_LEASE
        while self.length:
            await asyncio.sleep(seconds)
            for group_id, log_ids in self._leased_rows().items():
                try:
                    await self._admissions.renew(group_id, log_ids, self._lease)
                except Unavailable as error:
                    log.warning("leases not renewed", rows=len(log_ids), reason=error.code)
                except Exception as error:
                    log.warning("leases not renewed", rows=len(log_ids), reason=name_error(error), exc_info=error)

    def _leased_rows(self) -> dict[str, list[UUID]]:
        """The rows that this process may have leased, by group."""
        leased: defaultdict[str, list[UUID]] = defaultdict(list)
        for group_id, log_ids in self._in_progress.items():
            leased[group_id] += log_ids
        for _, capture, _ in self._judging.values():
            leased[capture.group_id].append(capture.id)
        for group_id, waiting in self._waiting.items():
            if answered := [log_id for log_id in waiting if log_id in self._answers]:
                leased[group_id] += answered
        return leased


def _end(future: Waiting, *, here: bool) -> None:
    if not future.done():
        future.set_result(here)
