"""What reviewers read: insights, decisions, provenance, calibration and statistics."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, date, datetime, time
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow

from clearwell.ports import MemoryFilter, ProvenanceStore, ReviewStore, StatisticsStore
from clearwell.records import (
    AcceptRate,
    ActivityDay,
    CalibrationRow,
    Decision,
    DependentMemory,
    Insight,
    InsightState,
    Layer,
    ListedMemory,
    Origin,
    PromotionState,
    Provenance,
    QuarantineRow,
    ReviewCounts,
    ReviewStatistics,
    SourceSelector,
)
from clearwell.stores.postgres.connection import SqlStatement
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.decision_rows import decision_of, promotion_state_of
from clearwell.stores.postgres.insight_rows import insights_of
from clearwell.stores.postgres.quarantine import find_rows
from clearwell.stores.postgres.queries import query
from clearwell.vocabulary import ENDED, IdKind

MAX_ROWS = 1000
BUCKETS = 10


class PostgresReview(ReviewStore, ProvenanceStore, StatisticsStore):
    def __init__(self, database: Database) -> None:
        self._database = database

    async def group_of(self, kind: str, one: UUID) -> str | None:
        rows = await self._database.run(Role.OPERATOR, None, query(f"group_of_{kind}"), {"id": one})
        return str(rows[0]["group_id"]) if rows else None

    async def find_ids(self, group_id: str, kind: IdKind, ending: str, *, limit: int) -> Sequence[UUID]:
        rows = await self._run(group_id, f"{kind}_ids_with_ending", ending=ending, length=len(ending), limit=limit)
        return [row["id"] for row in rows]

    async def insights(
        self,
        group_id: str,
        *,
        now: datetime,
        state: InsightState | None = None,
        before: UUID | None = None,
        limit: int = 50,
    ) -> Sequence[Insight]:
        return await self._insights(group_id, {"ids": None, "before": before, "state": state, "now": now}, limit)

    async def insight(self, group_id: str, insight_id: UUID) -> Insight | None:
        found = await self._by_id(group_id, [insight_id])
        return found[0] if found else None

    async def _by_id(self, group_id: str, ids: Sequence[UUID]) -> list[Insight]:
        place = {"ids": list(ids), "before": None, "state": None, "now": None}
        return await self._insights(group_id, place, len(ids)) if ids else []

    async def _insights(self, group_id: str, place: Mapping[str, Any], limit: int) -> list[Insight]:
        rows = await self._run(group_id, "insights", **place, limit=limit)
        sources = await self._run(group_id, "insight_sources", ids=[row["id"] for row in rows], chars=None)
        read = insights_of(rows, sources)
        return [
            replace(
                one,
                state=InsightState.PROMOTING if row["waiting"] else one.state,
                promoted_text=row["promoted_text"],
            )
            for one, row in zip(read, rows, strict=True)
        ]

    async def decisions(
        self, group_id: str, *, insight_id: UUID | None = None, before: UUID | None = None, limit: int = 50
    ) -> Sequence[Decision]:
        if insight_id is not None:
            rows = await self._run(group_id, "decisions_on_insight", insight_id=insight_id)
        else:
            rows = await self._run(group_id, "decisions", before=before, limit=limit)
        return [decision_of(row) for row in rows]

    # memories and their provenance

    async def list_memories(
        self, group_id: str, *, where: MemoryFilter, before: UUID | None = None, limit: int = 50
    ) -> Sequence[ListedMemory]:
        params = {
            "group_id": group_id,
            **asdict(where),
            "ids": None if where.ids is None else list(where.ids),
            "before": before,
            "limit": limit,
        }
        listed: list[SqlStatement] = [(query("list_memories"), params)]
        (rows,) = await self._database.run_all(Role.REVIEWER, group_id, listed, entry="enter_to_list")
        return [
            ListedMemory(
                promotion=promotion_state_of(row),
                days_used=row["days_used"],
                superseded_by=row["superseded_by"],
                last_used_at=row["last_used_at"],
                conflicts_with=tuple(row["others"]),
            )
            for row in rows
        ]

    async def origin(self, group_id: str, memory_id: UUID) -> Provenance | None:
        promotions = await self.promotions(group_id, [memory_id])
        if not promotions:
            return None
        decisions = await self._decisions_of(group_id, [memory_id])
        promoting = [one for one in decisions if one.memory_id == memory_id and one.insight_id]
        of_insights = {one.insight_id for one in promoting if one.insight_id}
        insights = _select_sides(await self._with_merged(group_id, list(of_insights)), promoting)
        raw = [source.log_id for insight in insights for source in insight.sources]
        direct = [
            one.promotion.text.origin_id
            for one in promotions
            if one.promotion.text.origin in (Origin.WORKING, Origin.QUARANTINE) and one.promotion.text.origin_id
        ]
        found_made = [one.origin_id for one in decisions if one.memory_id == memory_id and one.origin_id]
        rows = await self._rows(group_id, list(dict.fromkeys([*direct, *found_made, *raw])))
        conflicts = await self._run(group_id, "conflicts_of_memory", id=memory_id)
        return Provenance(
            promotions=tuple(promotions),
            decisions=tuple(decisions),
            insights=tuple(insights),
            rows=tuple(rows),
            conflicts_with=tuple(row["other_id"] for row in conflicts),
        )

    async def _with_merged(self, group_id: str, ids: Sequence[UUID]) -> list[Insight]:
        merged = await self._run(group_id, "merged_insights", ids=list(ids))
        return await self._by_id(group_id, [*ids, *(row["id"] for row in merged)])

    async def influence(self, group_id: str, log_id: UUID) -> Provenance | None:
        rows = await self._rows(group_id, [log_id])
        if not rows:
            return None
        insights = await self._run(group_id, "insights_of_rows", ids=[log_id])
        memories = await self._run(group_id, "memories_on_rows", ids=[log_id])
        ids = [row["memory_id"] for row in memories]
        seen = await self._run(group_id, "sightings_by_row", id=log_id)
        return Provenance(
            promotions=tuple(await self.promotions(group_id, ids)),
            decisions=tuple(await self._decisions_of(group_id, ids)),
            insights=tuple(await self._by_id(group_id, [row["insight_id"] for row in insights])),
            rows=tuple(rows),
            sightings_of=tuple((row["entry_id"], Layer(row["layer"])) for row in seen),
        )

    async def find_dependents(self, group_id: str, selector: SourceSelector) -> Sequence[DependentMemory]:
        named = {"session_id": selector.session_id, "agent_id": selector.agent_id}
        meant = {row["id"] for row in await self._run(group_id, "rows_of", source=selector.source, **named)}
        on_rows = await self._run(group_id, "memories_on_rows", ids=list(meant))
        by_name = {row["memory_id"] for row in await self._run(group_id, "memories_of", **named)}
        if selector.memory_id is not None:
            by_name.add(selector.memory_id)
        found = await self.promotions(group_id, sorted(by_name | {row["memory_id"] for row in on_rows}))
        under: defaultdict[UUID, set[UUID]] = defaultdict(set)
        for row in await self._run(group_id, "rows_under", ids=[one.promotion.memory_id for one in found]):
            under[row["memory_id"]].add(row["log_id"])
        return _list_dependents(found, under, meant, by_name)

    async def valid_texts(self, group_id: str, *, after: UUID | None, limit: int) -> list[tuple[UUID, str]]:
        rows = await self._run(group_id, "valid_texts", after=after, limit=limit)
        return [(row["memory_id"], row["content"]) for row in rows]

    async def promotions(self, group_id: str, memory_ids: Sequence[UUID]) -> list[PromotionState]:
        rows = await self._run(group_id, "promotion_states", memory_ids=list(memory_ids))
        return [promotion_state_of(row) for row in rows]

    async def _decisions_of(self, group_id: str, memory_ids: Sequence[UUID]) -> list[Decision]:
        rows = await self._run(group_id, "decisions_of_memories", ids=list(memory_ids))
        return [decision_of(row) for row in rows]

    async def _rows(self, group_id: str, ids: Sequence[UUID]) -> list[QuarantineRow]:
        return await find_rows(self._database, group_id, ids[:MAX_ROWS])

    # statistics

    async def calibration(self, group_id: str) -> Sequence[CalibrationRow]:
        return [_calibration_of(row) for row in await self._run(group_id, "calibration")]

    async def activity(self, group_id: str, *, first: date, last: date) -> Sequence[ActivityDay]:
        start = int(datetime.combine(first, time(), UTC).timestamp() * 1000)
        first_id = UUID(int=start << 80)
        rows = await self._run(group_id, "activity_days", first=first, last=last, first_id=first_id)
        return [ActivityDay(**row) for row in rows]

    async def counts(self, group_id: str, *, now: datetime) -> ReviewCounts:
        (row,) = await self._run(group_id, "review_counts", now=now)
        return ReviewCounts(**row)

    async def statistics(self, group_id: str) -> ReviewStatistics:
        names = ("insights", "lag", "accepted", "by_agent", "by_check", "memories", "digests")
        statements: list[SqlStatement] = [(query(f"statistics_{name}"), {"group_id": group_id}) for name in names]
        insights, lag, accepted, by_agent, by_check, memories, digests = await self._database.run_all(
            Role.REVIEWER, group_id, statements
        )
        return ReviewStatistics(
            insights={row["state"]: row["count"] for row in insights},
            lag_median=lag[0]["median"],
            lag_p90=lag[0]["p90"],
            lag_sum=lag[0]["total"],
            lag_count=lag[0]["count"],
            oldest_pending_at=next((row["oldest"] for row in insights if row["state"] == "pending"), None),
            accepted=AcceptRate(**accepted[0]),
            by_agent=[AcceptRate(**row) for row in by_agent],
            by_check=[AcceptRate(**row) for row in by_check],
            memories=memories[0]["memories"],
            memories_used=memories[0]["used"],
            promoting=memories[0]["promoting"],
            digests=digests[0]["digests"],
            digests_yield=digests[0]["yield"],
        )

    async def groups(self, *, limit: int) -> Sequence[str]:
        rows = await self._database.run(Role.OPERATOR, None, query("groups_under_review"), {"limit": limit})
        return [str(row["group_id"]) for row in rows]

    async def note_uses(self, group_id: str, uses: Mapping[UUID, datetime]) -> None:
        ids = sorted(uses)
        params = {"group_id": group_id, "ids": ids, "times": [uses[one] for one in ids]}
        await self._database.run(Role.WORKER, group_id, query("note_uses"), params)

    async def _run(self, group_id: str, name: str, **params: object) -> list[DictRow]:
        return await self._database.run(Role.REVIEWER, group_id, query(name), {"group_id": group_id, **params})


def _calibration_of(row: DictRow) -> CalibrationRow:
    bucket = row["bucket"]
    return CalibrationRow(
        agent_id=row["agent_id"],
        low=None if bucket is None else bucket / BUCKETS,
        high=None if bucket is None else (bucket + 1) / BUCKETS,
        entries=row["entries"],
        promoted=row["promoted"],
        rejected=row["rejected"],
        conflict=row["conflict"],
        mean_stated=row["mean_stated"],
    )


def _select_sides(insights: Sequence[Insight], promoting: Sequence[Decision]) -> list[Insight]:
    """The insights with the sources that count. Where only sides were promoted, the other side is no source."""
    if any(one.side_sources is None for one in promoting):
        return list(insights)
    counted = {log_id for one in promoting for log_id in one.side_sources or ()}
    return [replace(one, sources=tuple(each for each in one.sources if each.log_id in counted)) for one in insights]


def _list_dependents(
    found: Sequence[PromotionState], under: Mapping[UUID, set[UUID]], matching: set[UUID], by_name: set[UUID]
) -> list[DependentMemory]:
    """Return the valid memories that are based on a matching output, or match by their own fields."""
    listed = [
        DependentMemory(state=one, matching=len(rows & matching), others=len(rows - matching))
        for one in found
        if one.state not in ENDED
        for rows in [under.get(one.promotion.memory_id, set())]
    ]
    return [one for one in listed if one.matching or one.memory_id in by_name]
