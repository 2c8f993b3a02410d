"""What the review inbox shows: which insights, which of them is open, and what comes next when all are decided."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from clearwell.adapters.http.console.request import ConsoleRequest
from clearwell.errors import NotFound
from clearwell.messages import catalogue
from clearwell.records import Decision, InsightState, Outcome
from clearwell.views.captures import FlagView
from clearwell.views.digests import DigestSummaryView
from clearwell.views.dossiers import DossierView, NearbyMemoryView
from clearwell.views.insights import ContradictionView, InsightView, SourceView
from clearwell.vocabulary import FLAGS_OF_OUTPUTS, Flag, IngressCheck

MAX_INSIGHTS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxPosition:
    """What the address of the inbox says: which insights are listed, and which one is open."""

    state: InsightState = InsightState.PENDING
    q: str = ""
    flag: str = ""
    agent: str = ""
    at: UUID | None = None

    @classmethod
    def read(cls, query: str) -> "InboxPosition":
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
        """The query string of this position."""
        values = {"q": self.q, "flag": self.flag, "agent": self.agent, "at": str(self.at or "")}
        if self.state is not InsightState.PENDING:
            values["state"] = self.state
        return urlencode({name: value for name, value in values.items() if value})

    @property
    def is_filtered(self) -> bool:
        """Whether insights of this state are left out."""
        return bool(self.q or self.flag or self.agent)

    def move(self, at: UUID | None) -> "InboxPosition":
        return replace(self, at=at)

    def lists(self, insight: InsightView) -> bool:
        """Whether an insight is listed here."""
        wanted = self.q.strip().lower()
        texts = [insight.summary, *(side.statement for side in insight.sides)]
        return (
            (not self.flag or self.flag in list_flags(insight))
            and (not self.agent or any(source.agent_id == self.agent for source in insight.sources))
            and (not wanted or any(wanted in text.lower() for text in texts))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """The insights of a position and the dossier of the open one."""

    position: InboxPosition
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
    def nearby(self) -> Sequence[NearbyMemoryView]:
        """The memories to compare the open insight with, without the one that it became itself."""
        if self.open is None:
            return ()
        own = None if self.open.promotion is None else self.open.promotion.id
        return [memory for memory in self.open.nearby if memory.promotion_id != own]

    @property
    def contradictions(self) -> Sequence[ContradictionView]:
        """The contradictions of the open insight, each pair of statements once.

        Between two sides every reason is named once, whichever of their sources it was found in.
        """
        if self.open is None:
            return ()
        sides = {log_id: number for number, side in enumerate(self.open.sides) for log_id in side.sources}
        found: dict[tuple[object, ...], ContradictionView] = {}
        for one in self.open.contradictions:
            pair = frozenset((one.of, one.against))
            between = frozenset(sides[end] for end in pair if end in sides)
            found.setdefault((between, one.why_code) if len(between) == len(pair) else (pair,), one)
        return list(found.values())

    @property
    def flags_said(self) -> Sequence[FlagView]:
        """What the flags of the open insight mean. That its sources contradict each other is said over its sides."""
        if self.open is None:
            return ()
        return [flag for flag in self.open.flags_said if not (self.open.sides and flag.flag == Flag.CONTRADICTION)]

    @property
    def contradicted(self) -> Sequence[NearbyMemoryView]:
        """The memories that the open insight contradicts or replaces: each can be superseded by it."""
        return [memory for memory in self.nearby if memory.relation in ("supersedes", "contradicts")]

    @property
    def superseded_id(self) -> UUID | None:
        """The memory to supersede unless the person says otherwise: one that is older than the only statement."""
        if self.open is None or self.open.sides:
            return None
        return next((memory.id for memory in self.contradicted if memory.relation == "supersedes"), None)

    @property
    def others(self) -> Sequence[InsightView]:
        """The insights that the open one can be merged with."""
        return [insight for insight in self.insights if self.open is None or insight.id != self.open.id]


async def read_inbox(
    request: ConsoleRequest, group: str, position: InboxPosition, following: UUID | None = None
) -> Inbox:
    """Read what a position shows. An insight that is named by its id is open even if the list leaves it out."""
    found = await request.review.insights(group=group, state=position.state, limit=MAX_INSIGHTS)
    views = [InsightView.from_record(insight, request.language) for insight in found]
    listed = [view for view in views if position.lists(view)]
    wanted = position.at or (listed[0].id if listed else None)
    digests = await request.memory.digests(group=group, limit=1)
    return Inbox(
        position=position.move(wanted),
        insights=listed,
        flags=sorted({flag for view in views for flag in list_flags(view)}),
        agents=sorted({source.agent_id for view in views for source in view.sources if source.agent_id}),
        open=None if wanted is None else await read_dossier(request, group, wanted),
        undoable=await request.review.find_undoable(group=group),
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


async def find_next_digest(request: ConsoleRequest, group: str) -> datetime | None:
    """When the next digest is due; None if that is not known, also to a key without the right to read the group."""
    if not (request.may_read or request.may_administer):
        return None
    return (await request.memory.group(group)).next_digest_at


def list_flags(insight: InsightView) -> tuple[str, ...]:
    """The flags of an insight and of its sources that have a name."""
    carried = (flag for source in insight.sources for flag in source.flags if flag not in FLAGS_OF_OUTPUTS)
    return tuple(flag for flag in dict.fromkeys([*insight.flags, *carried]) if f"flag_{flag}_name" in catalogue())


def list_warnings(insight: InsightView) -> tuple[str, ...]:
    """The flags to see before an insight is selected. Its sides and its number of agents are listed next to them."""
    said = {Flag.SINGLE_AUTHOR, Flag.CONTRADICTION} if insight.sides else {Flag.SINGLE_AUTHOR}
    return tuple(flag for flag in list_flags(insight) if flag not in said)


def repeats_earlier(source: SourceView) -> bool:
    """Whether an output was not admitted only because it says what was known already."""
    failed = [verdict for verdict in source.verdicts or () if verdict.outcome is Outcome.FAIL]
    return bool(failed) and all(verdict.check == IngressCheck.NON_DUPLICATE for verdict in failed)


def read_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
