"""Facts about the Redis or Valkey server for the operator. Reads group names and numbers, never content."""

from collections.abc import Mapping
from dataclasses import dataclass

import redis.asyncio as redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from clearwell.stores.valkey.client import translate_errors
from clearwell.stores.valkey.working import KEYS


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingFacts:
    """``policy`` is the eviction policy; ``limited`` says whether the server has a memory limit."""

    name: str
    version: str
    policy: str
    limited: bool
    append_only: bool
    write_failed: bool
    groups: Mapping[str, int]


async def working_facts(url: str, *, timeout_seconds: float) -> WorkingFacts:
    """Read the facts with INFO alone, because managed servers forbid CONFIG."""
    client = redis.Redis.from_url(
        url,
        socket_timeout=timeout_seconds,
        socket_connect_timeout=timeout_seconds,
        retry=Retry(NoBackoff(), 1),
        decode_responses=True,
    )
    with translate_errors():
        async with client:
            info = await client.info()
            names = [str(name) async for name in client.scan_iter(KEYS + "*", count=500, _type="LIST")]
            lengths = [await client.llen(name) for name in names]
    is_valkey = "valkey_version" in info
    return WorkingFacts(
        name="Valkey" if is_valkey else "Redis",
        version=str(info["valkey_version" if is_valkey else "redis_version"]),
        policy=str(info.get("maxmemory_policy", "noeviction")),
        limited=bool(int(info.get("maxmemory", 0))),
        append_only=bool(int(info.get("aof_enabled", 0))),
        write_failed="err" in {info.get("aof_last_write_status"), info.get("rdb_last_bgsave_status")},
        groups={name.removeprefix(KEYS): length for name, length in zip(names, lengths, strict=True)},
    )
