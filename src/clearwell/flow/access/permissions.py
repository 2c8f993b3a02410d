"""Who may do what, in which group.

The functions check one call of a caller and raise NotAllowed. ``DecisionGate`` guards everything that leads to a
decision, and also records refusals.
"""

import structlog

from clearwell.errors import ClearwellError, NotAllowed, Unavailable
from clearwell.flow import limits
from clearwell.flow.audit.events import AuditEvents
from clearwell.ports import AuditStore, Clock, Ids
from clearwell.records import Json, Principal, Right

log = structlog.get_logger(__name__)


def require_right(principal: Principal, *rights: Right) -> None:
    """Require at least one of these rights."""
    if not principal.rights & set(rights):
        raise NotAllowed("right_missing", needed=" / ".join(rights), name=principal.name)


def require_group_covered(principal: Principal, group_id: str) -> None:
    """Require that the caller's key covers the group."""
    if not principal.covers(group_id):
        raise NotAllowed("group_not_covered", group=group_id, name=principal.name)


def require_in_group(principal: Principal, group_id: str, *rights: Right) -> None:
    """Require at least one of these rights in a group with a valid name."""
    require_right(principal, *rights)
    require_group_covered(principal, limits.require_group(group_id))


def require_reviewer(principal: Principal, group_id: str) -> None:
    """Require that the caller may review or administer this group. The reserved group is allowed, too."""
    require_right(principal, Right.REVIEW, Right.ADMIN)
    limits.require_id(group_id, "group_id")
    require_group_covered(principal, group_id)


def resolve_agent(principal: Principal, agent_id: str | None) -> str | None:
    """Return the agent that the caller acts for. A key that is bound to an agent cannot name another one."""
    if principal.agent_id is None:
        return agent_id
    if agent_id not in (None, principal.agent_id):
        raise NotAllowed("agent_not_covered", agent=agent_id, own=principal.agent_id)
    return principal.agent_id


class DecisionGate:
    """Lets only people decide, and records in the audit every caller that it refuses."""

    def __init__(self, audit: AuditStore, clock: Clock, ids: Ids) -> None:
        self._audit = audit
        self._audit_events = AuditEvents(clock, ids)

    async def require_person(self, by: Principal, group_id: str, what: str) -> None:
        """Require a person with the right to review. A key that is bound to an agent does not belong to a person.

        ``what`` names the attempted action in the audit. Raises NotAllowed.
        """
        try:
            require_right(by, Right.REVIEW)
            if by.agent_id is not None:
                raise NotAllowed("agent_decides_nothing", name=by.name, agent=by.agent_id)
            require_group_covered(by, limits.require_group(group_id))
        except NotAllowed as refusal:
            await self._record_refusal(by, group_id, what, refusal.code)
            raise

    async def require_reviewer(self, by: Principal, group_id: str, what: str) -> None:
        """Require the right to review or administer, for actions that prepare a decision or keep a value out."""
        try:
            require_in_group(by, group_id, Right.REVIEW, Right.ADMIN)
        except NotAllowed as refusal:
            await self._record_refusal(by, group_id, what, refusal.code)
            raise

    async def _record_refusal(self, by: Principal, group_id: str, what: str, why: str) -> None:
        rights: list[Json] = [right.value for right in sorted(by.rights)]
        event = self._audit_events.make(
            "refused", what, _audited_group(group_id), by=by.name, why=why, agent=by.agent_id, rights=rights
        )
        try:
            await self._audit.add(event)
        except Unavailable as error:
            # The caller is refused even if the audit cannot be written.
            log.warning("refusal not recorded", what=what, actor=by.name, reason=error.code)


def _audited_group(group_id: str) -> str:
    """The group of a refusal's audit event: empty, which means the whole installation, if the name is not valid."""
    try:
        return limits.require_group(group_id)
    except ClearwellError:
        return ""
