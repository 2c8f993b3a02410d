"""The intake of captures: an output is checked, stored in quarantine, and its admission is started or awaited."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final
from uuid import UUID

from clearwell.errors import ClearwellError, InvalidInput, NotFound, Unavailable
from clearwell.flow import limits
from clearwell.flow.access.permissions import require_group_covered, require_in_group, require_right, resolve_agent
from clearwell.flow.ingress.admission import Admitter
from clearwell.flow.ingress.queue import AdmissionQueue
from clearwell.flow.ingress.redaction import redact_verdicts
from clearwell.ports import AdmissionStore, CaptureStore, Clock, Ids, StoredCapture
from clearwell.records import (
    UNASSIGNED,
    Admission,
    Capture,
    CaptureReceipt,
    DryRun,
    IdempotencyKey,
    NewCapture,
    Outcome,
    Principal,
    Right,
    Verdict,
)
from clearwell.settings import Settings

POLL_SECONDS: Final = 0.1
"""How often a caller that waits checks whether another process has admitted its row."""


class CaptureRecorder:
    """Checks and commits outputs. It does nothing else, because the caller waits for it."""

    def __init__(self, captures: CaptureStore, clock: Clock, ids: Ids, settings: Settings) -> None:
        self._captures = captures
        self._clock = clock
        self._ids = ids
        self._settings = settings

    def accept(self, new: NewCapture, *, by: Principal) -> Capture:
        """Check an output and make its row. Raises InvalidInput or NotAllowed."""
        require_right(by, Right.CAPTURE)
        if new.group_id is not None:
            require_group_covered(by, limits.require_group(new.group_id))
        now = self._clock.now()
        return Capture(
            id=self._ids.new(),
            group_id=UNASSIGNED if new.group_id is None else new.group_id,
            session_id=limits.require_id(new.session_id, "session_id"),
            node_id=limits.require_id(new.node_id, "node_id"),
            node_type=limits.require_id(new.node_type, "node_type") or "agent",
            agent_id=resolve_agent(by, limits.require_id(new.agent_id, "agent_id")),
            content=limits.require_text(new.content, "content", max_bytes=self._settings.max_content_bytes),
            metadata=limits.require_metadata(new.metadata, self._settings),
            partial=new.partial,
            occurred_at=limits.require_moment(new.occurred_at, "occurred_at") or now,
            created_at=now,
            captured_by=by.name,
        )

    async def store(self, captures: Sequence[Capture], *, request: IdempotencyKey | None = None) -> list[StoredCapture]:
        """Commit rows of one group. Rows without a group are stored as refused."""
        refusals = [self._make_refusal()] if captures[0].group_id == UNASSIGNED else []
        return await self._captures.add(captures, request=request, settled=refusals)

    def _make_refusal(self) -> Verdict:
        return Verdict(check="group", outcome=Outcome.FAIL, reason="verdict_no_group", at=self._clock.now())


class Intake:
    """Captures outputs: stores them, and starts their admission or waits for it."""

    def __init__(
        self,
        recorder: CaptureRecorder,
        admitter: Admitter,
        queue: AdmissionQueue,
        admissions: AdmissionStore,
        settings: Settings,
    ) -> None:
        self._recorder = recorder
        self._admitter = admitter
        self._queue = queue
        self._admissions = admissions
        self._settings = settings

    async def capture(
        self, new: NewCapture, *, by: Principal, wait: bool, request: IdempotencyKey | None = None
    ) -> CaptureReceipt:
        """Capture one output, which is committed when this returns.

        With ``wait`` this returns when the admission has ended, or its time is up.
        """
        (receipt,) = await self._store([self._recorder.accept(new, by=by)], wait=wait, request=request)
        return _redact(receipt, by)

    async def capture_many(
        self, news: Sequence[NewCapture], *, by: Principal, wait: bool, request: IdempotencyKey | None = None
    ) -> list[CaptureReceipt | ClearwellError]:
        """Capture many outputs; a receipt or an error in the place of each. Raises if none could be stored."""
        require_right(by, Right.CAPTURE)
        accepted = [self._accept(new, by) for new in news]
        by_group: dict[str, list[Capture]] = {}
        for capture in accepted:
            if isinstance(capture, Capture):
                by_group.setdefault(capture.group_id, []).append(capture)
        receipts: dict[UUID, CaptureReceipt | ClearwellError] = {}
        for captures in by_group.values():
            results = await self._store_or_fail(captures, first=not receipts, wait=wait, request=request)
            receipts.update(zip((capture.id for capture in captures), results, strict=True))
        answers = [receipts[capture.id] if isinstance(capture, Capture) else capture for capture in accepted]
        return [_redact(answer, by) if isinstance(answer, CaptureReceipt) else answer for answer in answers]

    async def store(self, new: NewCapture, *, by: Principal) -> UUID:
        """Store one output in quarantine and leave its admission to the sweep or to ``admit``."""
        (stored,) = await self._recorder.store([self._recorder.accept(new, by=by)])
        return stored.id

    async def check(self, new: NewCapture, *, by: Principal) -> DryRun:
        """Run the ingress pipeline on an output without storing anything."""
        capture = self._recorder.accept(new, by=by)
        if capture.group_id == UNASSIGNED:
            raise InvalidInput("group_missing", field="group_id")
        result = await self._admitter.dry_run(capture)
        return replace(result, verdicts=redact_verdicts(result.verdicts, by))

    async def admit(self, group_id: str, log_id: UUID, *, by: Principal) -> CaptureReceipt:
        """Wait for the admission of a row that is stored already. Raises NotFound."""
        require_in_group(by, group_id, Right.CAPTURE)
        await self._wait_for_admission(group_id, [log_id])
        receipts = await self._fetch_receipts(group_id, [log_id])
        if log_id not in receipts:
            raise NotFound("row_not_found", id=log_id, group=group_id)
        return _redact(receipts[log_id], by)

    def _accept(self, new: NewCapture, by: Principal) -> Capture | ClearwellError:
        try:
            return self._recorder.accept(new, by=by)
        except ClearwellError as problem:
            return problem

    async def _store_or_fail(
        self, captures: Sequence[Capture], *, first: bool, wait: bool, request: IdempotencyKey | None
    ) -> Sequence[CaptureReceipt | ClearwellError]:
        """Store the rows of one group; its error in the place of each. The error of the first group is raised."""
        try:
            return await self._store(captures, wait=wait, request=request)
        except ClearwellError as problem:
            if first:
                raise
            return [problem] * len(captures)

    async def _store(
        self, captures: Sequence[Capture], *, wait: bool, request: IdempotencyKey | None
    ) -> list[CaptureReceipt]:
        """Commit rows of one group and start their admission."""
        group_id = captures[0].group_id
        stored = await self._recorder.store(captures, request=request)
        ids = [row.id for row in stored]
        if wait and group_id != UNASSIGNED:
            await self._wait_for_admission(group_id, ids)
        elif group_id != UNASSIGNED:
            for log_id in ids:
                self._queue.offer(group_id, log_id)
        # Without ``wait`` a repeated request gets the same answer as the first one, which is pending.
        receipts = await self._try_fetch_receipts(group_id, ids) if wait or group_id == UNASSIGNED else {}
        pending = CaptureReceipt(id=ids[0], group_id=group_id, admission=Admission.PENDING)
        return [replace(receipts.get(row.id, pending), id=row.id, replayed=row.replayed) for row in stored]

    async def _wait_for_admission(self, group_id: str, log_ids: Sequence[UUID]) -> None:
        """Wait until these rows are admitted or refused, not longer than ``wait_seconds``."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.wait_seconds):
                # ASYNC110: the admission that is waited for runs in another process.
                while log_ids := await self._admit_here(group_id, log_ids):  # noqa: ASYNC110
                    await asyncio.sleep(POLL_SECONDS)

    async def _admit_here(self, group_id: str, log_ids: Sequence[UUID]) -> Sequence[UUID]:
        """Admit these rows in this process; returns those that another process is working on."""
        offered = {log_id: self._queue.offer(group_id, log_id) for log_id in log_ids}
        await asyncio.wait(offered.values())
        if not (elsewhere := [log_id for log_id, future in offered.items() if not future.result()]):
            return []
        receipts = await self._try_fetch_receipts(group_id, elsewhere)
        return [log_id for log_id, receipt in receipts.items() if receipt.admission is Admission.PENDING]

    async def _try_fetch_receipts(self, group_id: str, log_ids: Sequence[UUID]) -> Mapping[UUID, CaptureReceipt]:
        """The receipts, or none if the database does not answer: the rows are committed in any case."""
        try:
            return await self._fetch_receipts(group_id, log_ids)
        except Unavailable:
            return {}

    async def _fetch_receipts(self, group_id: str, log_ids: Sequence[UUID]) -> Mapping[UUID, CaptureReceipt]:
        states = await self._admissions.read_receipts(group_id, log_ids)
        return {
            log_id: CaptureReceipt(id=log_id, group_id=group_id, admission=state, verdicts=verdicts)
            for log_id, (state, verdicts) in states.items()
        }


def _redact(receipt: CaptureReceipt, by: Principal) -> CaptureReceipt:
    return replace(receipt, verdicts=redact_verdicts(receipt.verdicts, by))
