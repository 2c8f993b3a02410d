"""The overview of a group: the three tiers with counts that follow its events, and what does not respond."""

from collections import Counter
from datetime import UTC, datetime, timedelta

from fastapi import APIRouter
from fastapi.sse import EventSourceResponse
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from clearwell.adapters.http.api import events
from clearwell.adapters.http.console.request import ConsoleRequest, ConsoleRoute
from clearwell.errors import NotAllowed, Unavailable
from clearwell.records import Outcome, ReviewCounts, WorkingEntry
from clearwell.views.statistics import ActivityView

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)

SOON = timedelta(hours=2)
"""Entries that expire within this time are counted as expiring soon."""
DAYS = 30
"""How many days the charts show."""

router.get("/events", response_class=EventSourceResponse)(events.events)


class GroupCounts(BaseModel):
    """What the overview shows of a group. ``working`` is None while working memory does not respond."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    checked: int
    refused: int
    refusals: list[tuple[str, int]]
    working: int | None
    expiring: int
    review: ReviewCounts
    problems: list[str]

    @property
    def admitted(self) -> int:
        return self.checked - self.refused

    @property
    def is_empty(self) -> bool:
        return not (self.checked or self.working or self.review.memories)


@router.get("/g/{group:path}/overview")
async def overview(request: ConsoleRequest, group: str) -> Response:
    counts = await count(request, group)
    template = "overview_counts.html" if request.is_fragment else "overview.html"
    return request.page(template, group=group, counts=counts)


@router.get("/g/{group:path}/overview/activity")
async def activity(request: ConsoleRequest, group: str) -> Response:
    """The charts, which are read after the page."""
    activity = ActivityView.from_records(await request.review.activity(group=group, days=DAYS))
    refusals = sum((Counter(day.refused_by) for day in activity.days), Counter[str]())
    checks = [check for check, _ in refusals.most_common()]
    return request.page("overview_charts.html", group=group, activity=activity, checks=checks, days=DAYS)


async def count(request: ConsoleRequest, group: str) -> GroupCounts:
    """Read the counts of a group. What does not respond is named instead."""
    totals: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    for row in await request.memory.ingress_counts(group=group):
        totals[row.check] += row.count
        if row.outcome is Outcome.FAIL:
            refusals[row.check] += row.count
    health = await request.clearwell.health()
    try:
        entries: list[WorkingEntry] | None = await request.memory.working_memory(group=group)
    except (Unavailable, NotAllowed):  # a key of scope review alone does not read working memory
        entries = None
    soon = datetime.now(UTC) + SOON
    return GroupCounts(
        checked=max(totals.values(), default=0),
        refused=refusals.total(),
        refusals=refusals.most_common(),
        working=None if entries is None else len(entries),
        expiring=sum(entry.expires_at is not None and entry.expires_at <= soon for entry in entries or ()),
        review=await request.review.counts(group=group),
        problems=sorted(health.problems),
    )
