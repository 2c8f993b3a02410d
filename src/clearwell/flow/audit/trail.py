"""The audit trail for those who may read it: list, verify, and export the head."""

from collections.abc import Sequence
from uuid import UUID

from clearwell.errors import NotAllowed
from clearwell.flow import limits
from clearwell.flow.access.permissions import require_group_covered, require_right
from clearwell.flow.audit.seals import AuditSealer
from clearwell.flow.audit.verification import AuditVerifier
from clearwell.ports import AuditStore
from clearwell.records import (
    INSTALLATION,
    AuditEvent,
    AuditFilter,
    AuditHead,
    AuditReport,
    Principal,
    Right,
)

READERS = (Right.REVIEW, Right.ADMIN)


class AuditTrail:
    """Reads and verifies the trail of a group, or that of the installation.

    The trail of a group needs the right to review or administer it; that of the installation (keys, callers that were
    not recognised) needs the right to administer every group. A key that is bound to an agent reads neither.
    """

    def __init__(self, audit: AuditStore, sealer: AuditSealer, verifier: AuditVerifier) -> None:
        self._audit = audit
        self._sealer = sealer
        self._verifier = verifier

    async def page(
        self, group_id: str | None, where: AuditFilter, *, before: UUID | None, limit: int, by: Principal
    ) -> Sequence[AuditEvent]:
        """Return events, newest first. Without a group: those of the installation."""
        return await self._audit.page(_require_reader(by, group_id), where, before=before, limit=limit)

    async def verify(self, group_id: str | None, head: AuditHead | None, *, by: Principal) -> AuditReport:
        """Seal what waits, then verify every event and seal."""
        trail = _require_reader(by, group_id)
        await self._sealer.seal_group(trail)
        return await self._verifier.verify(trail, head)

    async def head(self, group_id: str | None, *, by: Principal) -> AuditHead:
        """Seal what waits and return the last seal."""
        return await self._sealer.head(_require_reader(by, group_id))


def _require_reader(by: Principal, group_id: str | None) -> str:
    """Return the group of the trail, if the caller may read it."""
    if by.agent_id is not None:
        raise NotAllowed("agent_reads_no_audit", name=by.title, agent=by.agent_id)
    if group_id is None:
        require_right(by, Right.ADMIN)
        if by.groups is not None:
            raise NotAllowed("audit_of_installation", name=by.title)
        return INSTALLATION
    require_right(by, *READERS)
    limits.require_id(group_id, "group_id")
    require_group_covered(by, group_id)
    return group_id
