"""Rejected values in the past: a query about another time finds memories that were withdrawn and rejected since.

What is valid now needs no such look-up: a rejected value cannot be promoted.
"""

from collections.abc import Sequence

from clearwell.flow.tombstones.hashing import ValueHasher
from clearwell.ports import TombstoneLookup
from clearwell.records import FoundChunk


class Rejections:
    """Finds memories that say what a tombstone keeps out."""

    def __init__(self, tombstones: TombstoneLookup, hasher: ValueHasher) -> None:
        self._tombstones = tombstones
        self._hasher = hasher

    async def drop_rejected(self, found: Sequence[FoundChunk], group_id: str) -> list[FoundChunk]:
        """The memories without those that say a rejected or forgotten value. Raises Unavailable."""
        return [one for one in found if not await self._is_rejected(one.memory.content, group_id)]

    async def _is_rejected(self, content: str, group_id: str) -> bool:
        tombstone, _ = await self._tombstones.look_up(group_id, await self._hasher.hash_values(group_id, content))
        return tombstone is not None
