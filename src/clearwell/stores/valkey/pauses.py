"""Pauses of groups: a key for each, which expires by the time of the server."""

from collections.abc import Set as AbstractSet
from datetime import timedelta

import redis.asyncio as redis

from clearwell.ports import GroupPauses
from clearwell.stores.valkey.client import translate_errors

KEYS = "clearwell:pause:"


class ValkeyPauses(GroupPauses):
    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    async def pause(self, group_id: str, *, lasts: timedelta) -> None:
        with translate_errors():
            await self._client.set(KEYS + group_id, "1", px=lasts)

    async def resume(self, group_id: str) -> None:
        with translate_errors():
            await self._client.delete(KEYS + group_id)

    async def find_paused(self, group_ids: AbstractSet[str]) -> AbstractSet[str]:
        with translate_errors():
            return {one for one in group_ids if await self._client.exists(KEYS + one)}
