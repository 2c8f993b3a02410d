"""Heartbeats of workers: one sorted set, scored by the time when each worker counts as dead."""

from datetime import timedelta
from uuid import UUID

import redis.asyncio as redis

from clearwell.ports import Clock, Heartbeats
from clearwell.stores.valkey.client import script, translate_errors
from clearwell.stores.valkey.entries import to_ms

KEY = "clearwell:workers"


class ValkeyHeartbeats(Heartbeats):
    """``me`` identifies this process; ``decides`` identifies the settings by which it admits."""

    def __init__(self, client: redis.Redis, clock: Clock, *, me: UUID, decides: str) -> None:
        self._client = client
        self._clock = clock
        self._decides = decides
        self._member = f"{me} {decides}"
        self._beat = client.register_script(script("beat"))

    async def beat(self, *, lasts: timedelta) -> None:
        """Register this process as a worker for this time."""
        now = self._clock.now()
        with translate_errors():
            kept = lasts // timedelta(milliseconds=1)
            await self._beat(keys=[KEY], args=[self._member, to_ms(now + lasts), to_ms(now), kept])

    async def stop(self) -> None:
        with translate_errors():
            await self._client.zrem(KEY, self._member)

    async def count_alive(self) -> int:
        """How many workers are alive."""
        with translate_errors():
            return int(await self._client.zcount(KEY, f"({to_ms(self._clock.now())}", "+inf"))

    async def leaves_to_others(self) -> bool:
        """Whether workers are alive and none of them has the settings of this process."""
        with translate_errors():
            members = await self._client.zrangebyscore(KEY, f"({to_ms(self._clock.now())}", "+inf")
        alive = {str(member, "utf-8").partition(" ")[2] for member in members if isinstance(member, bytes)}
        return bool(alive) and self._decides not in alive
