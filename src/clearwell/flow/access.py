"""Who may do what, in which group. Every way in asks here."""

from clearwell.errors import NotAllowed
from clearwell.records import Principal, Right


def require_right(principal: Principal, *rights: Right) -> None:
    """One of these rights is enough."""
    if not principal.rights & set(rights):
        raise NotAllowed("right_missing", needed=" / ".join(rights), name=principal.name)


def require_group_covered(principal: Principal, group_id: str) -> None:
    if not principal.covers(group_id):
        raise NotAllowed("group_not_covered", group=group_id, name=principal.name)


def agent_for(principal: Principal, agent_id: str | None) -> str | None:
    """The agent a caller may speak for: a key bound to an agent can name no other."""
    if principal.agent_id is None:
        return agent_id
    if agent_id not in (None, principal.agent_id):
        raise NotAllowed("agent_not_covered", agent=agent_id, own=principal.agent_id)
    return principal.agent_id
