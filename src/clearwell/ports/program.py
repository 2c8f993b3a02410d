"""The clock and the ids."""

from datetime import datetime
from typing import Protocol
from uuid import UUID


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the current time, aware and in UTC."""
        ...


class Ids(Protocol):
    def new(self) -> UUID:
        """Return a new id. Later ids sort after earlier ones."""
        ...
