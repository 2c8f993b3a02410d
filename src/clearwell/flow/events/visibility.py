"""Which events a reader gets: people who review get all of them, agents get what an agent may know.

An agent learns what happened to its own outputs, what working memory and long-term memory hold for it, and nothing of
review. A key that is bound to no agent stands for all agents of its groups.
"""

from dataclasses import replace
from typing import Final

from clearwell.records import Event, EventType, Principal, Right

OF_THE_STREAM: Final = frozenset({EventType.SUBSCRIBED, EventType.RESET, EventType.DEGRADED, EventType.RECOVERED})
OF_WORKING_MEMORY: Final = frozenset({EventType.ADMITTED, EventType.ENTRY_REMOVED})
"""What every reader of the group can retrieve, whichever agent wrote it."""
OF_ONE_AGENT: Final = frozenset(
    {
        EventType.CAPTURED,
        EventType.REFUSED,
        EventType.REQUEUED,
        EventType.MEMORY_RETRIEVED,
        EventType.MEMORY_RETRIEVAL_ERROR,
        EventType.FACT_CHECKED,
        EventType.FACT_CHECK_ERROR,
    }
)
OF_LONGTERM_MEMORY: Final = frozenset(
    {EventType.PROMOTED, EventType.PROMOTION_COMPLETED, EventType.SUPERSEDED, EventType.RETRACTED}
)
"""``agent_id`` is the agent that the memory belongs to, and None for the memories of the group."""
PERSON: Final = "by"


def select_visible(event: Event, by: Principal) -> Event | None:
    """Return the event as this caller may read it, or None if it may not."""
    if by.rights & {Right.REVIEW, Right.ADMIN} and by.agent_id is None:
        return event
    if not _may_know(event, by.agent_id):
        return None
    return replace(event, data={name: value for name, value in event.data.items() if name != PERSON})


def _may_know(event: Event, agent_id: str | None) -> bool:
    if event.type in OF_THE_STREAM or event.type in OF_WORKING_MEMORY:
        return True
    if event.type in OF_ONE_AGENT:
        return agent_id in (None, event.agent_id)
    if event.type in OF_LONGTERM_MEMORY:
        return agent_id is None or event.agent_id in (None, agent_id)
    return False
