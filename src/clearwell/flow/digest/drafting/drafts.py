"""The input and the output of drafting."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from clearwell.records import Contradiction, DigestCandidate, Json, Support, Vector
from clearwell.vocabulary import Flag

CONTRADICTION, CONFLICTS_WITH_VERIFIED, DUPLICATES_VERIFIED = (
    Flag.CONTRADICTION,
    Flag.CONFLICTS_VERIFIED,
    Flag.DUPLICATES_VERIFIED,
)
SINGLE_AUTHOR, NEAR_REJECTED = Flag.SINGLE_AUTHOR, Flag.NEAR_REJECTED


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownText:
    """A text that the group already has: a verified memory, or an insight without a decision."""

    id: UUID
    content: str
    embedding: Vector = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class UndecidedInsight(KnownText):
    """An insight of an earlier digest that nobody has decided on, with the statements that it is based on."""

    statements: tuple[DigestCandidate, ...] = ()
    has_sides: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedText:
    """A text that a reviewer rejected: reason, time and vector. The text itself is not kept."""

    reason: str
    at: datetime
    embedding: Vector = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftLimits:
    """The limits and thresholds of drafting. Some of them are settings."""

    min_insights: int = 5
    max_insights: int = 10
    agent_share: float = 0.5
    """Maximum share of the insights of a digest that are based mainly on the outputs of one agent."""
    near_rejected: float = 0.6
    duplicate: float = 0.9
    known_shown: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """A text that the group already has, and its calibrated similarity to the insight."""

    id: UUID
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NearRejected:
    """The rejected text that an insight is similar to."""

    reason: str
    at: datetime
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftSide:
    """One side of a dispute: its best statement, and all its statements, one per row."""

    best: DigestCandidate
    statements: tuple[DigestCandidate, ...]
    support: Support


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An insight before it is stored: its statements, and what was measured on them."""

    best: DigestCandidate
    """The statement whose headline represents the insight."""
    sources: tuple[DigestCandidate, ...]
    """One statement per row, most central first."""
    sides: tuple[DraftSide, ...]
    contradictions: tuple[Contradiction, ...]
    flags: tuple[str, ...]
    support: Support
    score: float
    nearest: tuple[Nearest, ...]
    """The nearest verified memories, most similar first."""
    near_rejected: NearRejected | None
    embedding: Vector = field(compare=False, repr=False)
    """The mean vector of its sources."""
    replaces: UUID | None = None
    """The undecided insight whose statements are a side of this dispute."""

    @property
    def summary(self) -> str:
        return self.best.headline

    def find_side(self, source: DigestCandidate) -> int | None:
        """Return the index of the side that a source is on, or None."""
        return next((at for at, side in enumerate(self.sides) if source in side.statements), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafts:
    """The drafts of one digest, best first, and a report in numbers."""

    drafts: tuple[Draft, ...]
    report: Mapping[str, Json]
