"""Admissions that this process is about to do, off the caller's path."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import TypeAlias
from uuid import UUID

import structlog

from clearwell.errors import Unavailable
from clearwell.flow.ingress.admission import Admitted, Admitter
from clearwell.records import Admission, Capture, Judgement, Verdict

log = structlog.get_logger(__name__)
Standing: TypeAlias = tuple[Admission, tuple[Verdict, ...]]
Waiting: TypeAlias = "asyncio.Future[Standing | None]"


class AdmissionQueue:
    """One admission at a time in a group, in batches. Rows that wait for the judge let the others pass."""

    def __init__(self, admitter: Admitter, *, batch: int, groups_at_once: int = 4) -> None:
        self._admitter = admitter
        self._batch = batch
        self._slots = asyncio.Semaphore(groups_at_once)
        self._waiting: defaultdict[str, dict[UUID, Waiting]] = defaultdict(dict)
        self._draining: dict[str, asyncio.Task[None]] = {}
        self._judging: dict[UUID, tuple[asyncio.Task[None], Waiting]] = {}
        self._judgements: dict[UUID, Judgement] = {}

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
                    await self._admit_some(group_id, list(waiting)[: self._batch])
        finally:
            for future in waiting.values():
                _end(future, None)
            del self._waiting[group_id], self._draining[group_id]

    async def _admit_some(self, group_id: str, log_ids: Sequence[UUID]) -> None:
        done = Admitted(receipts={})
        judgements = {one: self._judgements.pop(one) for one in log_ids if one in self._judgements}
        try:
            done = await self._admitter.admit(group_id, log_ids, judgements)
        except Unavailable as error:
            log.warning("admission postponed", rows=len(log_ids), reason=error.code)
            await self._postpone(group_id, log_ids)
        except Exception:
            # The worker's loop: one bad row must not stop the others.
            log.exception("admission failed", rows=len(log_ids))
            await self._postpone(group_id, log_ids)
        finally:
            futures = {log_id: self._waiting[group_id].pop(log_id) for log_id in log_ids}
            for capture in done.to_judge:
                self._start_judging(capture, futures.pop(capture.id))
            for log_id, future in futures.items():
                _end(future, done.receipts.get(log_id))

    async def _postpone(self, group_id: str, log_ids: Sequence[UUID]) -> None:
        try:
            await self._admitter.postpone(group_id, log_ids)
        except Unavailable as error:
            # The rows stay pending and due: the sweep finds them when the database is back.
            log.warning("admission left to the sweep", rows=len(log_ids), reason=error.code)

    def _start_judging(self, capture: Capture, future: Waiting) -> None:
        task = asyncio.create_task(self._judge(capture, future), name="judge")
        self._judging[capture.id] = (task, future)

    async def _judge(self, capture: Capture, future: Waiting) -> None:
        judgement: Judgement | None = None
        try:
            judgement = await self._admitter.judge(capture)
        except Unavailable as error:
            log.warning("judgement left to the sweep", reason=error.code)
        except Exception:
            # The worker's loop: one bad row must not stop the others.
            log.exception("judgement failed", log_id=str(capture.id))
            await self._postpone(capture.group_id, [capture.id])
        finally:
            del self._judging[capture.id]
            if judgement is None:
                await self._end_unjudged(capture, future)
            else:
                self._judgements[capture.id] = judgement
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
