"""The move of long-term memory to another embedding model."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from clearwell.records import Move, NewMove, StoredText, Vector


class MoveStore(Protocol):
    """The record of moves, and the vectors of the rows that move. Nothing here can change a memory's content."""

    async def last(self) -> Move | None:
        """The move that was started last, finished or not."""
        ...

    async def begin(self, move: NewMove) -> Move:
        """Record a new move. An unfinished one is ended by it."""
        ...

    async def set_off(self, move_id: int, *, at: datetime) -> None:
        """Record that from now on there may be vectors of both models."""
        ...

    async def finish(self, move_id: int, *, at: datetime) -> None: ...

    async def models(self) -> dict[str, int]:
        """The models that vectors were ever stored with, and their dimensions."""
        ...

    async def groups(self) -> list[str]:
        """Every group that has or had memories."""
        ...

    async def left(self, group_id: str, model: str) -> int:
        """How many chunks of the group have a vector of another model, invalid chunks included."""
        ...

    async def texts(self, group_id: str, model: str, *, after: StoredText | None, limit: int) -> list[StoredText]:
        """The next chunks with a vector of another model, in a fixed order."""
        ...

    async def put(self, group_id: str, model: str, made: Sequence[tuple[StoredText, Vector]], *, at: datetime) -> int:
        """Store vectors of this model for these chunks, all or none; returns how many chunks still exist."""
        ...
