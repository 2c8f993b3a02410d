"""The intake of captures: an output is checked, stored in quarantine, and its admission is started or awaited."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from typing import Final
from uuid import UUID

from clearwell.errors import ClearwellError, InvalidInput, NotAllowed, NotFound, Unavailable
from clearwell.flow import limits
from clearwell.flow.access.permissions import require_group_covered, require_in_group, require_right, resolve_agent
from clearwell.flow.events.publisher import EventPublisher
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
    EventType,
    IdempotencyKey,
    NewCapture,
    Outcome,
    Principal,
    Right,
    Verdict,
)
from clearwell.settings import Settings
from clearwell.vocabulary import IngressCheck

POLL_SECONDS: Final = 0.1
"""How often a caller that waits checks whether another process has admitted its row."""

OWN_KEY_ROUTE: Final = "capture"
"""Takes the place of the route in the key of one output, which may be sent by more than one route."""


class CaptureRecorder:
    """Checks and commits outputs. It does nothing else, because the caller waits for it."""

    def __init__(
        self, captures: CaptureStore, events: EventPublisher, clock: Clock, ids: Ids, settings: Settings
    ) -> None:
        self._captures = captures
        self._events = events
        self._clock = clock
        self._ids = ids
        self._settings = settings

    def accept(self, new: NewCapture, *, by: Principal) -> Capture:
        """Check an output and make its row. Raises InvalidInput or NotAllowed."""
        require_right(by, Right.CAPTURE)
        if new.idempotency_key is not None:
            limits.require_key(new.idempotency_key, "idempotency_key")
        if new.group_id is not None:
            require_group_covered(by, limits.require_group(new.group_id))
        elif by.groups is not None:
            raise NotAllowed("group_unnamed", name=by.title, groups=", ".join(sorted(by.groups)))
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

    async def store(
        self, captures: Sequence[Capture], *, keys: Sequence[IdempotencyKey | None] = ()
    ) -> list[StoredCapture]:
        """Commit rows of one group. Rows without a group are stored as refused."""
        refusals = [self._make_refusal()] if captures[0].group_id == UNASSIGNED else []
        stored = await self._captures.add(captures, keys=keys, settled=refusals)
        for capture, row in zip(captures, stored, strict=True):
            if not row.replayed:
                self._announce(capture, refusals)
        return stored

    def _announce(self, capture: Capture, refusals: Sequence[Verdict]) -> None:
        self._events.publish_output(EventType.CAPTURED, capture, partial=capture.partial or None)
        for refusal in refusals:
            self._events.publish_output(EventType.REFUSED, capture, check=refusal.check, reason=refusal.reason)

    def _make_refusal(self) -> Verdict:
        return Verdict(check=IngressCheck.GROUP, outcome=Outcome.FAIL, reason="verdict_no_group", at=self._clock.now())


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedOutput:
    """The row of an output, and the output's own key."""

    capture: Capture
    key: IdempotencyKey | None


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
        (receipt,) = await self._store([self._accept(new, by)], wait=wait, request=request)
        return _redact(receipt, by)

    async def capture_many(
        self, news: Sequence[NewCapture], *, by: Principal, wait: bool, request: IdempotencyKey | None = None
    ) -> list[CaptureReceipt | ClearwellError]:
        """Capture many outputs; a receipt or an error in the place of each. Raises if none could be stored."""
        require_right(by, Right.CAPTURE)
        accepted = [self._accept_or_fail(new, by) for new in news]
        by_group: dict[str, list[AcceptedOutput]] = {}
        for output in accepted:
            if isinstance(output, AcceptedOutput):
                by_group.setdefault(output.capture.group_id, []).append(output)
        receipts: dict[UUID, CaptureReceipt | ClearwellError] = {}
        for outputs in by_group.values():
            results = await self._store_or_fail(outputs, first=not receipts, wait=wait, request=request)
            receipts.update(zip((output.capture.id for output in outputs), results, strict=True))
        answers = [receipts[one.capture.id] if isinstance(one, AcceptedOutput) else one for one in accepted]
        return [_redact(answer, by) if isinstance(answer, CaptureReceipt) else answer for answer in answers]

    async def store(self, new: NewCapture, *, by: Principal) -> UUID:
        """Store one output in quarantine and leave its admission to the sweep or to ``wait_for_admission``."""
        (stored,) = await self._recorder.store([self._recorder.accept(new, by=by)])
        return stored.id

    async def check(self, new: NewCapture, *, by: Principal) -> DryRun:
        """Run the ingress pipeline on an output without storing anything."""
        capture = self._recorder.accept(new, by=by)
        if capture.group_id == UNASSIGNED:
            raise InvalidInput("group_missing", field="group_id")
        result = await self._admitter.dry_run(capture)
        return replace(result, verdicts=redact_verdicts(result.verdicts, by))

    async def wait_for_admission(self, group_id: str, log_id: UUID, *, by: Principal) -> CaptureReceipt:
        """Wait for the admission of a row that is stored already. Raises NotFound."""
        require_in_group(by, group_id, Right.CAPTURE)
        await self._wait_until_settled(group_id, {log_id: self._queue.offer(group_id, log_id)})
        receipts = await self._fetch_receipts(group_id, [log_id])
        if log_id not in receipts:
            raise NotFound("row_not_found", id=log_id, group=group_id)
        return _redact(receipts[log_id], by)

    def _accept(self, new: NewCapture, by: Principal) -> AcceptedOutput:
        return AcceptedOutput(capture=self._recorder.accept(new, by=by), key=_make_own_key(new, by))

    def _accept_or_fail(self, new: NewCapture, by: Principal) -> AcceptedOutput | ClearwellError:
        try:
            return self._accept(new, by)
        except ClearwellError as problem:
            return problem

    async def _store_or_fail(
        self, outputs: Sequence[AcceptedOutput], *, first: bool, wait: bool, request: IdempotencyKey | None
    ) -> Sequence[CaptureReceipt | ClearwellError]:
        """Store the rows of one group; its error in the place of each. The error of the first group is raised."""
        try:
            return await self._store(outputs, wait=wait, request=request)
        except ClearwellError as problem:
            if first:
                raise
            return [problem] * len(outputs)

    async def _store(
        self, outputs: Sequence[AcceptedOutput], *, wait: bool, request: IdempotencyKey | None
    ) -> list[CaptureReceipt]:
        """Commit rows of one group and start their admission. An output may have a key of its own."""
        group_id = outputs[0].capture.group_id
        keys = [output.key or _make_item_key(request, number) for number, output in enumerate(outputs)]
        stored = await self._recorder.store([output.capture for output in outputs], keys=keys)
        ids = [row.id for row in stored]
        if group_id != UNASSIGNED:
            offered = {log_id: self._queue.offer(group_id, log_id) for log_id in ids}
            if wait:
                await self._wait_until_settled(group_id, offered)
        # Without ``wait`` a repeated request gets the same answer as the first one, which is pending.
        receipts = await self._try_fetch_receipts(group_id, ids) if wait or group_id == UNASSIGNED else {}
        pending = CaptureReceipt(id=ids[0], group_id=group_id, admission=Admission.PENDING)
        return [replace(receipts.get(row.id, pending), id=row.id, replayed=row.replayed) for row in stored]

    async def _wait_until_settled(self, group_id: str, offered: Mapping[UUID, asyncio.Future[bool]]) -> None:
        """Wait until these rows are admitted or refused, not longer than ``wait_seconds``.

        Rows that another process works on are offered again until it has settled them.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.wait_seconds):
                while True:
                    await asyncio.wait(offered.values())
                    elsewhere = [log_id for log_id, future in offered.items() if not future.result()]
                    receipts = await self._try_fetch_receipts(group_id, elsewhere) if elsewhere else {}
                    pending = [one.id for one in receipts.values() if one.admission is Admission.PENDING]
                    if not pending:
                        return
                    await asyncio.sleep(POLL_SECONDS)
                    offered = {log_id: self._queue.offer(group_id, log_id) for log_id in pending}

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


def _make_item_key(request: IdempotencyKey | None, number: int) -> IdempotencyKey | None:
    """The key of one output of a request."""
    return None if request is None else replace(request, route=f"{request.route} {number}")


def _make_own_key(new: NewCapture, by: Principal) -> IdempotencyKey | None:
    """The key that an output has by itself, with a hash of the output to recognise another one."""
    if new.idempotency_key is None:
        return None
    values = {field.name: getattr(new, field.name) for field in fields(new) if field.name != "idempotency_key"}
    content = json.dumps({**values, "metadata": dict(new.metadata)}, default=str, sort_keys=True).encode()
    return IdempotencyKey(
        principal=by.name, route=OWN_KEY_ROUTE, key=new.idempotency_key, request_hash=sha256(content).digest()
    )


def _redact(receipt: CaptureReceipt, by: Principal) -> CaptureReceipt:
    return replace(receipt, verdicts=redact_verdicts(receipt.verdicts, by))
