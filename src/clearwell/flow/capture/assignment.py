"""Assignment: an output that was captured without a group gets one, and starts its admission there.

Quarantine is append-only: the row without a group stays as it is, and the group gets a row of its own with the same
output. To assign it to the same group again changes nothing.
"""

from dataclasses import replace
from hashlib import sha256
from uuid import UUID

from clearwell.errors import NotFound
from clearwell.flow.access.permissions import require_group_covered, require_in_group
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.capture.intake import CaptureRecorder
from clearwell.flow.ingress.queue import AdmissionQueue
from clearwell.ports import AuditStore, Clock, Ids, QuarantineStore
from clearwell.records import ASSIGN, UNASSIGNED, Admission, CaptureReceipt, IdempotencyKey, Principal, Right
from clearwell.vocabulary import AuditAction


class OutputAssigner:
    """Assigns outputs of the reserved group, for operators of all groups."""

    def __init__(
        self,
        quarantine: QuarantineStore,
        recorder: CaptureRecorder,
        queue: AdmissionQueue,
        audit: AuditStore,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._quarantine = quarantine
        self._recorder = recorder
        self._queue = queue
        self._audit = audit
        self._audit_events = AuditEvents(clock, ids)
        self._clock = clock
        self._ids = ids

    async def assign(self, log_id: UUID, group_id: str, *, by: Principal) -> CaptureReceipt:
        """Store the output in the group; who captured it and when it occurred stay. Raises NotFound."""
        require_in_group(by, group_id, Right.ADMIN)
        require_group_covered(by, UNASSIGNED)
        row = await self._quarantine.get(UNASSIGNED, log_id)
        if row is None:
            raise NotFound("row_not_found", id=log_id, group=UNASSIGNED)
        capture = replace(row.capture, id=self._ids.new(), group_id=group_id, created_at=self._clock.now())
        key = IdempotencyKey(
            principal=capture.captured_by, route=ASSIGN, key=str(log_id), request_hash=sha256(log_id.bytes).digest()
        )
        (stored,) = await self._recorder.store([capture], keys=[key])
        event = self._audit_events.make(
            AuditAction.ASSIGN, f"quarantine {stored.id}", group_id, by=by.name, assigned_from=str(log_id)
        )
        if not stored.replayed:
            await self._audit.add(event)
        self._queue.offer(group_id, stored.id)
        return CaptureReceipt(id=stored.id, group_id=group_id, admission=Admission.PENDING, replayed=stored.replayed)
