"""Fact checks: claims, the evidence for and against them in memory, and their ratings."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from clearwell.messages import Language
from clearwell.records.digest import say_stored
from clearwell.records.values import Json, Metadata, make_json
from clearwell.vocabulary import ClaimRating, FactCheckMethod, Label, Stance

FAILED: Final = "fact_check_failed"
"""The reason of a claim that could not be rated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A passage of a memory that may support or contradict a claim. ``number`` identifies it for a language model."""

    number: int
    content: str
    verified: bool
    said_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessedEvidence:
    """A piece of evidence that supports or contradicts a claim.

    ``quote`` are the words that do so. ``reason`` is a message code with its parameters; None if a model decided.
    """

    number: int
    stance: Stance
    quote: str
    reason: str | None = None
    params: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """The result of assessing evidence on a claim.

    ``undecided`` means that it does not settle the claim, whatever single pieces say. ``explanation`` is one sentence
    of the language model.
    """

    evidence: tuple[AssessedEvidence, ...] = ()
    undecided: bool = False
    explanation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A memory that supports or contradicts a claim.

    ``sentence`` is at ``span`` in the memory, or in chunk ``chunk_no`` of it. Both are None if a language model
    cited the memory without quoting it. ``conflicts_with`` are verified memories that contradict it.
    """

    memory_id: UUID
    stance: Stance
    label: Label
    verified: bool
    sentence: str | None
    span: tuple[int, int] | None
    chunk_no: int | None
    relevance: float | None
    agent_id: str | None
    session_id: str | None
    said_at: datetime
    reason: str | None = None
    params: Mapping[str, str] = field(default_factory=dict)
    conflicts_with: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimCheck:
    """One claim, its rating, the reason for it (a message code with parameters), and the memories that it rests on.

    Verified memories come first. ``explanation`` is one sentence of the language model, empty if none was asked.
    """

    claim: str
    rating: ClaimRating
    reason: str
    params: Metadata = field(default_factory=dict)
    citations: tuple[Citation, ...] = ()
    explanation: str = ""

    def say_reason(self, language: Language = "en") -> str:
        """Return the reason as a text."""
        return say_stored(self.reason, self.params, language)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactCheck:
    """The claims of a text, checked against memory, and the same as a text for the nodes that follow.

    ``model`` is the language model that rated the claims; None if the comparison rules did. ``degraded`` are the
    components that did not respond, and ``left_out`` is the number of claims beyond the most that are checked at once.
    """

    group_id: str
    claims: tuple[ClaimCheck, ...]
    method: FactCheckMethod
    model: str | None
    text: str
    degraded: tuple[str, ...] = ()
    left_out: int = 0

    @property
    def rating(self) -> ClaimRating:
        """Contradicted if one claim is, supported if all are, else unknown."""
        ratings = {claim.rating for claim in self.claims}
        if ClaimRating.CONTRADICTED in ratings:
            return ClaimRating.CONTRADICTED
        return ClaimRating.SUPPORTED if ratings == {ClaimRating.SUPPORTED} else ClaimRating.UNKNOWN

    @property
    def problem(self) -> ClaimCheck | None:
        """The first claim that could not be rated because a model failed; None if there is none."""
        return next((claim for claim in self.claims if claim.reason == FAILED), None)

    def to_json(self) -> dict[str, Json]:
        """Return the fact check without its group and its text, for the state of a workflow."""
        shown = {name: value for name, value in asdict(self).items() if name not in ("group_id", "text")}
        return {"rating": self.rating.value, **{name: make_json(value) for name, value in shown.items()}}
