"""An insight is put off: it is pending again when its time has come."""

from datetime import datetime, timedelta

from clearwell.errors import InvalidInput
from clearwell.flow import limits
from clearwell.flow.review.recording import Recording
from clearwell.flow.review.standing import changed, load_insight, require_open
from clearwell.flow.review.wanted import Step
from clearwell.ports import Clock, DecisionTransaction
from clearwell.records import Action, DecisionRequest, DecisionResult, InsightState, InsightStatus, Principal

USUAL_DAYS = 7.0
LONGEST = timedelta(days=3650)


class Snoozing:
    def __init__(self, recording: Recording, clock: Clock) -> None:
        self._recording = recording
        self._clock = clock

    async def prepared(self, group_id: str, wanted: DecisionRequest, by: Principal) -> Step:
        until, reason = self._until(wanted), limits.require_reason(wanted.reason)

        async def step(transaction: DecisionTransaction) -> DecisionResult:
            now = self._clock.now()
            found = await load_insight(transaction, group_id, wanted.id, version=wanted.version, now=now)
            await require_open(transaction, found)
            after = changed(found, now, InsightState.SNOOZED, snoozed_until=until)
            await transaction.update_insight(after)
            decision = await self._recording.on_insight(
                transaction, Action.SNOOZE, found, by, now, until=until, reason=reason
            )
            return DecisionResult(
                status="snoozed", id=found.id, decision_id=decision.id, insight=InsightStatus.of(after)
            )

        return step

    def _until(self, wanted: DecisionRequest) -> datetime:
        now = self._clock.now()
        if wanted.until is not None and wanted.days is not None:
            raise InvalidInput("snooze_twice", field="until", other="days")
        until = limits.require_moment(wanted.until, "until")
        if until is None:
            days = USUAL_DAYS if wanted.days is None else wanted.days
            if not 0 < days <= LONGEST.days:
                raise InvalidInput("snooze_days", field="days", limit=LONGEST.days)
            until = now + timedelta(days=days)
        if not now < until <= now + LONGEST:
            raise InvalidInput("snooze_until", field="until", limit=LONGEST.days)
        return until
