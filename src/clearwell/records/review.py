"""Decisions of reviewers, what they see of an insight, and statistics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final
from uuid import UUID

from clearwell.messages import Language, say
from clearwell.records.digest import Contradiction, Insight, InsightSide, Support, say_stored
from clearwell.records.entries import Memory
from clearwell.records.ingress import QuarantineRow, Verdict
from clearwell.records.promotion import Promotion
from clearwell.records.values import Json, Metadata
from clearwell.vocabulary import Action, InsightState, Layer, MemoryState, Origin, Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightBeforeMerge:
    """The properties of an insight before other insights were merged into it."""

    flags: tuple[str, ...]
    contradictions: tuple[Contradiction, ...]
    support: Support
    sides: tuple[InsightSide, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision. ``others`` are the insights that were merged, or the memories that were retracted.

    ``already``: the text was already promoted or rejected. ``origin_id`` is the output that was promoted.
    ``side_sources`` are the outputs of the side of an insight that was promoted; None if all its sources count.
    """

    id: UUID
    group_id: str
    action: Action
    by: str
    at: datetime
    insight_id: UUID | None = None
    promotion_id: UUID | None = None
    memory_id: UUID | None = None
    tombstone_id: UUID | None = None
    supersedes: UUID | None = None
    origin_id: UUID | None = None
    side_sources: tuple[UUID, ...] | None = None
    others: tuple[UUID, ...] = ()
    undoes: UUID | None = None
    already: bool = False
    until: datetime | None = None
    reason: str | None = None
    text_before: str | None = None
    text_after: str | None = None
    writer_before: Writer | None = None
    before: InsightBeforeMerge | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRequest:
    """A requested decision on one insight. The action determines which fields are used."""

    action: Action
    id: UUID
    version: int | None = None
    text: str | None = None
    agent_id: str | None = None
    supersedes: UUID | None = None
    side: int | None = None
    despite: tuple[str, ...] = ()
    acknowledge: tuple[str, ...] = ()
    keep_invisible: bool = False
    reason: str | None = None
    others: tuple[UUID, ...] = ()
    until: datetime | None = None
    days: float | None = None
    withdraw: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSelector:
    """Selects memories: those that are based on a quarantine row, a session or an agent, or one memory by its id.

    Exactly one of them is set.
    """

    source: UUID | None = None
    session_id: str | None = None
    agent_id: str | None = None
    memory_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightStatus:
    """The state and version of an insight, without its text."""

    id: UUID
    version: int
    state: InsightState
    changed_at: datetime
    snoozed_until: datetime | None = None
    merged_into: UUID | None = None

    @classmethod
    def of(cls, insight: Insight) -> "InsightStatus":
        return cls(
            id=insight.id,
            version=insight.version,
            state=insight.state,
            changed_at=insight.changed_at,
            snoozed_until=insight.snoozed_until,
            merged_into=insight.merged_into,
        )

    def to_json(self) -> dict[str, Json]:
        return {
            "id": str(self.id),
            "version": self.version,
            "state": self.state.value,
            "changed_at": self.changed_at.isoformat(),
            "snoozed_until": None if self.snoozed_until is None else self.snoozed_until.isoformat(),
            "merged_into": None if self.merged_into is None else str(self.merged_into),
        }

    @classmethod
    def from_json(cls, stored: dict[str, Json]) -> "InsightStatus":
        return cls(
            id=UUID(str(stored["id"])),
            version=int(str(stored["version"])),
            state=InsightState(str(stored["state"])),
            changed_at=datetime.fromisoformat(str(stored["changed_at"])),
            snoozed_until=datetime.fromisoformat(str(stored["snoozed_until"])) if stored["snoozed_until"] else None,
            merged_into=_optional_id(stored["merged_into"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionResult:
    """The answer to a decision. It has ids and states but no text, so that it can be stored for repeated requests.

    ``id`` is the memory of a promotion, or else the insight. ``memories`` are the retracted or restored memories;
    ``withdrawn`` is the memory that an undo withdrew. ``still_said`` are the valid memories, and ``still_working`` the
    entries of working memory, that say what was rejected; ``removed`` are the entries that were removed. ``degraded``
    names working memory if it did not respond, so that entries which say a superseded text are still there.
    ``conflicts_with`` are the verified memories that a promoted text contradicts. ``withdrawal_id`` is the decision
    that withdrew the copies of a rejected text, which can be undone separately.
    """

    status: str
    id: UUID
    decision_id: UUID | None = None
    withdrawal_id: UUID | None = None
    promotion_id: UUID | None = None
    tombstone_id: UUID | None = None
    superseded: UUID | None = None
    chunks: int | None = None
    already: bool = False
    undone: Action | None = None
    memories: tuple[UUID, ...] = ()
    withdrawn: UUID | None = None
    insight: InsightStatus | None = None
    conflicts_with: tuple[UUID, ...] = ()
    still_said: tuple[UUID, ...] = ()
    still_working: tuple[UUID, ...] = ()
    removed: tuple[UUID, ...] = ()
    degraded: tuple[str, ...] = ()
    replayed: bool = False

    def to_json(self) -> dict[str, Json]:
        found: dict[str, Json] = {"status": self.status, "id": str(self.id), "already": self.already}
        named = {
            "decision_id": self.decision_id,
            "withdrawal_id": self.withdrawal_id,
            "promotion_id": self.promotion_id,
            "tombstone_id": self.tombstone_id,
            "superseded": self.superseded,
            "withdrawn": self.withdrawn,
        }
        found |= {name: str(value) for name, value in named.items() if value is not None}
        if self.chunks is not None:
            found["chunks"] = self.chunks
        if self.undone is not None:
            found["undone"] = self.undone.value
        for name in ID_LISTS:
            if ids := getattr(self, name):
                found[name] = [str(one) for one in ids]
        if self.degraded:
            found["degraded"] = list(self.degraded)
        if self.insight is not None:
            found["insight"] = self.insight.to_json()
        return found

    @classmethod
    def from_json(cls, stored: Json) -> "DecisionResult":
        """Return the result that ``to_json`` stored for a repeated request."""
        if not isinstance(stored, dict):
            raise TypeError(f"a stored answer is an object, not {type(stored).__name__}")
        chunks, insight, degraded = stored.get("chunks"), stored.get("insight"), stored.get("degraded")
        return cls(
            status=str(stored["status"]),
            id=UUID(str(stored["id"])),
            decision_id=_optional_id(stored.get("decision_id")),
            withdrawal_id=_optional_id(stored.get("withdrawal_id")),
            promotion_id=_optional_id(stored.get("promotion_id")),
            tombstone_id=_optional_id(stored.get("tombstone_id")),
            superseded=_optional_id(stored.get("superseded")),
            chunks=chunks if isinstance(chunks, int) else None,
            already=bool(stored.get("already")),
            undone=Action(str(stored["undone"])) if stored.get("undone") else None,
            withdrawn=_optional_id(stored.get("withdrawn")),
            insight=InsightStatus.from_json(insight) if isinstance(insight, dict) else None,
            memories=_read_ids(stored.get("memories")),
            conflicts_with=_read_ids(stored.get("conflicts_with")),
            still_said=_read_ids(stored.get("still_said")),
            still_working=_read_ids(stored.get("still_working")),
            removed=_read_ids(stored.get("removed")),
            degraded=tuple(str(one) for one in degraded) if isinstance(degraded, list) else (),
        )


ID_LISTS: Final = ("memories", "conflicts_with", "still_said", "still_working", "removed")
"""The fields of a result that are lists of ids."""


def _read_ids(stored: Json) -> tuple[UUID, ...]:
    return tuple(UUID(str(one)) for one in stored) if isinstance(stored, list) else ()


def _optional_id(stored: Json) -> UUID | None:
    return None if stored is None else UUID(str(stored))


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffPiece:
    """A piece of a diff: words that both texts have, or only one. ``insert`` marks words of the new text."""

    op: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NearbyMemory:
    """A verified memory that is similar to an insight, their relation, and a diff."""

    memory: Memory
    similarity: float
    relation: str
    reason: str
    params: Metadata = field(default_factory=dict)
    diff: tuple[DiffPiece, ...] = ()

    def explanation(self, language: Language = "en") -> str:
        return say_stored(self.reason, self.params, language)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A rejected text that is similar to an insight."""

    reason: str
    by: str
    at: datetime
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Dossier:
    """Everything that a reviewer needs to decide on an insight."""

    insight: Insight
    verdicts: dict[UUID, tuple[Verdict, ...]]
    nearby: tuple[NearbyMemory, ...] = ()
    rejected: Rejection | None = None
    decisions: tuple[Decision, ...] = ()
    flags: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    promotion: "PromotionState | None" = None

    def related(self, relation: str) -> tuple[NearbyMemory, ...]:
        return tuple(one for one in self.nearby if one.relation == relation)


WAITS_FOR: Final = {
    "promotion_tombstoned": "promotion_tombstoned",
    "working_unavailable": "promotion_waits_for_working",
}
"""The message for the problem of a waiting promotion that is not one of the embedding model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionState:
    """A promotion and its state. ``waiting``: its chunks are not written yet."""

    promotion: Promotion
    chunks: int
    valid_to: datetime | None = None
    waiting: bool = False
    problem: str | None = None

    @property
    def state(self) -> MemoryState:
        if not self.promotion.text.content:
            return MemoryState.FORGOTTEN
        if self.waiting:
            return MemoryState.PROMOTING
        return MemoryState.VERIFIED if self.chunks and self.valid_to is None else MemoryState.WITHDRAWN

    def explanation(self, language: Language = "en") -> str | None:
        """Return why it is not verified yet, or None. Only the code of the error is stored."""
        if self.problem is None:
            return None
        code = WAITS_FOR.get(self.problem, "promotion_waits")
        return say(code, language, problem=self.problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedMemory:
    """A memory with its use. ``days_used``: on how many days it was given to an agent.

    ``conflicts_with`` are the valid memories that it contradicts. ``superseded_by`` is the memory that took its place,
    if it is no longer valid because of that.
    """

    promotion: PromotionState
    days_used: int = 0
    last_used_at: datetime | None = None
    conflicts_with: tuple[UUID, ...] = ()
    superseded_by: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DependentMemory:
    """A memory that is based on a source, session or agent, with the number of its outputs and of other outputs."""

    state: PromotionState
    matching: int
    others: int

    @property
    def memory_id(self) -> UUID:
        return self.state.promotion.memory_id


@dataclass(frozen=True, slots=True, kw_only=True)
class RetractionPreview:
    """What would be withdrawn, and the entries of working memory that would be removed with it.

    The token identifies exactly these memories.
    """

    memories: tuple[DependentMemory, ...]
    token: str
    entries: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The outputs that a memory is based on, or the memories that are based on an output."""

    promotions: tuple[PromotionState, ...] = ()
    decisions: tuple[Decision, ...] = ()
    insights: tuple[Insight, ...] = ()
    rows: tuple[QuarantineRow, ...] = ()
    sightings_of: tuple[tuple[UUID, Layer], ...] = ()
    conflicts_with: tuple[UUID, ...] = ()
    """The valid memories that the memory contradicts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOrigin:
    """What agents may know about the origin of a memory: who promoted it and when, and whose outputs it is based on.

    It has no text of an output. ``promoted_by`` is the recorded holder of the key, ``promoted_by_name`` the name of
    that key. ``import_id`` is the export that it was imported with, if it was promoted elsewhere.
    """

    memory_id: UUID
    group_id: str
    origin: Origin
    promoted_by: str
    promoted_by_name: str
    promoted_at: datetime
    agents: tuple[str, ...]
    outputs: int
    supersedes: UUID | None = None
    conflicts_with: tuple[UUID, ...] = ()
    import_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityDay:
    """The activity in a group on one day, in UTC. ``refused_by`` counts refusals by check. The lag is the median time
    in seconds from an insight to its first decision, for the insights that were decided on that day."""

    day: date
    admitted: int
    refused: int
    promoted: int
    rejected: int
    lag_median: float | None
    refused_by: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewCounts:
    """The current counts of a group: insights without a decision, valid memories, and promotions without vectors."""

    waiting: int
    memories: int
    promoting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationRow:
    """Outcomes of the outputs of an agent whose confidence is within these bounds."""

    agent_id: str | None
    low: float | None
    high: float | None
    entries: int
    promoted: int
    rejected: int
    conflict: int
    mean_stated: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptRate:
    """How many insights from one agent, or with one outcome of a check, were promoted and rejected."""

    by: str | None
    promoted: int
    rejected: int

    @property
    def rate(self) -> float | None:
        decided = self.promoted + self.rejected
        return self.promoted / decided if decided else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewStatistics:
    """Statistics of review in a group. Lags are the seconds from an insight to its first decision."""

    insights: dict[str, int]
    lag_median: float | None
    lag_p90: float | None
    lag_sum: float
    lag_count: int
    oldest_pending_at: datetime | None
    accepted: AcceptRate
    """All decided insights, each counted once."""
    by_agent: Sequence[AcceptRate]
    by_check: Sequence[AcceptRate]
    memories: int
    memories_used: int
    promoting: int
    digests: int
    digests_yield: float | None
