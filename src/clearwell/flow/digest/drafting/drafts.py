"""What goes into the making of a digest, and what comes out of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from clearwell.records import Contradiction, DigestCandidate, Json, Support, Vector

CONTRADICTION, CONFLICTS_WITH_VERIFIED, DUPLICATES_VERIFIED = (
    "contradiction",
    "conflicts_verified",
    "duplicates_verified",
)
SINGLE_AUTHOR, NEAR_REJECTED = "single_author", "near_rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownText:
    """A text that the group has already: a verified memory, or an insight that waits for a person."""

    id: UUID
    content: str
    embedding: Vector = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedText:
    """What a person refused, why and when. Of its words only the vector is kept."""

    reason: str
    at: datetime
    embedding: Vector = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftLimits:
    """The knobs of a draft, those of the settings among them."""

    min_insights: int = 5
    max_insights: int = 10
    agent_share: float = 0.5
    """The most of a digest that may be of one agent's voice: of insights that rest on it alone, or mostly."""
    near_rejected: float = 0.6
    duplicate: float = 0.9
    known_shown: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """A text that the group has already, and how similar it is to the insight, on the calibrated scale."""

    id: UUID
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NearRejected:
    """The refused value that an insight comes close to."""

    reason: str
    at: datetime
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftSide:
    """One side of a dispute: its best statement, and all its statements, one of each row."""

    best: DigestCandidate
    statements: tuple[DigestCandidate, ...]
    support: Support


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An insight before it has an id: its statements, and what is to be known of them."""

    best: DigestCandidate
    """The statement whose headline stands for the insight."""
    sources: tuple[DigestCandidate, ...]
    """One statement of each row, most central first."""
    sides: tuple[DraftSide, ...]
    contradictions: tuple[Contradiction, ...]
    flags: tuple[str, ...]
    support: Support
    score: float
    nearest: tuple[Nearest, ...]
    """The nearest verified memories, most similar first."""
    near_rejected: NearRejected | None
    embedding: Vector = field(compare=False, repr=False)
    """The middle of its sources."""

    @property
    def summary(self) -> str:
        return self.best.headline

    def find_side(self, source: DigestCandidate) -> int | None:
        """The place of the side that a source stands on."""
        return next((at for at, side in enumerate(self.sides) if source in side.statements), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafts:
    """The insights of one digest, best first, and figures about how they came to be."""

    drafts: tuple[Draft, ...]
    report: Mapping[str, Json]
