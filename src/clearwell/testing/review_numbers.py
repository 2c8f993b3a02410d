"""How review goes, counted over the twins."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from clearwell.records import (
    AcceptRate,
    Action,
    CalibrationRow,
    Decision,
    Insight,
    InsightState,
    Metadata,
    Origin,
    Promotion,
    stated_confidence,
)
from clearwell.testing.ledger import MemoryLedger
from clearwell.testing.quarantine import Row

DECIDED = (InsightState.PROMOTED, InsightState.REJECTED)
BUCKETS = 10


@dataclass(frozen=True, slots=True)
class Judged:
    """An insight that was decided on, or an output that was promoted straight, and the rows behind it."""

    promoted: bool
    log_ids: frozenset[UUID]


def judged(group_id: str, ledger: MemoryLedger, promotions: Sequence[Promotion]) -> list[Judged]:
    decided = [one for one in ledger.list_insights(group_id) if one.state in DECIDED]
    shown = [
        Judged(one.state is InsightState.PROMOTED, frozenset(source.log_id for source in one.sources))
        for one in decided
    ]
    standing = {one.promotion_id for one in ledger.list_in_force(group_id) if one.insight_id is None}
    outputs = straight(one for one in promotions if one.id in standing)
    return [*shown, *(Judged(True, frozenset([log_id])) for log_id in outputs)]


def straight(promotions: Iterable[Promotion]) -> set[UUID]:
    """The outputs that these were made from, without an insight between."""
    return {
        one.text.origin_id
        for one in promotions
        if one.text.origin in (Origin.WORKING, Origin.QUARANTINE) and one.text.origin_id is not None
    }


def accepted(found: Sequence[Judged]) -> AcceptRate:
    promoted = sum(one.promoted for one in found)
    return AcceptRate(by=None, promoted=promoted, rejected=len(found) - promoted)


def by_agent(found: Iterable[Judged], rows: Mapping[UUID, Row]) -> list[AcceptRate]:
    return _rates(found, lambda log_id: [rows[log_id].capture.agent_id])


def by_check(found: Iterable[Judged], rows: Mapping[UUID, Row]) -> list[AcceptRate]:
    return _rates(found, lambda log_id: [f"{one.check}:{one.outcome}" for one in rows[log_id].verdicts])


def _rates(found: Iterable[Judged], names_of: Callable[[UUID], list[str | None]]) -> list[AcceptRate]:
    counts: dict[str | None, list[int]] = {}
    for one in found:
        for name in {name for log_id in one.log_ids for name in names_of(log_id)}:
            counts.setdefault(name, [0, 0])[0 if one.promoted else 1] += 1
    ordered = sorted(counts.items(), key=lambda pair: (pair[0] is None, pair[0] or ""))
    return [AcceptRate(by=name, promoted=promoted, rejected=rejected) for name, (promoted, rejected) in ordered]


def lags(insights: Sequence[Insight], decisions: Sequence[Decision]) -> list[float]:
    """Seconds from an insight's making to its first decision, for each that has one."""
    deciding = [one for one in decisions if one.action in (Action.PROMOTE, Action.REJECT, Action.MERGE)]
    found = []
    for insight in insights:
        times = [one.at for one in deciding if one.insight_id == insight.id or insight.id in one.others]
        if times:
            found.append((min(times) - insight.created_at).total_seconds())
    return found


def percentile(values: Sequence[float], share: float) -> float | None:
    return float(np.quantile(values, share)) if values else None


def calibration(
    rows: Iterable[Row], insights: Sequence[Insight], promotions: Sequence[Promotion]
) -> list[CalibrationRow]:
    promoted = straight(promotions) | _rows_of(insights, InsightState.PROMOTED)
    rejected = _rows_of(insights, InsightState.REJECTED) - promoted
    groups: dict[tuple[str | None, int | None], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.capture.agent_id, _bucket(row.capture.metadata)), []).append(row)
    ordered = sorted(groups.items(), key=lambda pair: _nulls_last(*pair[0]))
    return [
        CalibrationRow(
            agent_id=agent_id,
            low=None if bucket is None else bucket / BUCKETS,
            high=None if bucket is None else (bucket + 1) / BUCKETS,
            entries=len(stated),
            promoted=sum(row.capture.id in promoted for row in stated),
            rejected=sum(row.capture.id in rejected for row in stated),
            conflict=sum("conflict" in row.flags for row in stated),
            mean_stated=_mean([stated_confidence(row.capture.metadata) for row in stated]),
        )
        for (agent_id, bucket), stated in ordered
    ]


def _rows_of(insights: Sequence[Insight], state: InsightState) -> set[UUID]:
    return {source.log_id for one in insights if one.state is state for source in one.sources}


def _bucket(metadata: Metadata) -> int | None:
    stated = stated_confidence(metadata)
    return None if stated is None else min(int(stated * BUCKETS), BUCKETS - 1)


def _nulls_last(agent_id: str | None, bucket: int | None) -> tuple[bool, str, bool, int]:
    return agent_id is None, agent_id or "", bucket is None, bucket or 0


def _mean(values: Sequence[float | None]) -> float | None:
    stated = [one for one in values if one is not None]
    return sum(stated) / len(stated) if stated else None
