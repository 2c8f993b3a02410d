"""Admissions that this process is about to do, off the caller's path."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeAlias
from uuid import UUID

import structlog

from clearwell.errors import Unavailable
from clearwell.flow.ingress.admission import ABOUT_ONE_TEXT, Admitted, Admitter, JudgeAnswer, describe
from clearwell.records import Admission, Capture, Verdict

log = structlog.get_logger(__name__)
Standing: TypeAlias = tuple[Admission, tuple[Verdict, ...]]
Waiting: TypeAlias = "asyncio.Future[Standing | None]"


class AdmissionQueue:
    """One admission at a time in a group, in batches. Rows that wait for the judge let the others pass.

    A batch that fails for another reason than an outage is tried again row by row, so that one row does not hold up
    the others.
    """

    def __init__(self, admitter: Admitter, *, batch: int, groups_at_once: int = 4) -> None:
        self._admitter = admitter
        self._batch = batch
        self._slots = asyncio.Semaphore(groups_at_once)
        self._waiting: defaultdict[str, dict[UUID, Waiting]] = defaultdict(dict)
        self._draining: dict[str, asyncio.Task[None]] = {}
        self._judging: dict[UUID, tuple[asyncio.Task[None], Waiting]] = {}
        self._answers: dict[UUID, JudgeAnswer] = {}

    def offer(self, group_id: str, log_id: UUID) -> Waiting:
        """Admit this row soon. The future ends with where it stands, or None where it stays pending."""
        if log_id in self._judging:
            return self._judging[log_id][1]
        return self._put(group_id, log_id, asyncio.get_running_loop().create_future())

    @property
    def length(self) -> int:
        """How many rows are under way."""
        return sum(len(waiting) for waiting in self._waiting.values()) + len(self._judging)

    async def drained(self) -> None:
        """Wait until nothing is under way."""
        while tasks := [*self._draining.values(), *(task for task, _ in self._judging.values())]:
            await asyncio.wait(tasks)

    async def close(self) -> None:
        for task in [*self._draining.values(), *(task for task, _ in self._judging.values())]:
            task.cancel()
        await self.drained()

    def _put(self, group_id: str, log_id: UUID, future: Waiting) -> Waiting:
        kept = self._waiting[group_id].setdefault(log_id, future)
        if group_id not in self._draining:
            self._draining[group_id] = asyncio.create_task(self._drain(group_id), name="admission")
        return kept

    async def _drain(self, group_id: str) -> None:
        waiting = self._waiting[group_id]
        try:
            while waiting:
                async with self._slots:
                    await self._admit_batch(group_id, list(waiting)[: self._batch])
        finally:
            for future in waiting.values():
                _end(future, None)
            del self._waiting[group_id], self._draining[group_id]

    async def _admit_batch(self, group_id: str, log_ids: Sequence[UUID]) -> None:
        admitted = Admitted(receipts={})
        answers = {log_id: self._answers.pop(log_id) for log_id in log_ids if log_id in self._answers}
        try:
            admitted = await self._admit(group_id, log_ids, answers)
        finally:
            futures = {log_id: self._waiting[group_id].pop(log_id) for log_id in log_ids}
            for capture in admitted.to_judge:
                self._start_judging(capture, futures.pop(capture.id))
            for log_id, future in futures.items():
                _end(future, admitted.receipts.get(log_id))

    async def _admit(self, group_id: str, log_ids: Sequence[UUID], answers: Mapping[UUID, JudgeAnswer]) -> Admitted:
        try:
            return await self._admitter.admit(group_id, log_ids, answers)
        except Exception as error:  # noqa: BLE001 - the worker's loop: one row must not stop the others
            if isinstance(error, Unavailable) and error.code not in ABOUT_ONE_TEXT:
                await self._postpone(group_id, log_ids, error)
                return Admitted(receipts={})
            if len(log_ids) == 1:
                await self._record_failure(group_id, log_ids[0], error)
                return Admitted(receipts={})
            log.warning("admission retried row by row", rows=len(log_ids), reason=describe(error))
        rows = [await self._admit(group_id, [log_id], answers) for log_id in log_ids]
        return Admitted(
            receipts={log_id: receipt for row in rows for log_id, receipt in row.receipts.items()},
            to_judge=[capture for row in rows for capture in row.to_judge],
        )

    async def _postpone(self, group_id: str, log_ids: Sequence[UUID], error: Unavailable) -> None:
        log.warning("admission postponed", rows=len(log_ids), reason=error.code)
        try:
            await self._admitter.postpone(group_id, log_ids)
        except Unavailable as problem:
            # The rows stay pending and due: the sweep finds them when the database is back.
            log.warning("admission left to the sweep", rows=len(log_ids), reason=problem.code)

    async def _record_failure(self, group_id: str, log_id: UUID, error: Exception) -> None:
        log.error("admission failed", log_id=str(log_id), reason=describe(error), exc_info=error)
        try:
            await self._admitter.record_failure(group_id, log_id, error)
        except Exception as problem:  # noqa: BLE001 - the worker's loop: one row must not stop the others
            log.warning("admission left to the sweep", rows=1, reason=describe(problem))

    def _start_judging(self, capture: Capture, future: Waiting) -> None:
        task = asyncio.create_task(self._judge(capture, future), name="judge")
        self._judging[capture.id] = (task, future)

    async def _judge(self, capture: Capture, future: Waiting) -> None:
        answer: JudgeAnswer | None = None
        try:
            answer = await self._admitter.judge(capture)
        except Unavailable as error:
            log.warning("judgement left to the sweep", reason=error.code)
        except Exception as error:  # noqa: BLE001 - the worker's loop: one row must not stop the others
            await self._record_failure(capture.group_id, capture.id, error)
        finally:
            del self._judging[capture.id]
            if answer is None:
                await self._end_unjudged(capture, future)
            else:
                self._answers[capture.id] = answer
                self._put(capture.group_id, capture.id, future)

    async def _end_unjudged(self, capture: Capture, future: Waiting) -> None:
        standing: Standing | None = None
        try:
            standing = (await self._admitter.receipts(capture.group_id, [capture.id])).get(capture.id)
        except Unavailable as error:
            log.warning("where a row stands is not known", log_id=str(capture.id), reason=error.code)
        finally:
            _end(future, standing)


def _end(future: Waiting, standing: Standing | None) -> None:
    if not future.done():
        future.set_result(standing)
