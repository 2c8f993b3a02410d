"""What digests make and people decide, in dicts: insights, decisions, what waits, and the marks of rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from clearwell.records import Action, Decision, Insight, InsightSource
from clearwell.vocabulary import Flag, InsightState


@dataclass(frozen=True, slots=True)
class DigestMark:
    """What digests did with a row: how many considered it, which one showed it, and which decision applied to it."""

    considered: int = 0
    judged_by: UUID | None = None


@dataclass(frozen=True, slots=True)
class Delay:
    """When the chunks of a promotion are tried for again, after how many tries, and why they failed."""

    group_id: str
    until: datetime
    attempts: int = 0
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class _Ranked:
    """An insight with its own sources, its rank in its digest, and the sources that came from others."""

    insight: Insight
    rank: int
    merged: Mapping[UUID, Sequence[InsightSource]] = field(default_factory=dict)

    def whole(self) -> Insight:
        more = [source for other in sorted(self.merged) for source in self.merged[other]]
        return replace(self.insight, sources=(*self.insight.sources, *more))


@dataclass
class _Pages:
    ranked: dict[UUID, _Ranked] = field(default_factory=dict)
    marks: dict[tuple[str, UUID], DigestMark] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    delays: dict[UUID, Delay] = field(default_factory=dict)

    def copy(self) -> "_Pages":
        return _Pages(dict(self.ranked), dict(self.marks), list(self.decisions), dict(self.delays))


class MemoryLedger:
    """Shared by the twins of digests, decisions and review, as tables are shared by the real ones."""

    def __init__(self) -> None:
        self._pages = _Pages()

    def state(self) -> _Pages:
        return self._pages.copy()

    def reset(self, state: _Pages) -> None:
        self._pages = state

    # insights

    def put(self, insight: Insight, *, rank: int = 0) -> None:
        self._pages.ranked[insight.id] = _Ranked(insight, rank)

    def merge(self, insight_id: UUID, into: UUID, *, at: datetime) -> None:
        """Make an insight part of another one, as a digest does."""
        found = self._pages.ranked[insight_id]
        merged = replace(
            found.insight,
            state=InsightState.MERGED,
            merged_into=into,
            snoozed_until=None,
            version=found.insight.version + 1,
            changed_at=at,
        )
        self._pages.ranked[insight_id] = replace(found, insight=merged)

    def get(self, group_id: str, insight_id: UUID) -> Insight | None:
        found = self._pages.ranked.get(insight_id)
        return None if found is None or found.insight.group_id != group_id else found.whole()

    def list_insights(self, group_id: str) -> list[Insight]:
        """The newest digest first, each in the order of its ranks, what is like something rejected last."""
        mine = [one for one in self._pages.ranked.values() if one.insight.group_id == group_id]
        mine.sort(key=lambda one: (Flag.NEAR_REJECTED in one.insight.flags, one.rank, one.insight.id))
        mine.sort(key=lambda one: one.insight.digest_id, reverse=True)
        return [one.whole() for one in mine]

    def of_digest(self, digest_id: UUID) -> tuple[Insight, ...]:
        """By rank alone."""
        shown = [one for one in self._pages.ranked.values() if one.insight.digest_id == digest_id]
        return tuple(one.whole() for one in sorted(shown, key=lambda one: one.rank))

    def group_of(self, insight_id: UUID) -> str | None:
        found = self._pages.ranked.get(insight_id)
        return None if found is None else found.insight.group_id

    def groups(self) -> list[str]:
        """Those that have insights or decisions."""
        shown = {one.insight.group_id for one in self._pages.ranked.values()}
        return sorted(shown | {one.group_id for one in self._pages.decisions})

    def update_insight(self, insight: Insight) -> None:
        """All but its sources: they change by uniting and separating only."""
        kept = self._pages.ranked[insight.id]
        self._pages.ranked[insight.id] = replace(kept, insight=replace(insight, sources=kept.insight.sources))

    def merge_sources(self, insight_id: UUID, others: Sequence[UUID]) -> None:
        for other in sorted(others):
            kept = self._pages.ranked[insight_id]
            have = {one.log_id for one in kept.whole().sources}
            sources = self._pages.ranked[other].whole().sources
            more = [replace(source, side=None) for source in sources if source.log_id not in have]
            self._pages.ranked[insight_id] = replace(kept, merged={**kept.merged, other: more})

    def separate_sources(self, insight_id: UUID, others: Sequence[UUID]) -> None:
        kept = self._pages.ranked[insight_id]
        left = {other: sources for other, sources in kept.merged.items() if other not in others}
        self._pages.ranked[insight_id] = replace(kept, merged=left)

    # marks of rows

    @property
    def marks(self) -> Mapping[tuple[str, UUID], DigestMark]:
        return self._pages.marks

    def mark(self, group_id: str, log_id: UUID) -> DigestMark:
        return self._pages.marks.get((group_id, log_id), DigestMark())

    def mark_considered(self, group_id: str, log_id: UUID) -> None:
        mark = self.mark(group_id, log_id)
        self._pages.marks[group_id, log_id] = replace(mark, considered=mark.considered + 1)

    def mark_decided(self, group_id: str, log_id: UUID, *, by: UUID) -> None:
        mark = self.mark(group_id, log_id)
        self._pages.marks[group_id, log_id] = replace(mark, judged_by=mark.judged_by or by)

    def clear_judged(self, group_id: str, *, by: UUID) -> None:
        for (group, log_id), mark in list(self._pages.marks.items()):
            if group == group_id and mark.judged_by == by:
                self._pages.marks[group, log_id] = replace(mark, judged_by=None)

    # decisions, and promotions whose chunks are still to be made

    def record(self, decision: Decision) -> None:
        self._pages.decisions.append(decision)

    def decisions(self, group_id: str) -> list[Decision]:
        """In the order in which they were made."""
        return sorted((one for one in self._pages.decisions if one.group_id == group_id), key=lambda one: one.id)

    def list_in_force(self, group_id: str) -> list[Decision]:
        """Those that are not undone, and undo nothing."""
        all_ = self.decisions(group_id)
        undone = {one.undoes for one in all_}
        return [one for one in all_ if one.action is not Action.UNDO and one.id not in undone]

    @property
    def delays(self) -> dict[UUID, Delay]:
        """By promotion."""
        return self._pages.delays
