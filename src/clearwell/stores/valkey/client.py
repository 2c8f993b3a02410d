"""The connection to Redis or Valkey that the stores share, with its error translation and its scripts."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, TypeAlias

import redis.asyncio as redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.commands.core import AsyncScript
from redis.exceptions import NoScriptError, RedisError

from clearwell.errors import ConfigurationError, WorkingMemoryUnavailable

ScriptCall: TypeAlias = tuple[str, Sequence[str | int]]
"""The key that a script works on, and its arguments."""


def working_address(url: str) -> str:
    """Return the address if it is valid. The error does not repeat it, because it may hold a password."""
    try:
        redis.connection.parse_url(url)
    except ValueError:
        raise ConfigurationError("redis_url_invalid") from None
    return url


class TimedClient(redis.Redis):
    """A client whose commands each take at most ``seconds``, with the wait for a connection and with a retry.

    The timeouts of the library's connections would start a task for every command.
    """

    def __init__(self, pool: redis.ConnectionPool, *, seconds: float) -> None:
        super().__init__(connection_pool=pool)
        self.auto_close_connection_pool = True
        self._seconds = seconds

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        try:
            async with asyncio.timeout(self._seconds):
                return await super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        except TimeoutError:
            raise redis.TimeoutError(f"no answer within {self._seconds:g} seconds") from None
        except RuntimeError as error:
            raise _closed(error) from error

    async def run_on_keys(self, script: AsyncScript, calls: Sequence[ScriptCall]) -> None:
        """Run a script on several keys in one round trip. All calls are made, also if one fails.

        Raises the first error.
        """
        failed = await self._run_all(script, calls)
        if any(isinstance(error, NoScriptError) for _, error in failed):
            await self.script_load(script.script)
            failed = await self._run_all(script, [call for call, _ in failed])
        for _, error in failed:
            raise error

    async def _run_all(self, script: AsyncScript, calls: Sequence[ScriptCall]) -> list[tuple[ScriptCall, Exception]]:
        """The calls that failed, with their errors."""
        pipeline = self.pipeline(transaction=False)
        for key, args in calls:
            pipeline.evalsha(script.sha, 1, key, *args)
        try:
            async with asyncio.timeout(self._seconds):
                answers = await pipeline.execute(raise_on_error=False)
        except TimeoutError:
            raise redis.TimeoutError(f"no answer within {self._seconds:g} seconds") from None
        except RuntimeError as error:
            raise _closed(error) from error
        return [(call, one) for call, one in zip(calls, answers, strict=True) if isinstance(one, Exception)]


def _closed(error: RuntimeError) -> redis.ConnectionError:
    """What uvloop raises for a connection that was reset a moment before it is written to, as the library's error."""
    return redis.ConnectionError(str(error))


def open_client(url: str, *, pool_max: int, timeout_seconds: float) -> TimedClient:
    """Return a client for this address. It connects when it is first used."""
    # One retry: that the server has closed a pooled connection is only noticed when it is used.
    pool: redis.BlockingConnectionPool = redis.BlockingConnectionPool.from_url(
        url,
        max_connections=pool_max,
        timeout=timeout_seconds,
        socket_timeout=None,
        socket_connect_timeout=timeout_seconds,
        retry=Retry(NoBackoff(), 1),
    )
    return TimedClient(pool, seconds=timeout_seconds)


@contextmanager
def translate_errors(keys: str = "", group_id: str = "") -> Iterator[None]:
    """Translate the driver's errors. With a key prefix and a group, the error names a key of the wrong type."""
    try:
        yield
    except (RedisError, OSError) as error:
        if keys and is_wrong_type(error):
            raise WorkingMemoryUnavailable("working_wrong_type", key=keys + group_id, group=group_id) from error
        problem = str(error).strip() or type(error).__name__
        raise WorkingMemoryUnavailable("working_unavailable", problem=problem) from error


def is_wrong_type(error: Exception) -> bool:
    """Whether a key holds another type than expected. A script reports this in the middle of its message."""
    return "WRONGTYPE" in str(error)


def script(name: str) -> str:
    """Return a Lua script. Each one touches one key, so that it also runs on a cluster."""
    return files("clearwell.stores.valkey").joinpath(f"{name}.lua").read_text(encoding="utf-8")
