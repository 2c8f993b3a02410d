"""The connection to Redis or Valkey that every store here shares."""

import redis.asyncio as redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from clearwell.errors import ConfigurationError


def working_address(url: str) -> str:
    """The address, if it is one. The error does not repeat it: it may hold a password."""
    try:
        redis.connection.parse_url(url)
    except ValueError:
        raise ConfigurationError("redis_url_invalid") from None
    return url


def open_client(url: str, *, pool_max: int, timeout_seconds: float) -> redis.Redis:
    """A client for this address. Connects when it is first used."""
    # One retry and no more: a pooled connection that the server closed is found out only by using it.
    pool: redis.BlockingConnectionPool = redis.BlockingConnectionPool.from_url(
        url,
        max_connections=pool_max,
        timeout=timeout_seconds,
        socket_timeout=timeout_seconds,
        socket_connect_timeout=timeout_seconds,
        retry=Retry(NoBackoff(), 1),
    )
    client = redis.Redis(connection_pool=pool)
    client.auto_close_connection_pool = True
    return client
