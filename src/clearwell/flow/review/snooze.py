"""Snooze an insight: it is pending again later."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from clearwell.errors import InvalidInput
from clearwell.flow import limits
from clearwell.flow.review.insights import build_next_version, load_insight, require_open
from clearwell.flow.review.recorder import DecisionRecorder
from clearwell.ports import Clock, DecisionTransaction, Ids
from clearwell.records import Action, Decision, DecisionRequest, DecisionResult, InsightState, InsightStatus, Principal

DEFAULT_SNOOZE_DAYS = 7.0
MAX_SNOOZE = timedelta(days=3650)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedSnooze:
    """A checked snooze, with the time at which the insight is pending again."""

    group_id: str
    request: DecisionRequest
    until: datetime
    reason: str | None


class InsightSnooze:
    """Snoozes an insight: it is pending again at a given time."""

    def __init__(self, recorder: DecisionRecorder, clock: Clock, ids: Ids) -> None:
        self._recorder = recorder
        self._clock = clock
        self._ids = ids

    def prepare(self, group_id: str, request: DecisionRequest) -> PreparedSnooze:
        """Check the request. Everything else is done in the transaction."""
        until, reason = self._find_end(request), limits.require_reason(request.reason)
        return PreparedSnooze(group_id=group_id, request=request, until=until, reason=reason)

    async def apply(self, transaction: DecisionTransaction, prepared: PreparedSnooze, by: Principal) -> DecisionResult:
        """Mark the insight as snoozed and record the decision."""
        request, now = prepared.request, self._clock.now()
        insight = await load_insight(transaction, prepared.group_id, request.id, version=request.version, now=now)
        await require_open(transaction, insight)
        snoozed = build_next_version(insight, now, InsightState.SNOOZED, snoozed_until=prepared.until)
        await transaction.update_insight(snoozed)
        decision = Decision(
            id=self._ids.new(),
            group_id=prepared.group_id,
            action=Action.SNOOZE,
            by=by.name,
            at=now,
            insight_id=insight.id,
            until=prepared.until,
            reason=prepared.reason,
        )
        await self._recorder.record(transaction, decision)
        return DecisionResult(
            status="snoozed", id=insight.id, decision_id=decision.id, insight=InsightStatus.of(snoozed)
        )

    def _find_end(self, request: DecisionRequest) -> datetime:
        now = self._clock.now()
        if request.until is not None and request.days is not None:
            raise InvalidInput("snooze_twice", field="until", other="days")
        until = limits.require_moment(request.until, "until")
        if until is None:
            days = DEFAULT_SNOOZE_DAYS if request.days is None else request.days
            if not 0 < days <= MAX_SNOOZE.days:
                raise InvalidInput("snooze_days", field="days", limit=MAX_SNOOZE.days)
            until = now + timedelta(days=days)
        if not now < until <= now + MAX_SNOOZE:
            raise InvalidInput("snooze_until", field="until", limit=MAX_SNOOZE.days)
        return until
