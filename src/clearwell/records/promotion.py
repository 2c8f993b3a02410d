"""A person's decision that a text is knowledge."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from clearwell.records.entries import NewMemory
from clearwell.records.values import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """A person's decision that a text is knowledge, and the memory it became."""

    id: UUID
    memory_id: UUID
    group_id: str
    decided_by: str
    decided_at: datetime
    text: NewMemory
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """The answer to a promotion: the memory that the text became."""

    id: UUID
    promotion_id: UUID
    chunks: int
    replayed: bool = False

    def to_json(self) -> Json:
        return {"id": str(self.id), "promotion_id": str(self.promotion_id), "chunks": self.chunks}

    @classmethod
    def from_json(cls, stored: Json) -> "Promoted":
        """The answer that the first run of a repeated request gave."""
        if not isinstance(stored, dict):
            raise TypeError(f"a stored answer is an object, not {type(stored).__name__}")
        return cls(
            id=UUID(str(stored["id"])),
            promotion_id=UUID(str(stored["promotion_id"])),
            chunks=int(str(stored["chunks"])),
            replayed=True,
        )
