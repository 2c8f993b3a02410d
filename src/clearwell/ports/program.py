"""The clock and the ids."""

from datetime import datetime
from typing import Protocol
from uuid import UUID


class Clock(Protocol):
    def now(self) -> datetime:
        """The time, aware and in UTC."""
        ...


class Ids(Protocol):
    def new(self) -> UUID:
        """A new id; later ids sort after earlier ones."""
        ...
