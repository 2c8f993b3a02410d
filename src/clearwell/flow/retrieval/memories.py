"""Reads one verified memory by its id, whole."""

from uuid import UUID

from clearwell.errors import NotFound
from clearwell.offload import offload
from clearwell.ports import LongTermSearch
from clearwell.records import VerifiedMemory
from clearwell.text.splitter import rejoin


class MemoryReader:
    """Reads memories that are valid. Reviewers see withdrawn ones by their provenance."""

    def __init__(self, longterm: LongTermSearch) -> None:
        self._longterm = longterm

    async def read(self, group_id: str, memory_id: UUID, *, agent_id: str | None) -> VerifiedMemory:
        """Return the memory, of the group or of this agent. Raises NotFound."""
        chunks = await self._longterm.get(group_id, [memory_id], agent_id=agent_id)
        valid = [chunk for chunk in chunks if chunk.valid_to is None]
        if not valid:
            raise NotFound("memory_not_found", id=memory_id, group=group_id)
        first, texts = valid[0], [chunk.content for chunk in valid]
        return VerifiedMemory(
            id=memory_id,
            group_id=group_id,
            content=await offload(sum(map(len, texts)), rejoin, texts),
            scope=first.scope,
            agent_id=first.agent_id,
            session_id=first.session_id,
            author=first.author,
            occurred_at=first.occurred_at,
            promoted_at=first.promoted_at,
            metadata=first.metadata,
            flags=first.flags,
        )
