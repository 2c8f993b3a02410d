"""Promotions and their results."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from clearwell.records.entries import NewMemory
from clearwell.records.values import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """The decision of a person to promote a text, and the memory that it became.

    ``import_id`` is the export that it was imported with, if the person decided elsewhere.
    """

    id: UUID
    memory_id: UUID
    group_id: str
    decided_by: str
    decided_at: datetime
    text: NewMemory
    chunks: int
    supersedes: UUID | None = None
    fingerprint: bytes | None = None
    import_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionResult:
    """The answer to a promotion: the memory that the text became.

    ``already``: it was promoted before. ``waiting``: decided; the chunks follow when the embedding model responds.
    ``recorded``: a decision was recorded, which is not the case for a repetition. ``conflicts_with``: the verified
    memories that it contradicts. ``removed``: the entries that were removed from working memory because they say what
    it supersedes; ``degraded`` names working memory if it did not respond, so that a repetition is needed.
    """

    id: UUID
    promotion_id: UUID
    chunks: int
    already: bool = False
    waiting: bool = False
    decision_id: UUID | None = None
    recorded: bool = False
    replayed: bool = False
    conflicts_with: tuple[UUID, ...] = ()
    removed: tuple[UUID, ...] = ()
    degraded: tuple[str, ...] = ()

    def to_json(self) -> Json:
        return {
            "id": str(self.id),
            "promotion_id": str(self.promotion_id),
            "chunks": self.chunks,
            "already": self.already,
            "waiting": self.waiting,
            "decision_id": None if self.decision_id is None else str(self.decision_id),
            "conflicts_with": [str(one) for one in self.conflicts_with],
            "removed": [str(one) for one in self.removed],
            "degraded": list(self.degraded),
        }

    @classmethod
    def from_json(cls, stored: Json) -> "PromotionResult":
        """Return the stored answer to a repeated request."""
        if not isinstance(stored, dict):
            raise TypeError(f"a stored answer is an object, not {type(stored).__name__}")
        return cls(
            id=UUID(str(stored["id"])),
            promotion_id=UUID(str(stored["promotion_id"])),
            chunks=int(str(stored["chunks"])),
            already=bool(stored.get("already")),
            waiting=bool(stored.get("waiting")),
            decision_id=UUID(str(stored["decision_id"])) if stored.get("decision_id") else None,
            replayed=True,
            conflicts_with=tuple(UUID(one) for one in _read_texts(stored.get("conflicts_with"))),
            removed=tuple(UUID(one) for one in _read_texts(stored.get("removed"))),
            degraded=_read_texts(stored.get("degraded")),
        )


def _read_texts(stored: Json) -> tuple[str, ...]:
    return tuple(str(one) for one in stored) if isinstance(stored, list) else ()
