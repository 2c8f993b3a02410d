"""The chat panel: the outputs of a session as a conversation, and what became of each.

What is said of one message needs several questions to the stores (its statements, and the memories that rest on it), so
a bubble asks for it when it comes into view.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import Response

from clearwell.adapters.http.console.fields import Filters, Optional
from clearwell.adapters.http.console.inbox import read_id
from clearwell.adapters.http.console.navigation import page_url
from clearwell.adapters.http.console.quarantine import VerdictLine, write_verdict
from clearwell.adapters.http.console.request import NOTICE, ConsoleRequest, ConsoleRoute
from clearwell.errors import Unavailable
from clearwell.middleware.nodes import RUN
from clearwell.ports import MemoryFilter, QuarantineFilter
from clearwell.records import Capture, Json, NewMemory, Outcome, QuarantineRow, WorkingEntry
from clearwell.views.captures import QuarantineRowView
from clearwell.views.provenance import ProvenanceView
from clearwell.vocabulary import Label, MemoryState, SegmentKind

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)

NEWEST = 200
"""Sessions are found among this many of the newest outputs; an older one is opened by its name."""
PAGE, PAGE_CHARS = 60, 40_000
"""This many messages are shown at once, and this many characters: rendering long ones takes time."""
MAX_GIVEN = 200
"""This many memories that the messages of a page were given are looked up."""
STEP = "step"
"""Outputs whose metadata name the same step are shown side by side."""
TOPIC = ("topic", "question")
"""Fields of the metadata that may say what a session is about."""
STATEMENTS = (SegmentKind.CLAIM, SegmentKind.DECISION)


class ChatPlace(Filters):
    """Which session is shown; without one, the newest."""

    session: Optional[str] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLine:
    """A session in the list, as far as the newest outputs have it."""

    name: str
    messages: int
    last_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenMemory:
    """A memory that a node was given: its text and label of now, which come from its tier. ``page`` is where it is."""

    id: UUID
    page: str
    label: Label
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """An output as a bubble, with the verdict that refused it, or its entry in working memory. ``given``: what the node
    was given before it spoke."""

    row: QuarantineRowView
    refused_by: VerdictLine | None
    entry: WorkingEntry | None
    given: Sequence[GivenMemory] = ()


@router.get("/g/{group:path}/chat")
async def chat(request: ConsoleRequest, group: str, place: Annotated[ChatPlace, Query()]) -> Response:
    sessions = list_sessions(await request.memory.quarantine_rows(group=group, limit=NEWEST))
    session = place.session or next((line.name for line in sessions), None)
    found: Sequence[QuarantineRow] = ()
    if session is not None:
        where = QuarantineFilter(session_id=session)
        found = await request.memory.quarantine_rows(group=group, where=where, before=place.before, limit=PAGE + 1)
    shown = cut_page(found)
    entries = await _read_entries(request, group) if shown else {}
    is_down = entries is None
    given = await find_given(request, group, shown)
    spoken = sorted(shown, key=lambda row: (row.capture.occurred_at, row.capture.id))
    messages = [_make_message(row, entries or {}, given, request) for row in spoken]
    earlier = {"session": session, "before": str(shown[-1].capture.id)} if len(shown) < len(found) else None
    return request.page(
        "chat_session.html" if request.is_fragment else "chat.html",
        group=group,
        sessions=sessions,
        session=session,
        topic=find_topic(messages),
        steps=arrange(messages),
        is_down=is_down,
        earlier=earlier and urlencode(earlier),
        address=f"{page_url(group, 'chat')}?{request.url.query}",
    )


@router.get("/g/{group:path}/chat/{log_id}/influence")
async def influence(request: ConsoleRequest, group: str, log_id: UUID) -> Response:
    """A part of a bubble: the memories that rest on it."""
    found = await request.review.influence(log_id, group=group)
    view = ProvenanceView.from_record(log_id, found, request.language, await request.key_names())
    return request.page("chat_memories.html", group=group, memories=view.promotions)


@router.get("/g/{group:path}/chat/{log_id}/statements")
async def statements(request: ConsoleRequest, group: str, log_id: UUID) -> Response:
    """A part of a bubble: its claims and decisions, each of which can be promoted."""
    row = QuarantineRowView.from_record(await request.memory.quarantine_row(log_id, group=group), request.language)
    found = [statement for statement in row.statements or () if statement.kind in STATEMENTS]
    return request.page("chat_statements.html", group=group, row=row, statements=found)


@router.get("/g/{group:path}/chat/{log_id}/promote")
async def choose(request: ConsoleRequest, group: str, log_id: UUID, start: int = 0, end: int = 0) -> Response:
    """The form to promote one part of an output, which is highlighted in it."""
    row = QuarantineRowView.from_record(await request.memory.quarantine_row(log_id, group=group), request.language)
    is_part = 0 <= start < end <= len(row.content)
    part = (start, end) if is_part else (0, len(row.content))
    return request.page("chat_promote.html", group=group, row=row, start=part[0], end=part[1])


@router.post("/g/{group:path}/chat/{log_id}/promote")
async def promote(request: ConsoleRequest, group: str, log_id: UUID) -> Response:
    text = NewMemory(content=request.sent.get("text", "").strip(), acknowledge=request.acknowledged)
    await request.review.promote_row(log_id, text, group=group)
    session = urlencode({"session": request.sent.get("session", "")})
    address = f"{page_url(group, 'chat')}?{session}#message-{log_id}"
    return request.redirect(address, notice=f"{NOTICE}entry_promoted")


def list_sessions(newest: Iterable[QuarantineRow]) -> list[SessionLine]:
    """The sessions of these rows, which begin with the newest one."""
    found: dict[str, list[datetime]] = {}
    for row in newest:
        if row.capture.session_id is not None:
            found.setdefault(row.capture.session_id, []).append(row.capture.created_at)
    return [SessionLine(name=name, messages=len(times), last_at=times[0]) for name, times in found.items()]


def cut_page(newest: Sequence[QuarantineRow]) -> Sequence[QuarantineRow]:
    """As many of these rows as one page shows, at least one if there is any."""
    totals = accumulate(len(row.capture.content) for row in newest[:PAGE])
    return newest[: max(1, sum(1 for total in totals if total <= PAGE_CHARS))]


def find_topic(messages: Sequence[Message]) -> str | None:
    """What a meeting is about, if the metadata of a message say so."""
    named = (message.row.metadata.get(field) for message in messages for field in TOPIC)
    return next((topic.strip() for topic in named if isinstance(topic, str) and topic.strip()), None)


def arrange(messages: Sequence[Message]) -> list[list[list[Message]]]:
    """Steps of columns of messages: a column is one node, and the nodes of a step ran at the same time."""
    steps: list[list[list[Message]]] = []
    for message in messages:
        step = steps[-1] if steps else None
        if step is not None and _is_same_node(step[-1][-1], message) and len(step) == 1:
            step[0].append(message)
        elif step is not None and _is_beside(step, message):
            step.append([message])
        else:
            steps.append([[message]])
    return steps


def _is_same_node(last: Message, message: Message) -> bool:
    return (last.row.node_id, last.row.agent_id) == (message.row.node_id, message.row.agent_id)


def _is_beside(step: list[list[Message]], message: Message) -> bool:
    """Whether a node of another name began before any node of the step had ended, or says that it is of that step."""
    first = step[0][0].row
    nodes = {(column[0].row.node_id, column[0].row.agent_id) for column in step}
    if len(step[0]) > 1 or (message.row.node_id, message.row.agent_id) in nodes:
        return False
    number = message.row.metadata.get(STEP)
    if number is not None and number == first.metadata.get(STEP):
        return True
    began, before = read_start(message.row), read_start(first)
    return began is not None and before is not None and began < first.occurred_at and before < message.row.occurred_at


def read_run(row: QuarantineRowView | Capture) -> Mapping[str, Json]:
    """What the middleware captured of the execution."""
    run = row.metadata.get(RUN)
    return run if isinstance(run, Mapping) else {}


def read_start(row: QuarantineRowView) -> datetime | None:
    """When the node began. The metadata is that of the agent's program, so it may hold anything."""
    try:
        began = datetime.fromisoformat(str(read_run(row).get("started_at")))
    except ValueError:
        return None
    return began if began.tzinfo is not None else None


def read_given(row: QuarantineRowView | Capture) -> list[UUID]:
    """The ids of the memories that the node was given."""
    named = read_run(row).get("given")
    found = (read_id(str(one)) for one in (named if isinstance(named, list) else ()))
    return [one for one in found if one is not None]


async def find_given(request: ConsoleRequest, group: str, rows: Sequence[QuarantineRow]) -> dict[UUID, GivenMemory]:
    """The memories that the nodes of these outputs were given, by id. An id that is of no tier is left out."""
    ids = list(dict.fromkeys(one for row in rows for one in read_given(row.capture)))[:MAX_GIVEN]
    if not ids:
        return {}
    listed = await request.review.memories(group=group, where=MemoryFilter(ids=ids), limit=MAX_GIVEN)
    found = {
        memory.promotion.promotion.memory_id: GivenMemory(
            id=memory.promotion.promotion.memory_id,
            page="memories",
            label=Label.VERIFIED if memory.promotion.state is MemoryState.VERIFIED else Label.WITHDRAWN,
            content=memory.promotion.promotion.text.content,
        )
        for memory in listed
    }
    rest = [one for one in ids if one not in found]
    if rest:
        where = QuarantineFilter(ids=rest)
        for row in await request.memory.quarantine_rows(group=group, where=where, limit=MAX_GIVEN):
            found[row.capture.id] = GivenMemory(
                id=row.capture.id, page="quarantine", label=Label.EPHEMERAL, content=row.capture.content
            )
    return found


def _make_message(
    row: QuarantineRow, entries: dict[UUID, WorkingEntry], given: dict[UUID, GivenMemory], request: ConsoleRequest
) -> Message:
    view = QuarantineRowView.from_record(row, request.language)
    failed = [verdict for verdict in row.verdicts if verdict.outcome is Outcome.FAIL]
    group, language = row.capture.group_id, request.language
    refused_by = write_verdict(failed[0], group, language) if failed else None
    known = [given[one] for one in read_given(view) if one in given]
    return Message(row=view, refused_by=refused_by, entry=entries.get(view.id), given=known)


async def _read_entries(request: ConsoleRequest, group: str) -> dict[UUID, WorkingEntry] | None:
    """Working memory by output; nothing if the person may not read it, and None if it does not respond."""
    if not request.may_read:
        return {}
    try:
        return {entry.id: entry for entry in await request.memory.working_memory(group=group)}
    except Unavailable:
        return None
