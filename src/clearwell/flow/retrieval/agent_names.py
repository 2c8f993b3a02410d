"""The names of agents that labels may show: those that an operator wrote.

An agent chooses its ``agent_id`` itself, and a name can be a sentence that claims to be verified.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from clearwell.errors import Unavailable
from clearwell.ports import GroupStore
from clearwell.records import ContextItem

log = structlog.get_logger(__name__)

KEPT_SECONDS: Final = 10.0
"""How long the names of a group are kept, so that most retrievals do not ask for them."""
NAMES_SHARE: Final = 0.1
"""The share of the time limit of a retrieval that the question for names may take."""
MAX_GROUPS: Final = 1_000


@dataclass(frozen=True, slots=True)
class _Known:
    names: frozenset[str]
    until: float


class AgentNames:
    """Finds the named agents of a group."""

    def __init__(self, groups: GroupStore, *, seconds: float) -> None:
        self._groups = groups
        self._seconds = seconds
        self._known: dict[str, _Known] = {}

    async def add_to(self, items: Sequence[ContextItem], group_id: str) -> list[ContextItem]:
        """The items, each with the name of its agent if an operator has named it."""
        if not any(item.agent_id is not None and not item.verified for item in items):
            return list(items)
        names = await self._find(group_id)
        return [replace(item, agent_name=item.agent_id) if item.agent_id in names else item for item in items]

    async def _find(self, group_id: str) -> frozenset[str]:
        """The names; none if the database does not answer in time."""
        now = asyncio.get_running_loop().time()
        known = self._known.get(group_id)
        if known is not None and known.until > now:
            return known.names
        try:
            async with asyncio.timeout(self._seconds):
                names = await self._groups.agent_names(group_id)
        except (Unavailable, TimeoutError) as error:
            log.warning("agents not named", reason=getattr(error, "code", "timeout"))
            return frozenset() if known is None else known.names
        self._known.pop(group_id, None)
        self._known[group_id] = _Known(names, now + KEPT_SECONDS)
        if len(self._known) > MAX_GROUPS:
            del self._known[next(iter(self._known))]
        return names
