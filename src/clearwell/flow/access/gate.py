"""Only people decide. Every way to a decision goes through here, and who is turned away is recorded."""

import structlog

from clearwell.errors import ClearwellError, NotAllowed, Unavailable
from clearwell.flow import limits
from clearwell.flow.access.permissions import require_group_covered, require_in_group, require_right
from clearwell.flow.audit.events import AuditEvents
from clearwell.ports import AuditStore, Clock, Ids
from clearwell.records import Json, Principal, Right

log = structlog.get_logger(__name__)


class Gate:
    def __init__(self, audit: AuditStore, clock: Clock, ids: Ids) -> None:
        self._audit = audit
        self._audit_events = AuditEvents(clock, ids)

    async def person(self, by: Principal, group_id: str, what: str) -> None:
        """Let a person with the right to review pass. A key that speaks for an agent is no person's."""
        try:
            require_right(by, Right.REVIEW)
            if by.agent_id is not None:
                raise NotAllowed("agent_decides_nothing", name=by.name, agent=by.agent_id)
            require_group_covered(by, limits.require_group(group_id))
        except NotAllowed as refusal:
            await self._record(by, group_id, what, refusal.code)
            raise

    async def reviewer(self, by: Principal, group_id: str, what: str) -> None:
        """Let who may review or administer pass: for what prepares a decision, or keeps a value out."""
        try:
            require_in_group(by, group_id, Right.REVIEW, Right.ADMIN)
        except NotAllowed as refusal:
            await self._record(by, group_id, what, refusal.code)
            raise

    async def _record(self, by: Principal, group_id: str, what: str, why: str) -> None:
        rights: list[Json] = [right.value for right in sorted(by.rights)]
        event = self._audit_events.event(
            "refused", what, _named(group_id), by=by.name, why=why, agent=by.agent_id, rights=rights
        )
        try:
            await self._audit.add(event)
        except Unavailable as error:
            # Refused it is in any case.
            log.warning("refusal not recorded", what=what, actor=by.name, reason=error.code)


def _named(group_id: str) -> str:
    """The group, where it can be one; else the event is the installation's."""
    try:
        return limits.require_group(group_id)
    except ClearwellError:
        return ""
