"""What the review inbox shows: which insights, which of them is open, and what comes next when all are decided."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from clearwell.adapters.http.console.request import ConsoleRequest
from clearwell.errors import NotAllowed, NotFound
from clearwell.flow.digest.schedule import find_next_tick
from clearwell.records import Action, Decision, InsightState
from clearwell.views.digests import DigestSummaryView
from clearwell.views.dossiers import DossierView
from clearwell.views.insights import InsightView

MOST_INSIGHTS = 200
RECENT_DECISIONS = 30
UNDOABLE = {Action.PROMOTE, Action.REJECT, Action.MERGE, Action.SNOOZE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What the address of the inbox says: which insights are listed, and which one is open."""

    state: InsightState = InsightState.PENDING
    q: str = ""
    flag: str = ""
    agent: str = ""
    at: UUID | None = None

    @classmethod
    def read(cls, query: str) -> "Place":
        """Read a query string. What is not valid in it is left out."""
        values = dict(parse_qsl(query))
        state = values.get("state", "")
        return cls(
            state=InsightState(state) if state in set(InsightState) else InsightState.PENDING,
            q=values.get("q", ""),
            flag=values.get("flag", ""),
            agent=values.get("agent", ""),
            at=read_id(values.get("at", "")),
        )

    @property
    def query(self) -> str:
        """The query string of this place."""
        values = {"q": self.q, "flag": self.flag, "agent": self.agent, "at": str(self.at or "")}
        if self.state is not InsightState.PENDING:
            values["state"] = self.state
        return urlencode({name: value for name, value in values.items() if value})

    def move(self, at: UUID | None) -> "Place":
        return replace(self, at=at)

    def lists(self, insight: InsightView) -> bool:
        """Whether an insight is listed here."""
        wanted = self.q.strip().lower()
        texts = [insight.summary, *(side.statement for side in insight.sides)]
        return (
            (not self.flag or self.flag in insight.flags)
            and (not self.agent or any(source.agent_id == self.agent for source in insight.sources))
            and (not wanted or any(wanted in text.lower() for text in texts))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """The insights of a place and the dossier of the open one."""

    place: Place
    insights: Sequence[InsightView]
    flags: Sequence[str]
    agents: Sequence[str]
    open: DossierView | None
    undoable: Decision | None
    digest: DigestSummaryView | None
    next_digest_at: datetime | None
    following: UUID | None = None
    """Where to go on from an open insight that the list no longer has."""

    @property
    def number(self) -> int | None:
        """The place of the open insight in the list, from 0."""
        ids = [insight.id for insight in self.insights]
        return ids.index(self.open.id) if self.open is not None and self.open.id in ids else None

    @property
    def previous_id(self) -> UUID | None:
        return None if not self.number else self.insights[self.number - 1].id

    @property
    def next_id(self) -> UUID | None:
        ids = [insight.id for insight in self.insights]
        if self.number is None:
            return self.following if self.following in ids else next(iter(ids), None)
        return ids[self.number + 1] if self.number + 1 < len(ids) else None

    @property
    def following_id(self) -> UUID | None:
        """The insight to show once the open one is decided."""
        return self.next_id or self.previous_id

    @property
    def others(self) -> Sequence[InsightView]:
        """The insights that the open one can be merged with."""
        return [insight for insight in self.insights if self.open is None or insight.id != self.open.id]


async def read_inbox(request: ConsoleRequest, group: str, place: Place, following: UUID | None = None) -> Inbox:
    """Read what a place shows. An insight that is named by its id is open even if the list leaves it out."""
    found = await request.review.insights(group=group, state=place.state, limit=MOST_INSIGHTS)
    views = [InsightView.from_record(insight, request.language) for insight in found]
    listed = [view for view in views if place.lists(view)]
    wanted = place.at or (listed[0].id if listed else None)
    digests = await request.memory.digests(group=group, limit=1)
    return Inbox(
        place=place.move(wanted),
        insights=listed,
        flags=sorted({flag for view in views for flag in view.flags}),
        agents=sorted({source.agent_id for view in views for source in view.sources if source.agent_id}),
        open=None if wanted is None else await read_dossier(request, group, wanted),
        undoable=await find_undoable(request, group),
        digest=DigestSummaryView.from_record(digests[0], request.language) if digests else None,
        next_digest_at=await find_next_digest(request, group),
        following=following,
    )


async def read_dossier(request: ConsoleRequest, group: str, insight_id: UUID) -> DossierView | None:
    try:
        dossier = await request.review.insight(insight_id, group=group)
    except NotFound:
        return None
    return DossierView.from_dossier(dossier, request.language, await request.key_names())


async def find_undoable(request: ConsoleRequest, group: str) -> Decision | None:
    """The last decision of this person on an insight that was not undone."""
    decisions = await request.review.decisions(group=group, limit=RECENT_DECISIONS)
    undone = {decision.undoes for decision in decisions}
    own = (one for one in decisions if one.by == request.caller.name and one.insight_id is not None)
    return next((one for one in own if one.action in UNDOABLE and one.id not in undone and not one.already), None)


async def find_next_digest(request: ConsoleRequest, group: str) -> datetime | None:
    """When the next digest is due; None if that is not known, also to a key without the right to read the group."""
    settings = request.clearwell.settings
    try:
        profile = await request.memory.group(group)
    except NotAllowed:
        return None
    cron = settings.digest_cron if profile.digest_cron is None else profile.digest_cron
    return find_next_tick(cron, profile.digest_zone or settings.digest_zone, datetime.now(UTC))


def read_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
