"""What the middleware asks for: an output is kept, and its admission set going or waited for."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from uuid import UUID

from clearwell.errors import ClearwellError, NotFound, Unavailable
from clearwell.flow.access.permissions import require_in_group, require_right
from clearwell.flow.capture.recorder import CaptureRecorder
from clearwell.flow.ingress.queue import AdmissionQueue
from clearwell.flow.ingress.redaction import told
from clearwell.ports import AdmissionStore
from clearwell.records import (
    UNASSIGNED,
    Admission,
    Capture,
    CaptureReceipt,
    IdempotencyKey,
    NewCapture,
    Principal,
    Right,
)
from clearwell.settings import Settings

LOOK_AGAIN_SECONDS = 0.1
"""How often a caller that waits looks whether another process has admitted its row."""


class Intake:
    def __init__(
        self, recorder: CaptureRecorder, queue: AdmissionQueue, admissions: AdmissionStore, settings: Settings
    ) -> None:
        self._recorder = recorder
        self._queue = queue
        self._admissions = admissions
        self._settings = settings

    async def one(
        self, new: NewCapture, *, by: Principal, wait: bool, request: IdempotencyKey | None = None
    ) -> CaptureReceipt:
        """Committed when this returns. With ``wait`` it returns when the admission has ended, or its time is up."""
        (receipt,) = await self._kept([self._recorder.accept(new, by=by)], wait=wait, request=request)
        return _told(receipt, by)

    async def many(
        self, news: Sequence[NewCapture], *, by: Principal, wait: bool, request: IdempotencyKey | None = None
    ) -> list[CaptureReceipt | ClearwellError]:
        """Each is kept, or its problem is in its place. Raises where none could be kept."""
        require_right(by, Right.CAPTURE)
        accepted = [self._accepted(new, by) for new in news]
        by_group: dict[str, list[Capture]] = {}
        for one in accepted:
            if isinstance(one, Capture):
                by_group.setdefault(one.group_id, []).append(one)
        kept: dict[UUID, CaptureReceipt | ClearwellError] = {}
        for captures in by_group.values():
            answers = await self._kept_or_problem(captures, first=not kept, wait=wait, request=request)
            kept.update(zip((capture.id for capture in captures), answers, strict=True))
        results = [kept[one.id] if isinstance(one, Capture) else one for one in accepted]
        return [_told(one, by) if isinstance(one, CaptureReceipt) else one for one in results]

    async def admit(self, group_id: str, log_id: UUID, *, by: Principal) -> CaptureReceipt:
        """Have a row admitted that is kept already."""
        require_in_group(by, group_id, Right.CAPTURE)
        await self._admitted_in_time(group_id, [log_id])
        receipts = await self._receipts(group_id, [log_id])
        if log_id not in receipts:
            raise NotFound("row_not_found", id=log_id, group=group_id)
        return _told(receipts[log_id], by)

    def _accepted(self, new: NewCapture, by: Principal) -> Capture | ClearwellError:
        try:
            return self._recorder.accept(new, by=by)
        except ClearwellError as problem:
            return problem

    async def _kept_or_problem(
        self, captures: Sequence[Capture], *, first: bool, wait: bool, request: IdempotencyKey | None
    ) -> Sequence[CaptureReceipt | ClearwellError]:
        """What became of one group's part of a batch. Where nothing is kept yet, its problem is the batch's."""
        try:
            return await self._kept(captures, wait=wait, request=request)
        except ClearwellError as problem:
            if first:
                raise
            return [problem] * len(captures)

    async def _kept(
        self, captures: Sequence[Capture], *, wait: bool, request: IdempotencyKey | None
    ) -> list[CaptureReceipt]:
        """Commit rows of one group and set their admission going."""
        group_id = captures[0].group_id
        stored = await self._recorder.keep(captures, request=request)
        ids = [one.id for one in stored]
        if wait and group_id != UNASSIGNED:
            await self._admitted_in_time(group_id, ids)
        elif group_id != UNASSIGNED:
            for log_id in ids:
                self._queue.offer(group_id, log_id)
        # Without waiting the answer is what the first one was, also to a repeated request.
        receipts = await self._receipts_if_known(group_id, ids) if wait or group_id == UNASSIGNED else {}
        pending = CaptureReceipt(id=ids[0], group_id=group_id, admission=Admission.PENDING)
        return [replace(receipts.get(one.id, pending), id=one.id, replayed=one.replayed) for one in stored]

    async def _admitted_in_time(self, group_id: str, log_ids: Sequence[UUID]) -> None:
        """Wait for the admission of these rows, no longer than ``wait_seconds``."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.wait_seconds):
                # ASYNC110: what is waited for happens in another process.
                while log_ids := await self._admit_here(group_id, log_ids):  # noqa: ASYNC110
                    await asyncio.sleep(LOOK_AGAIN_SECONDS)

    async def _admit_here(self, group_id: str, log_ids: Sequence[UUID]) -> Sequence[UUID]:
        """Admit these rows in this process; those that another process works on."""
        offered = {log_id: self._queue.offer(group_id, log_id) for log_id in log_ids}
        await asyncio.wait(offered.values())
        if not (elsewhere := [log_id for log_id, future in offered.items() if not future.result()]):
            return []
        receipts = await self._receipts_if_known(group_id, elsewhere)
        return [log_id for log_id, receipt in receipts.items() if receipt.admission is Admission.PENDING]

    async def _receipts_if_known(self, group_id: str, log_ids: Sequence[UUID]) -> Mapping[UUID, CaptureReceipt]:
        """What was committed is committed: where the rows stand is a second question, and may go unanswered."""
        try:
            return await self._receipts(group_id, log_ids)
        except Unavailable:
            return {}

    async def _receipts(self, group_id: str, log_ids: Sequence[UUID]) -> Mapping[UUID, CaptureReceipt]:
        found = await self._admissions.receipts(group_id, log_ids)
        return {
            log_id: CaptureReceipt(id=log_id, group_id=group_id, admission=state, verdicts=verdicts)
            for log_id, (state, verdicts) in found.items()
        }


def _told(receipt: CaptureReceipt, by: Principal) -> CaptureReceipt:
    return replace(receipt, verdicts=told(receipt.verdicts, by))
