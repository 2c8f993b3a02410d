"""Turn the driver's errors into ours, in one place."""

from collections.abc import Iterator
from contextlib import contextmanager

from redis.exceptions import RedisError

from clearwell.errors import WorkingMemoryUnavailable


@contextmanager
def translated_errors() -> Iterator[None]:
    try:
        yield
    except (RedisError, OSError) as error:
        problem = str(error).strip() or type(error).__name__
        raise WorkingMemoryUnavailable("working_unavailable", problem=problem) from error
