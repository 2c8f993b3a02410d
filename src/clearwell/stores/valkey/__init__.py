"""Working memory in Redis or Valkey: one list per group, newest first, every change one atomic script."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from uuid import UUID

import redis.asyncio as redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from clearwell.errors import ConfigurationError, WorkingMemoryUnavailable
from clearwell.ports import Clock
from clearwell.records import WorkingEntry
from clearwell.stores.valkey.element import decode, encode, head, to_ms

KEYS = "wm:"


@contextmanager
def translated_errors() -> Iterator[None]:
    try:
        yield
    except (RedisError, OSError) as error:
        problem = str(error).strip().rstrip(".") or type(error).__name__
        raise WorkingMemoryUnavailable("working_unavailable", problem=problem) from error


class ValkeyWorking:
    """The real working memory."""

    def __init__(self, client: redis.Redis, clock: Clock, *, size: int, content_bytes: int) -> None:
        self._client = client
        self._clock = clock
        self._size = size
        self._content_bytes = content_bytes
        self._push = client.register_script(_script("push"))
        self._remove = client.register_script(_script("remove"))
        self._cleanup = client.register_script(_script("cleanup"))

    async def push(self, entry: WorkingEntry) -> None:
        if entry.expires_at is None or entry.expires_at <= self._clock.now():
            return
        lives = to_ms(entry.expires_at) - to_ms(self._clock.now())
        element = encode(entry, max_bytes=self._content_bytes)
        with translated_errors():
            await self._push(keys=[KEYS + entry.group_id], args=[element, head(entry.id), self._size, lives])

    async def entries(self, group_id: str) -> list[WorkingEntry]:
        with translated_errors():
            elements = await self._client.lrange(KEYS + group_id, 0, -1)
        now = self._clock.now()
        found = [decode(element) for element in elements]
        return [entry for entry in found if entry.expires_at is not None and entry.expires_at > now]

    async def remove(self, group_id: str, entry_id: UUID) -> bool:
        with translated_errors():
            return bool(await self._remove(keys=[KEYS + group_id], args=[head(entry_id)]))

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


def _script(name: str) -> str:
    return files("clearwell.stores.valkey").joinpath(f"{name}.lua").read_text(encoding="utf-8")


def working_address(url: str) -> str:
    """The address, if it is one. The error does not repeat it: it may hold a password."""
    try:
        redis.connection.parse_url(url)
    except ValueError:
        raise ConfigurationError("redis_url_invalid") from None
    return url


def open_working(
    url: str, clock: Clock, *, pool_max: int, timeout_seconds: float, size: int, content_bytes: int
) -> ValkeyWorking:
    """Working memory at this address. Connects when it is first used."""
    # One retry and no more: a pooled connection that the server closed is found out only by using it.
    retry = Retry(NoBackoff(), 1)
    pool: redis.BlockingConnectionPool = redis.BlockingConnectionPool.from_url(
        url,
        max_connections=pool_max,
        timeout=timeout_seconds,
        socket_timeout=timeout_seconds,
        socket_connect_timeout=timeout_seconds,
        retry=retry,
    )
    client = redis.Redis(connection_pool=pool)
    client.auto_close_connection_pool = True
    return ValkeyWorking(client, clock, size=size, content_bytes=content_bytes)
