"""The review inbox: insights one at a time with everything that is needed to decide, by keys, mouse or touch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from clearwell.adapters.http.console.inbox import (
    Inbox,
    InboxPosition,
    list_flags,
    list_warnings,
    read_dossier,
    read_id,
    read_inbox,
    repeats_earlier,
)
from clearwell.adapters.http.console.markdown import cut
from clearwell.adapters.http.console.navigation import page_url
from clearwell.adapters.http.console.request import UNACKNOWLEDGED, ConsoleRequest, ConsoleRoute
from clearwell.errors import ClearwellError, Conflict, InvalidInput
from clearwell.messages import say
from clearwell.ports import MemoryFilter
from clearwell.records import Action, DecisionRequest, DecisionResult
from clearwell.text.hidden_text import escape_hidden
from clearwell.views.captures import QuarantineRowView
from clearwell.views.problems import ProblemView
from clearwell.vocabulary import Flag

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)

SNOOZE_DAYS = (1, 7, 30)
MAX_QUOTED, FIRST_WORDS, WORDS_BEFORE = 120, 48, 16
"""This many characters name an insight in an explanation, and in the message on a decision, with this many before a
difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Toast:
    """What happened, and the decisions that can be undone from the message.

    ``decided`` is how many insights were decided, less than 0 if decisions were undone; ``settled`` are these insights.
    ``memory`` is the text that a promotion made, or that its undoing withdrew. ``removed`` entries of working memory
    said a superseded text; with ``has_left`` there may still be some, because working memory did not respond.
    """

    code: str
    params: dict[str, Any]
    decisions: Sequence[UUID] = ()
    decided: int = 0
    settled: Sequence[UUID] = ()
    at: UUID | None = None
    memory: str | None = None
    disputed: int = 0
    removed: int = 0
    has_left: bool = False
    problems: Sequence["UndecidedInsight"] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UndecidedInsight:
    """One of several insights that a decision was not carried out on: why, and where it is opened."""

    why: str
    position: InboxPosition


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsentDecision:
    """A decision that came too late: why, what was to be done, and what the person had written for it."""

    why: str
    action: Action
    text: str


@router.get("/g/{group:path}/review")
async def inbox(request: ConsoleRequest, group: str) -> Response:
    position = InboxPosition.read(request.url.query)
    if request.headers.get("hx-target") == "insights":
        return await _show(request, group, position, "review_list.html")
    return await _show(request, group, position, "review_inbox.html" if request.is_fragment else "review.html")


@router.get("/g/{group:path}/review/source/{log_id}")
async def source(request: ConsoleRequest, group: str, log_id: UUID, start: int = 0, end: int = 0) -> Response:
    """The whole output of a source, with the statement highlighted."""
    row = await request.memory.quarantine_row(log_id, group=group)
    view = QuarantineRowView.from_record(row, request.language)
    return request.page("review_source.html", group=group, row=view, start=start, end=end)


@router.get("/g/{group:path}/review/{insight_id}/changes")
async def changes(request: ConsoleRequest, group: str, insight_id: UUID, version: int) -> Response:
    """A note if the open insight is no longer the one that is shown, else nothing."""
    dossier = await request.review.insight(insight_id, group=group)
    names = await request.key_names()
    last = dossier.decisions[0] if dossier.decisions else None
    return request.page(
        "review_changes.html",
        group=group,
        insight=dossier.insight,
        version=version,
        last=last,
        by=None if last is None or last.by == request.caller.name else names.get(last.by, last.by),
        position=InboxPosition(at=insight_id),
    )


@router.post("/g/{group:path}/review/digest")
async def request_digest(request: ConsoleRequest, group: str) -> Response:
    await request.memory.request_digest(group=group)
    toast = Toast(code="console_digest_requested", params={})
    return await _answer(request, group, InboxPosition.read(request.sent.get("back", "")), toast)


@router.post("/g/{group:path}/review/undo")
async def undo(request: ConsoleRequest, group: str) -> Response:
    """Undo decisions, the last one first."""
    wanted = [found for name, value in request.sent_all if name == "decision" and (found := read_id(value))]
    undone = [await request.review.undo(decision_id, group=group) for decision_id in reversed(wanted)]
    at = read_id(request.sent.get("at", ""))
    one = undone[0] if len(undone) == 1 and at is not None else None
    withdrawn = None if one is None or one.withdrawn is None else await _read_memory(request, group, one.withdrawn)
    toast = Toast(
        code="console_undone" if one is None else f"console_undone_{one.undone}",
        params={"count": len(undone)},
        memory=withdrawn,
        decided=-len(undone),
        at=at,
    )
    return await _answer(request, group, InboxPosition.read(request.sent.get("back", "")).move(at), toast)


@router.post("/g/{group:path}/review/bulk")
async def bulk(request: ConsoleRequest, group: str) -> Response:
    """Show what a decision on many insights would do, or carry it out once it is confirmed.

    What is confirmed is what was shown: the form names the version of each insight.
    """
    action, chosen = _read_action(request), _read_chosen(request)
    position = InboxPosition.read(request.sent.get("back", ""))
    if "confirmed" not in request.sent:
        listed = {
            view.id: view for view in (await read_inbox(request, group, InboxPosition(state=position.state))).insights
        }
        views = [listed[one] for one in chosen if one in listed]
        wanted = [view for view in views if action is not Action.PROMOTE or not view.sides]
        return request.page(
            "review_bulk.html",
            group=group,
            action=action,
            wanted=wanted,
            left_out=len(views) - len(wanted),
            disputed=sum(Flag.CONFLICTS_VERIFIED in list_flags(view) for view in wanted)
            if action is Action.PROMOTE
            else 0,
            list_warnings=list_warnings,
            decided=len(chosen) - len(views),
            back=request.sent.get("back", ""),
        )
    requests = [_decision(request, action, insight_id, version) for insight_id, version in chosen.items()]
    results = await request.review.decide_many(requests, group=group)
    done = [result for result in results if isinstance(result, DecisionResult)]
    toast = Toast(
        code=f"console_bulk_{action}",
        params={"count": len(done)},
        decisions=[result.decision_id for result in done if result.decision_id is not None and not result.already],
        decided=len(done),
        settled=[result.insight.id for result in done if result.insight is not None],
        disputed=sum(len(result.conflicts_with) for result in done),
        problems=[
            UndecidedInsight(
                why=await _explain_one_of_many(request, group, insight_id, result), position=position.move(insight_id)
            )
            for insight_id, result in zip(chosen, results, strict=True)
            if isinstance(result, ClearwellError)
        ],
    )
    return await _answer(request, group, position.move(None), toast)


@router.post("/g/{group:path}/review/{insight_id}")
async def decide(request: ConsoleRequest, group: str, insight_id: UUID) -> Response:
    """Decide on one insight, and show the next one."""
    position = InboxPosition.read(request.sent.get("back", ""))
    version = request.sent.get("version", "")
    decision = _decision(request, _read_action(request), insight_id, int(version) if version.isdecimal() else None)
    following = read_id(request.sent.get("following", ""))
    try:
        result = await request.review.decide(decision, group=group)
    except Conflict as conflict:
        if conflict.code == UNACKNOWLEDGED:
            raise
        why = await _explain(request, conflict)
        unsent = UnsentDecision(why=why, action=decision.action, text=decision.text or decision.reason or "")
        return await _answer(request, group, position.move(insight_id), unsent=unsent, following=following)
    toast = Toast(
        code=f"console_done_{result.status}",
        params=await _name_decided(request, group, decision, result),
        decisions=[result.decision_id] if result.decision_id is not None and not result.already else [],
        decided=1,
        settled=[insight_id],
        at=insight_id,
        disputed=len(result.conflicts_with),
        removed=len(result.removed) if result.superseded else 0,
        has_left=bool(result.superseded and result.degraded),
    )
    return await _answer(
        request, group, position.move(insight_id if decision.action is Action.MERGE else following), toast
    )


async def _show(
    request: ConsoleRequest,
    group: str,
    position: InboxPosition,
    template: str,
    toast: Toast | None = None,
    *,
    unsent: UnsentDecision | None = None,
    following: UUID | None = None,
) -> Response:
    inbox = await read_inbox(request, group, position, following)
    if position.at is not None and inbox.open is None:
        inbox = await read_inbox(request, group, position.move(None))
    if toast is not None and "text" not in toast.params:
        toast = replace(toast, params={**toast.params, "text": _quote_open(inbox, toast.memory)})
    return request.page(
        template,
        group=group,
        inbox=inbox,
        position=inbox.position,
        toast=toast,
        unsent=unsent,
        snooze_days=SNOOZE_DAYS,
        max_bytes=request.clearwell.settings.max_content_bytes,
        list_warnings=list_warnings,
        repeats_earlier=repeats_earlier,
    )


async def _answer(
    request: ConsoleRequest,
    group: str,
    position: InboxPosition,
    toast: Toast | None = None,
    *,
    unsent: UnsentDecision | None = None,
    following: UUID | None = None,
) -> Response:
    """The inbox after a change: the part of the page for htmx, or else the page at its new address.

    A decision that came too late is shown in either case, because what was written for it is in no other place.
    """
    address = f"{page_url(group, 'review')}?{position.query}"
    if not request.is_fragment and unsent is None:
        return request.redirect(address)
    template = "review_inbox.html" if request.is_fragment else "review.html"
    response = await _show(request, group, position, template, toast, unsent=unsent, following=following)
    response.headers["HX-Replace-Url"] = address
    return response


async def _explain(request: ConsoleRequest, error: ClearwellError) -> str:
    """Why a decision was not carried out; if somebody has decided meanwhile, who, and what."""
    by = str(error.current.get("by", "")) if isinstance(error, Conflict) else ""
    if not by or not isinstance(error, Conflict):
        return ProblemView.from_error(error, request.language).detail
    name = (await request.key_names()).get(by, by)
    code = "console_decided_by_you" if by == request.caller.name else "console_decided_meanwhile"
    action = say(f"action_{error.current['action']}", request.language)
    return say(code, request.language, name=escape_hidden(name), action=action)


async def _explain_one_of_many(request: ConsoleRequest, group: str, insight_id: UUID, error: ClearwellError) -> str:
    """Why a decision was not carried out, after the text of its insight."""
    dossier = await read_dossier(request, group, insight_id)
    if isinstance(error, Conflict) and error.code == UNACKNOWLEDGED:
        why = say("console_bulk_unacknowledged", request.language, what=error.params["what"])
    else:
        why = await _explain(request, error)
    if dossier is None:
        return why
    return f"“{escape_hidden(cut(dossier.summary, MAX_QUOTED))}” {why}"


def _quote_difference(text: str, other: str) -> str:
    """The first words of a text or, where another wording begins with the same words, those that differ."""
    same = next((at for at, (one, two) in enumerate(zip(text, other, strict=False)) if one != two), len(other))
    if text == other or same < FIRST_WORDS - WORDS_BEFORE:
        return cut(text, FIRST_WORDS)
    start = text.rfind(" ", 0, same - WORDS_BEFORE) + 1 or same - WORDS_BEFORE
    return f"…{cut(text[start:], FIRST_WORDS)}"


def _quote_open(inbox: Inbox, memory: str | None) -> str:
    """The first words of the open insight, or of the memory that it was, which name what was done or undone."""
    if inbox.open is None:
        return cut(memory or "", FIRST_WORDS)
    text = inbox.open.sides[0].statement if inbox.open.sides else inbox.open.summary
    return _quote_difference(text if memory is None else memory, text)


async def _name_decided(
    request: ConsoleRequest, group: str, decision: DecisionRequest, result: DecisionResult
) -> dict[str, str]:
    """The first words of what was decided on: of the memory that it became, or else of the insight.

    A merged insight is open afterwards, so that its text is known then.
    """
    shown = request.sent.get("quoted", "")
    match decision.action:
        case Action.PROMOTE:
            return {"text": _quote_difference(await _read_memory(request, group, result.id) or shown, shown)}
        case Action.MERGE:
            return {}
        case _:
            return {"text": cut(shown, FIRST_WORDS)}


async def _read_memory(request: ConsoleRequest, group: str, memory_id: UUID) -> str | None:
    """The text of a memory; None if there is none."""
    found = await request.review.memories(group=group, where=MemoryFilter(ids=[memory_id]), limit=1)
    return found[0].promotion.promotion.text.content if found else None


def _read_chosen(request: ConsoleRequest) -> dict[UUID, int | None]:
    """The insights that were selected, in their order, each with the version that was shown, if one was."""
    sent = (value.partition(":") for name, value in request.sent_all if name == "id")
    chosen = {
        found: int(version) if version.isdecimal() else None for text, _, version in sent if (found := read_id(text))
    }
    if not chosen:
        raise InvalidInput("console_nothing_selected", field="id")
    return chosen


def _read_action(request: ConsoleRequest) -> Action:
    wanted = request.sent.get("action", "")
    allowed = (Action.PROMOTE, Action.REJECT, Action.MERGE, Action.SNOOZE)
    found = next((action for action in allowed if action == wanted), None)
    if found is None:
        raise InvalidInput("action_unknown", field="action", limit=", ".join(allowed))
    return found


def _decision(request: ConsoleRequest, action: Action, insight_id: UUID, version: int | None) -> DecisionRequest:
    """The decision that a form describes. Which of its fields are used depends on the action."""
    sent = request.sent
    side, days = sent.get("side", ""), sent.get("days", "")
    others = tuple(found for name, value in request.sent_all if name == "with" and (found := read_id(value)))
    if action is Action.MERGE and not others:
        raise InvalidInput("console_merge_missing", field="with")
    return DecisionRequest(
        action=action,
        id=insight_id,
        version=version,
        text=sent.get("text", "").strip() or None,
        side=int(side) if side.isdecimal() else None,
        despite=tuple(value for name, value in request.sent_all if name == "despite"),
        acknowledge=request.acknowledged if action is Action.PROMOTE else (),
        supersedes=read_id(sent.get("supersedes", "")),
        reason=sent.get("reason") if action is Action.REJECT else None,
        days=float(days) if action is Action.SNOOZE and days.isdecimal() else None,
        others=others,
    )
