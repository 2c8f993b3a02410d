"""The state of an insight: read it, check that it may be decided on, and make its next version."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from clearwell.errors import Conflict, NotFound
from clearwell.messages import Word
from clearwell.ports import DecisionTransaction, ReviewStore
from clearwell.records import Action, Insight, InsightState, InsightStatus, Support, count_keys

OPEN = (InsightState.PENDING, InsightState.SNOOZED)


class InsightChanged(Exception):
    """The text of an insight changed between the preparation of a decision and its transaction."""


def wake(insight: Insight, now: datetime) -> Insight:
    """Return a snoozed insight as pending if its time has come."""
    if insight.state is InsightState.SNOOZED and insight.snoozed_until is not None and insight.snoozed_until <= now:
        return replace(insight, state=InsightState.PENDING, snoozed_until=None)
    return insight


async def read_insight(store: ReviewStore, group_id: str, insight_id: UUID, *, now: datetime) -> Insight:
    """Read an insight outside of a transaction, to prepare a decision on it or to show it."""
    insight = await store.insight(group_id, insight_id)
    if insight is None:
        raise NotFound("insight_not_found", id=insight_id, group=group_id)
    return wake(insight, now)


async def load_insight(
    transaction: DecisionTransaction, group_id: str, insight_id: UUID, *, version: int | None, now: datetime
) -> Insight:
    """Read an insight in the transaction that decides on it.

    Raises NotFound if it does not exist, and Conflict if it has changed since the caller read it.
    """
    found = (await transaction.find_insights([insight_id])).get(insight_id)
    if found is None:
        raise NotFound("insight_not_found", id=insight_id, group=group_id)
    insight = wake(found, now)
    if version is not None and version != insight.version:
        raise Conflict(
            "insight_stale",
            current=await describe_status(transaction, insight),
            id=insight_id,
            sent=version,
            version=insight.version,
            state=name_state(insight),
        )
    return insight


async def require_open(transaction: DecisionTransaction, insight: Insight) -> None:
    """Raise if an insight has been decided on; that decision must be undone first."""
    if insight.state in OPEN:
        return
    raise Conflict(
        "insight_merged" if insight.state is InsightState.MERGED else "insight_decided",
        current=await describe_status(transaction, insight),
        id=insight.id,
        state=name_state(insight),
        into=insight.merged_into,
    )


def name_state(insight: Insight) -> Word:
    return Word(f"state_{insight.state}")


async def describe_status(transaction: DecisionTransaction, insight: Insight) -> dict[str, object]:
    """The state and version of an insight, and who decided on it last, for a conflict."""
    status: dict[str, object] = dict(InsightStatus.of(insight).to_json())
    last = await transaction.find_last_decision(insight.id)
    if last is not None:
        status |= {"action": last.action.value, "by": last.by, "at": last.at.isoformat()}
    return status


def build_next_version(
    insight: Insight,
    now: datetime,
    state: InsightState,
    *,
    snoozed_until: datetime | None = None,
    merged_into: UUID | None = None,
) -> Insight:
    return replace(
        insight,
        state=state,
        version=insight.version + 1,
        changed_at=now,
        snoozed_until=snoozed_until,
        merged_into=merged_into,
    )


async def build_decided_version(transaction: DecisionTransaction, insight: Insight, now: datetime) -> Insight:
    """The next version of an insight, in the state that the last decision in force gave it."""
    last = await transaction.find_last_decision(insight.id)
    match None if last is None else last.action:
        case Action.PROMOTE:
            return build_next_version(insight, now, InsightState.PROMOTED)
        case Action.REJECT:
            return build_next_version(insight, now, InsightState.REJECTED)
        case Action.SNOOZE if last is not None and last.until is not None and last.until > now:
            return build_next_version(insight, now, InsightState.SNOOZED, snoozed_until=last.until)
        case Action.MERGE if last is not None and insight.id in last.others:
            return build_next_version(insight, now, InsightState.MERGED, merged_into=last.insight_id)
        case _:
            return build_next_version(insight, now, InsightState.PENDING)


def count_support(insight: Insight) -> Support:
    """How many agents, sessions and days its sources come from."""
    sources = insight.sources
    return Support(
        agents=len({one.agent_id for one in sources if one.agent_id is not None}),
        sessions=len({one.session_id for one in sources if one.session_id is not None}),
        days=len({one.occurred_at.date() for one in sources}),
        rows=len(sources),
        keys=count_keys(one.captured_by for one in sources),
    )
