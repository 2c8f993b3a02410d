"""Turn the driver's errors into ours, in one place."""

from collections.abc import Iterator
from contextlib import contextmanager

from redis.exceptions import RedisError

from clearwell.errors import WorkingMemoryUnavailable


@contextmanager
def translated_errors(keys: str = "", group_id: str = "") -> Iterator[None]:
    """With the beginning of a key and its group, a key of the wrong type is named with the way to mend it."""
    try:
        yield
    except (RedisError, OSError) as error:
        if keys and is_wrong_type(error):
            raise WorkingMemoryUnavailable("working_wrong_type", key=keys + group_id, group=group_id) from error
        problem = str(error).strip() or type(error).__name__
        raise WorkingMemoryUnavailable("working_unavailable", problem=problem) from error


def is_wrong_type(error: Exception) -> bool:
    """Whether a key holds something else than what it is used as; a script says so in the middle of its message."""
    return "WRONGTYPE" in str(error)
