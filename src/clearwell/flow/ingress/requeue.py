"""Runs refused rows through the ingress pipeline again: one row, or all that one check refused."""

from uuid import UUID

from clearwell.errors import InvalidInput, NotFound
from clearwell.flow.access.permissions import require_in_group
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.events.publisher import EventPublisher
from clearwell.flow.idempotency import run_once
from clearwell.flow.ingress.queue import AdmissionQueue
from clearwell.ports import AdmissionStore, IdempotencyStore
from clearwell.records import Admission, EventType, IdempotencyKey, Json, Principal, Requeued, Right
from clearwell.settings import CHECK_STAGES
from clearwell.vocabulary import AuditAction, IngressCheck

AT_ONCE = 500
REFUSERS = (
    "judge_gave_up",
    "admission_failed",
    IngressCheck.NODE_TYPE,
    *(check for stage in CHECK_STAGES for check in stage),
)
"""Rows can be requeued together by the check that refused them, or by one of these two reasons: the judge never
answered, or the admission itself failed."""


class Requeuer:
    """Starts the admission of refused rows again, with an audit event for each."""

    def __init__(
        self,
        admissions: AdmissionStore,
        queue: AdmissionQueue,
        idempotency: IdempotencyStore,
        audit_events: AuditEvents,
        events: EventPublisher,
    ) -> None:
        self._admissions = admissions
        self._queue = queue
        self._idempotency = idempotency
        self._audit_events = audit_events
        self._events = events

    async def requeue(
        self, group_id: str, log_id: UUID, *, by: Principal, request: IdempotencyKey | None, settle: bool
    ) -> Admission:
        """Make a refused row pending again, or a pending row due now. Returns the state that it had.

        Without ``settle`` the admission is left to the process that sweeps.
        """
        require_in_group(by, group_id, Right.ADMIN)

        async def act() -> Json:
            was = await self._requeue_row(group_id, log_id, by, settle=settle)
            if was is None:
                raise NotFound("row_not_refused", id=log_id, group=group_id)
            return was.value

        return Admission(str(await run_once(self._idempotency, request, act)))

    async def requeue_refused(
        self, group_id: str, refused_by: str, *, by: Principal, request: IdempotencyKey | None, settle: bool
    ) -> Requeued:
        """Requeue the rows that one check refused, or that were refused for one reason, up to a limit per call."""
        require_in_group(by, group_id, Right.ADMIN)
        if refused_by not in REFUSERS:
            raise InvalidInput("refused_by_unknown", field="refused_by", limit=", ".join(REFUSERS))

        async def act() -> Json:
            found = await self._admissions.find_refused(group_id, by=refused_by, limit=AT_ONCE + 1)
            for log_id in found[:AT_ONCE]:
                await self._requeue_row(group_id, log_id, by, settle=settle)
            return [min(len(found), AT_ONCE), len(found) > AT_ONCE]

        done = await run_once(self._idempotency, request, act)
        assert isinstance(done, list)  # noqa: S101 - as act made it
        return Requeued(rows=int(str(done[0])), more=bool(done[1]))

    async def _requeue_row(self, group_id: str, log_id: UUID, by: Principal, *, settle: bool) -> Admission | None:
        event = self._audit_events.make(AuditAction.REQUEUE, f"quarantine {log_id}", group_id, by=by.name)
        was = await self._admissions.requeue(group_id, log_id, event=event)
        if was is not None:
            self._events.publish(EventType.REQUEUED, group_id, log_id=str(log_id), was=was.value, by=by.name)
        if was is not None and settle:
            self._queue.offer(group_id, log_id)
        return was
