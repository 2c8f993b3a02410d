"""Rejected values in the past: a query about another time finds memories that were withdrawn and rejected since.

What is valid now needs no such look-up: a rejected value cannot be promoted.
"""

from collections.abc import Sequence

from clearwell.offload import offload
from clearwell.ports import TombstoneStore
from clearwell.records import Found
from clearwell.text.normalisation import find_values, hash_value


class Rejections:
    """Finds memories that say what a tombstone keeps out."""

    def __init__(self, tombstones: TombstoneStore) -> None:
        self._tombstones = tombstones

    async def drop_rejected(self, found: Sequence[Found], group_id: str) -> list[Found]:
        """The memories without those that say a rejected or forgotten value. Raises Unavailable."""
        if not found:
            return []
        secret = await self._tombstones.secret(group_id)
        return [one for one in found if not await self._is_rejected(one.memory.content, group_id, secret)]

    async def _is_rejected(self, content: str, group_id: str, secret: bytes) -> bool:
        values = await offload(len(content), find_values, content)
        tombstone, _ = await self._tombstones.look_up(group_id, [hash_value(value, secret) for value in values])
        return tombstone is not None
