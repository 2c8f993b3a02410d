"""Who may do what, in which group. Every way in asks here."""

from clearwell.errors import NotAllowed
from clearwell.flow import limits
from clearwell.records import Principal, Right


def require_right(principal: Principal, *rights: Right) -> None:
    """One of these rights is enough."""
    if not principal.rights & set(rights):
        raise NotAllowed("right_missing", needed=" / ".join(rights), name=principal.name)


def require_group_covered(principal: Principal, group_id: str) -> None:
    if not principal.covers(group_id):
        raise NotAllowed("group_not_covered", group=group_id, name=principal.name)


def require_in_group(principal: Principal, group_id: str, *rights: Right) -> None:
    """One of these rights, in a group that can be named."""
    require_right(principal, *rights)
    require_group_covered(principal, limits.require_group(group_id))


def require_reviewer(principal: Principal, group_id: str) -> None:
    """May look into this group, also into the reserved one."""
    require_right(principal, Right.REVIEW, Right.ADMIN)
    limits.require_id(group_id, "group_id")
    require_group_covered(principal, group_id)


def agent_for(principal: Principal, agent_id: str | None) -> str | None:
    """The agent a caller may speak for: a key bound to an agent can name no other."""
    if principal.agent_id is None:
        return agent_id
    if agent_id not in (None, principal.agent_id):
        raise NotAllowed("agent_not_covered", agent=agent_id, own=principal.agent_id)
    return principal.agent_id
