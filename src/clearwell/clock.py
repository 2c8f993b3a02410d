"""The clock and the ids of a running program."""

from datetime import UTC, datetime
from uuid import UUID

import uuid_utils.compat


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class TimeOrderedIds:
    """UUIDv7: an id made later sorts after one made earlier."""

    def new(self) -> UUID:
        return uuid_utils.compat.uuid7()
