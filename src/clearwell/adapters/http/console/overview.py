"""The overview of a group: the three tiers with counts that follow its events, and what does not respond."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from fastapi import APIRouter
from fastapi.sse import EventSourceResponse
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from clearwell.adapters.http.api import events
from clearwell.adapters.http.console.request import ConsoleRequest, ConsoleRoute
from clearwell.adapters.http.demo import DemoRunner
from clearwell.app.wiring import Health
from clearwell.errors import Unavailable
from clearwell.records import ReviewCounts, WorkingEntry
from clearwell.views.captures import IngressCountsView
from clearwell.views.statistics import ActivityView

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)

SOON = timedelta(hours=2)
"""Entries that expire within this time are counted as expiring soon."""
DAYS = 30
"""How many days the charts show."""

router.get("/events", response_class=EventSourceResponse)(events.events)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartState:
    """A part of the installation. ``code`` is the message that says how it is; ``detail`` is what that names."""

    name: str
    state: Literal["up", "down", "unknown", "idle"]
    code: str
    detail: str = ""


class GroupCounts(BaseModel):
    """What the overview shows of a group. ``working`` and ``expiring`` are None where working memory cannot be read;
    ``working_problem`` is the message that says why."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    checked: int
    refused: int
    refusals: list[tuple[str, int]]
    working: int | None
    working_problem: str | None
    expiring: int | None
    review: ReviewCounts
    problems: list[str]
    parts: list[PartState]
    meetings: tuple[str, ...]
    """The meetings of the demo, if this group is theirs."""
    meets: bool
    """Whether the demo is running in this group."""

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
    return request.page("overview_charts.html", group=group, activity=activity, days=DAYS)


@router.get("/g/{group:path}/overview/waiting")
async def waiting(request: ConsoleRequest, group: str) -> Response:
    """A part of the menu, which is read after the page: how many insights wait for review."""
    counts = await request.review.counts(group=group)
    return request.page("waiting.html", group=group, waiting=counts.waiting)


async def count(request: ConsoleRequest, group: str) -> GroupCounts:
    """Read the counts of a group. What does not respond is named instead."""
    ingress = IngressCountsView.from_records(await request.memory.ingress_counts(group=group))
    health = await request.clearwell.health()
    entries, problem = await read_entries(request, group)
    soon = datetime.now(UTC) + SOON
    demo: DemoRunner = request.app.state.demo
    is_demo = demo.group == group
    return GroupCounts(
        checked=ingress.checked,
        refused=ingress.refused,
        refusals=list(ingress.refused_by.items()),
        working=None if entries is None else len(entries),
        working_problem=problem,
        expiring=None
        if entries is None
        else sum(entry.expires_at is not None and entry.expires_at <= soon for entry in entries),
        review=await request.review.counts(group=group),
        problems=[*sorted(health.problems), *(["worker"] if health.workers == 0 else ())],
        parts=describe_parts(request, health),
        meetings=tuple(demo.sessions) if is_demo else (),
        meets=is_demo and demo.is_running,
    )


async def read_entries(request: ConsoleRequest, group: str) -> tuple[list[WorkingEntry] | None, str | None]:
    """Working memory, or None and the message that says why it cannot be read."""
    if not request.may_read:
        return None, "console_working_denied"
    try:
        return await request.memory.working_memory(group=group), None
    except Unavailable:
        return None, "console_working_down"


def describe_parts(request: ConsoleRequest, health: Health) -> list[PartState]:
    """The state of every part of the installation. A chat API is not asked, because each request to it costs money."""
    settings = request.clearwell.settings
    model = settings.embedding_model if settings.embedder == "openai" else ""
    parts = [_describe_store(name, health) for name in ("database", "working_memory")]
    parts.append(describe_workers(health.workers))
    parts.append(_describe_store("embedder", health, model))
    if settings.judge_base_url is not None:
        is_spent = "judge" in health.problems
        code = "console_health_spent" if is_spent else "console_health_on_demand"
        parts.append(
            PartState(name="judge", state="down" if is_spent else "idle", code=code, detail=settings.judge_model)
        )
    if settings.digest_llm_base_url is not None:
        parts.append(
            PartState(name="writer", state="idle", code="console_health_on_demand", detail=settings.digest_llm_model)
        )
    return parts


def _describe_store(name: str, health: Health, detail: str = "") -> PartState:
    is_down = name in health.problems
    code = "console_health_down" if is_down else "console_health_up"
    return PartState(name=name, state="down" if is_down else "up", code=code, detail=detail)


def describe_workers(workers: int | None) -> PartState:
    """The state of the workers, of which ``workers`` are alive; None if that is not known."""
    if workers is None:
        return PartState(name="worker", state="unknown", code="console_health_worker_unknown")
    if workers == 0:
        return PartState(name="worker", state="down", code="console_health_worker_none")
    return PartState(name="worker", state="up", code="console_health_worker_up", detail=str(workers))
