"""A person admits an output that the ingress pipeline refused."""

from uuid import UUID

from clearwell.errors import Conflict, NotFound
from clearwell.flow import limits
from clearwell.flow.access.gate import AccessGate
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.idempotency import run_once
from clearwell.flow.ingress.admission import Admitter
from clearwell.ports import AdmissionStore, IdempotencyStore, QuarantineStore
from clearwell.records import (
    Admission,
    CaptureReceipt,
    IdempotencyKey,
    Json,
    Outcome,
    Principal,
    QuarantineRow,
    Verdict,
)
from clearwell.vocabulary import AuditAction, IngressCheck


class RefusalOverride:
    """Puts refused outputs into working memory at a person's request, with an audit event for each."""

    def __init__(
        self,
        *,
        gate: AccessGate,
        quarantine: QuarantineStore,
        admissions: AdmissionStore,
        admitter: Admitter,
        idempotency: IdempotencyStore,
        audit_events: AuditEvents,
    ) -> None:
        self._gate = gate
        self._quarantine = quarantine
        self._admissions = admissions
        self._admitter = admitter
        self._idempotency = idempotency
        self._audit_events = audit_events

    async def admit_refused(
        self, group_id: str, log_id: UUID, *, by: Principal, reason: str | None, request: IdempotencyKey | None
    ) -> CaptureReceipt:
        """Admit a refused output. It keeps its verdicts, and gets one that names the person and the reason.

        Raises NotFound, and Conflict if it is not refused or if its text was rejected or forgotten.
        """
        await self._gate.require_person(by, group_id, f"admit quarantine {log_id}")
        reason = limits.require_reason(reason)

        async def act() -> Json:
            row = await self._quarantine.get(group_id, log_id)
            if row is None:
                raise NotFound("row_not_found", id=log_id, group=group_id)
            _require_refused(row)
            event = self._audit_events.make(AuditAction.ADMIT, f"quarantine {log_id}", group_id, by=by.name)
            if not await self._admitter.admit_refused(row, _make_verdict(by, reason), event):
                raise Conflict("row_admitted", id=log_id)
            return True

        await run_once(self._idempotency, request, act)
        state, verdicts = (await self._admissions.read_receipts(group_id, [log_id]))[log_id]
        return CaptureReceipt(id=log_id, group_id=group_id, admission=state, verdicts=verdicts)


def _require_refused(row: QuarantineRow) -> None:
    if row.admission is Admission.ADMITTED:
        raise Conflict("row_admitted", id=row.capture.id)
    if row.admission is Admission.PENDING:
        raise Conflict("row_pending", id=row.capture.id)
    if not row.capture.content:
        raise Conflict("row_forgotten", id=row.capture.id)


def _make_verdict(by: Principal, reason: str | None) -> Verdict:
    return Verdict(
        check=IngressCheck.ADMISSION,
        outcome=Outcome.PASS,
        reason="verdict_overridden" if reason is None else "verdict_overridden_why",
        params={"by": by.name, **({} if reason is None else {"why": reason})},
    )
