"""Where insights stand: what may be decided, and what to say where it may not."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from clearwell.errors import Conflict, NotFound
from clearwell.messages import Word
from clearwell.ports import DecisionTransaction, ReviewStore
from clearwell.records import Action, Insight, InsightState, InsightStatus, Support

OPEN = (InsightState.PENDING, InsightState.SNOOZED)


def awake(insight: Insight, now: datetime) -> Insight:
    """A snoozed insight whose time has come is pending."""
    if insight.state is InsightState.SNOOZED and insight.snoozed_until is not None and insight.snoozed_until <= now:
        return replace(insight, state=InsightState.PENDING, snoozed_until=None)
    return insight


async def read(reviewed: ReviewStore, group_id: str, insight_id: UUID, *, now: datetime) -> Insight:
    """The insight, before anybody sits at the desk."""
    found = await reviewed.insight(group_id, insight_id)
    if found is None:
        raise NotFound("insight_not_found", id=insight_id, group=group_id)
    return awake(found, now)


async def load_insight(
    transaction: DecisionTransaction, group_id: str, insight_id: UUID, *, version: int | None, now: datetime
) -> Insight:
    """The insight as it is now. Raises where it is gone, or another version than the caller has seen."""
    found = (await transaction.find_insights([insight_id])).get(insight_id)
    if found is None:
        raise NotFound("insight_not_found", id=insight_id, group=group_id)
    insight = awake(found, now)
    if version is not None and version != insight.version:
        raise Conflict(
            "insight_stale",
            current=await current(transaction, insight),
            id=insight_id,
            sent=version,
            version=insight.version,
            state=state_word(insight),
        )
    return insight


async def require_open(transaction: DecisionTransaction, insight: Insight) -> None:
    """An insight that is decided must be undone first."""
    if insight.state in OPEN:
        return
    code = "insight_merged" if insight.state is InsightState.MERGED else "insight_decided"
    raise Conflict(
        code,
        current=await current(transaction, insight),
        id=insight.id,
        state=state_word(insight),
        into=insight.merged_into,
    )


def state_word(insight: Insight) -> Word:
    return Word(f"state_{insight.state}")


async def current(transaction: DecisionTransaction, insight: Insight) -> dict[str, object]:
    """What has changed: the state, the version, and who did it when."""
    found: dict[str, object] = dict(InsightStatus.of(insight).to_json())
    last = await transaction.find_last_decision(insight.id)
    if last is not None:
        found |= {"action": last.action.value, "by": last.by, "at": last.at.isoformat()}
    return found


def changed(insight: Insight, now: datetime, state: InsightState, **more: object) -> Insight:
    """The next version of an insight."""
    fields = {"snoozed_until": None, "merged_into": None, **more}
    return replace(insight, state=state, version=insight.version + 1, changed_at=now, **fields)  # type: ignore[arg-type]


async def as_decided(transaction: DecisionTransaction, insight: Insight, now: datetime) -> Insight:
    """The next version of an insight, in the state that the last decision which stands gave it."""
    last = await transaction.find_last_decision(insight.id)
    match None if last is None else last.action:
        case Action.PROMOTE:
            return changed(insight, now, InsightState.PROMOTED)
        case Action.REJECT:
            return changed(insight, now, InsightState.REJECTED)
        case Action.SNOOZE if last is not None and last.until is not None and last.until > now:
            return changed(insight, now, InsightState.SNOOZED, snoozed_until=last.until)
        case Action.MERGE if last is not None and insight.id in last.others:
            return changed(insight, now, InsightState.MERGED, merged_into=last.insight_id)
        case _:
            return changed(insight, now, InsightState.PENDING)


def support_of(insight: Insight) -> Support:
    """How many voices stand behind its sources."""
    sources = insight.sources
    return Support(
        agents=len({one.agent_id for one in sources if one.agent_id is not None}),
        sessions=len({one.session_id for one in sources if one.session_id is not None}),
        days=len({one.occurred_at.date() for one in sources}),
        rows=len(sources),
    )
