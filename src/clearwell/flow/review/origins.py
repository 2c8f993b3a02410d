"""The origin of a verified memory as agents may know it: no text of an output in quarantine is part of it."""

from collections.abc import Mapping
from uuid import UUID

from clearwell.errors import NotFound
from clearwell.flow.access.keys import KeyRing
from clearwell.flow.retrieval.memories import MemoryReader
from clearwell.ports import ProvenanceStore
from clearwell.records import MemoryOrigin, Provenance


class OriginReader:
    """Reads who promoted a memory, when, and whose outputs it is based on."""

    def __init__(self, memories: MemoryReader, provenance: ProvenanceStore, keys: KeyRing) -> None:
        self._memories = memories
        self._provenance = provenance
        self._keys = keys

    async def read(self, group_id: str, memory_id: UUID, *, agent_id: str | None) -> MemoryOrigin:
        """Return the origin of a valid memory, of the group or of this agent. Raises NotFound."""
        await self._memories.read(group_id, memory_id, agent_id=agent_id)
        provenance = await self._provenance.origin(group_id, memory_id)
        if provenance is None or not provenance.promotions:
            raise NotFound("memory_not_found", id=memory_id, group=group_id)
        return _make_origin(provenance, await self._keys.list_names())


def _make_origin(provenance: Provenance, key_names: Mapping[str, str]) -> MemoryOrigin:
    promotion = provenance.promotions[-1].promotion
    said_by = {row.capture.agent_id for row in provenance.rows} | {promotion.text.agent_id}
    return MemoryOrigin(
        memory_id=promotion.memory_id,
        group_id=promotion.group_id,
        origin=promotion.text.origin,
        promoted_by=promotion.decided_by,
        promoted_by_name=key_names.get(promotion.decided_by, promotion.decided_by),
        promoted_at=promotion.decided_at,
        agents=tuple(sorted(agent for agent in said_by if agent is not None)),
        outputs=len(provenance.rows),
        supersedes=promotion.supersedes,
        conflicts_with=provenance.conflicts_with,
        import_id=promotion.import_id,
    )
