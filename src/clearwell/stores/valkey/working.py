"""Working memory: one list per group, newest first, every change one atomic script."""

from collections.abc import Sequence
from uuid import UUID

import redis.asyncio as redis
import structlog
from redis.exceptions import ResponseError

from clearwell.ports import Clock, WorkingStore
from clearwell.records import WorkingEntry
from clearwell.stores.valkey.client import is_wrong_type, script, translated_errors
from clearwell.stores.valkey.entries import encode, entry_of, head, to_ms

log = structlog.get_logger(__name__)
KEYS, SEEN = "wm:", "clearwell:seen"
NO_LIST = b""


class ValkeyWorking(WorkingStore):
    """Working memory on Redis or Valkey."""

    def __init__(self, client: redis.Redis, clock: Clock, *, size: int, content_bytes: int) -> None:
        self._client = client
        self._clock = clock
        self._size = size
        self._content_bytes = content_bytes
        self._damaged: set[str] = set()
        self._push = client.register_script(script("push"))
        self._remove = client.register_script(script("remove"))
        self._cleanup = client.register_script(script("cleanup"))
        self._replace = client.register_script(script("replace"))

    async def push(self, entry: WorkingEntry) -> None:
        if entry.expires_at is None or entry.expires_at <= self._clock.now():
            return
        lives = to_ms(entry.expires_at) - to_ms(self._clock.now())
        element = encode(entry, max_bytes=self._content_bytes)
        with translated_errors(KEYS, entry.group_id):
            await self._push(keys=[KEYS + entry.group_id], args=[element, head(entry.id), self._size, lives])

    async def entries(self, group_id: str) -> list[WorkingEntry]:
        with translated_errors():
            elements = await self._elements(group_id)
        now = self._clock.now()
        found = [entry for element in elements if (entry := entry_of[element]) is not None]
        self._note_damage(group_id, len(elements) - len(found))
        return [entry for entry in found if entry.expires_at is not None and entry.expires_at > now]

    async def _elements(self, group_id: str) -> list[bytes]:
        """Return the elements of the list. A key of another type counts as one unreadable element."""
        try:
            found = await self._client.lrange(KEYS + group_id, 0, -1)
            return [element for element in found if isinstance(element, bytes)]
        except ResponseError as error:
            if not is_wrong_type(error):
                raise
            return [NO_LIST]

    def is_damaged(self, group_id: str) -> bool:
        """Whether the last read of a group found unreadable elements."""
        return group_id in self._damaged

    def _note_damage(self, group_id: str, unreadable: int) -> None:
        if not unreadable:
            self._damaged.discard(group_id)
        elif group_id not in self._damaged:
            self._damaged.add(group_id)
            log.warning("unreadable elements in working memory", elements=unreadable)

    async def remove(self, group_id: str, entry_id: UUID) -> bool:
        with translated_errors(KEYS, group_id):
            return bool(await self._remove(keys=[KEYS + group_id], args=[head(entry_id)]))

    async def replace(self, group_id: str, entries: Sequence[WorkingEntry]) -> None:
        now = self._clock.now()
        live = [entry for entry in entries if entry.expires_at is not None and entry.expires_at > now][: self._size]
        lives = max((to_ms(entry.expires_at) - to_ms(now) for entry in live if entry.expires_at is not None), default=0)
        elements = [encode(entry, max_bytes=self._content_bytes) for entry in live]
        with translated_errors():
            await self._replace(keys=[KEYS + group_id], args=[lives, *elements])
        self._damaged.discard(group_id)

    async def is_new(self) -> bool:
        with translated_errors():
            return bool(await self._client.set(SEEN, "1", nx=True))

    async def cleanup(self, group_id: str | None = None) -> int:
        now = to_ms(self._clock.now())
        with translated_errors():
            keys = (
                [KEYS + group_id] if group_id is not None else [key async for key in self._client.scan_iter(KEYS + "*")]
            )
            return sum([int(await self._cleanup(keys=[key], args=[now])) for key in keys])

    async def ping(self) -> None:
        with translated_errors():
            await self._client.ping()

    async def close(self) -> None:
        await self._client.aclose()
