"""Who may do what, in which group.

The functions check one call of a caller and raise NotAllowed. The gate (``flow/access/gate.py``) records it.
"""

from clearwell.errors import NotAllowed
from clearwell.flow import limits
from clearwell.records import Principal, Right


def require_right(principal: Principal, *rights: Right) -> None:
    """Require at least one of these rights."""
    if not principal.rights & set(rights):
        raise NotAllowed("right_missing", needed=" / ".join(rights), name=principal.title)


def require_operator(principal: Principal) -> None:
    """Require a person who may administer every group: whoever creates a key chooses its groups."""
    require_right(principal, Right.ADMIN)
    if principal.agent_id is not None:
        raise NotAllowed("agent_operates_nothing", name=principal.title, agent=principal.agent_id)
    if principal.groups is not None:
        raise NotAllowed("operator_of_some_groups", name=principal.title)


def require_group_covered(principal: Principal, group_id: str) -> None:
    """Require that the caller's key covers the group."""
    if not principal.covers(group_id):
        raise NotAllowed("group_not_covered", group=group_id, name=principal.title)


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
