"""Re-embedding: the change of long-term memory to another embedding model."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from clearwell.records import NewReembedding, Reembedding, StoredText, Vector


class ReembeddingStore(Protocol):
    """The record of re-embeddings, and the vectors that they replace. Cannot change the content of a memory."""

    async def last(self) -> Reembedding | None:
        """The re-embedding that was started last, finished or not."""
        ...

    async def begin(self, reembedding: NewReembedding) -> Reembedding:
        """Record a new re-embedding. It ends an unfinished one."""
        ...

    async def set_off(self, reembedding_id: int, *, at: datetime) -> None:
        """Record that from now on there may be vectors of both models."""
        ...

    async def finish(self, reembedding_id: int, *, at: datetime) -> None: ...

    async def models(self) -> dict[str, int]:
        """The models that vectors were ever stored with, and their dimensions."""
        ...

    async def groups(self) -> list[str]:
        """Every group that has or had memories."""
        ...

    async def count_remaining(self, group_id: str, model: str) -> int:
        """How many chunks of the group have a vector of another model, invalid chunks included."""
        ...

    async def texts(self, group_id: str, model: str, *, after: StoredText | None, limit: int) -> list[StoredText]:
        """The next chunks with a vector of another model, in a fixed order."""
        ...

    async def put(self, group_id: str, model: str, made: Sequence[tuple[StoredText, Vector]], *, at: datetime) -> int:
        """Store vectors of this model for these chunks, all or none; returns how many chunks still exist."""
        ...
