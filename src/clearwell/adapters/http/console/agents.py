"""Agents, groups and keys: prompts, the schedule of the digest, how reliable agents are, keys, and the settings.

A part that the rights of the person do not cover is left out, and the page says which right is missing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from clearwell.adapters.http.console.navigation import page_url
from clearwell.adapters.http.console.request import NOTICE, TOKEN_FIELD, ConsoleRequest, ConsoleRoute
from clearwell.errors import InvalidInput, NotAllowed
from clearwell.flow.access.permissions import require_operator, require_right
from clearwell.flow.digest.schedule import resolve_schedule
from clearwell.messages import catalogue, say
from clearwell.records import ApiKey, GroupChange, Right
from clearwell.views.groups import AgentView, GroupView
from clearwell.views.installation import KeysView, SettingsView
from clearwell.views.problems import status_of
from clearwell.views.statistics import CalibrationView, ReviewStatisticsView

SCHEDULE_FIELDS = ("digest_cron", "digest_zone")

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The prompts and the schedule of a group. The schedule in force is its own, or that of the settings."""

    group: GroupView
    agents: Sequence[AgentView]
    cron: str
    zone: str
    default_cron: str
    default_zone: str


@router.get("/g/{group:path}/agents")
async def agents(request: ConsoleRequest, group: str) -> Response:
    await request.review.counts(group=group)  # refuses whoever may not read the group, and records it
    return await _show(request, group, await _read_keys(request))


@router.get("/g/{group:path}/agents/reliability")
async def reliability(request: ConsoleRequest, group: str) -> Response:
    """How reliable agents are, which is read after the page: it counts every output of the group."""
    return request.page(
        "agents_reliability.html",
        group=group,
        statistics=ReviewStatisticsView.from_record(await request.review.statistics(group=group)),
        calibration=CalibrationView.from_records(await request.review.calibration(group=group)),
    )


@router.post("/g/{group:path}/agents/prompt")
async def change_prompt(request: ConsoleRequest, group: str) -> Response:
    """Set the system prompt, or remove it. A blank one removes it, too."""
    prompt = "" if "remove" in request.sent else request.sent.get("system_prompt", "").strip()
    await request.memory.change_group(GroupChange(system_prompt=prompt or None), group=group)
    return _redirect(request, group, "prompt_saved" if prompt else "prompt_removed")


@router.post("/g/{group:path}/agents/schedule")
async def change_schedule(request: ConsoleRequest, group: str) -> Response:
    """Set the schedule of the digest: one of its own, or that of the settings.

    What was typed counts, even if the choice above it was left at the settings. A schedule that the group already has
    was not typed: the form shows it.
    """
    sent = request.sent
    cron, zone = sent.get("digest_cron", "").strip(), sent.get("digest_zone", "").strip()
    before = await request.memory.group(group)
    is_typed = (cron, zone) != (before.digest_cron or "", before.digest_zone or "") and bool(cron or zone)
    if sent.get("schedule") != "own" and not is_typed:
        await request.memory.change_group(GroupChange(digest_cron=None, digest_zone=None), group=group)
        return _redirect(request, group, "schedule_of_settings")
    try:
        if zone and not cron:
            raise InvalidInput("console_schedule_zone_alone", field="digest_cron")
        await request.memory.change_group(GroupChange(digest_cron=cron, digest_zone=zone or None), group=group)
    except InvalidInput as error:
        return await _show_schedule_fault(request, group, error)
    return _redirect(request, group, "schedule_saved" if cron else "schedule_stopped")


async def _show_schedule_fault(request: ConsoleRequest, group: str, error: InvalidInput) -> Response:
    """What is wrong with the schedule, at its field. Raises the error if it is about no field of the form."""
    if error.field not in SCHEDULE_FIELDS:
        raise error
    own = f"console_{error.code}"
    text = say(own if own in catalogue() else error.code, request.language, **error.params)
    faults = {error.field: text}
    if request.is_fragment:
        return request.page("agents_schedule_faults.html", group=group, faults=faults, fields=SCHEDULE_FIELDS)
    return await _show(request, group, await _read_keys(request), faults=faults, status=status_of(error))


@router.post("/g/{group:path}/agents/persona")
async def put_agent(request: ConsoleRequest, group: str) -> Response:
    sent = request.sent
    await request.memory.put_agent(sent.get("agent", "").strip(), persona=sent.get("persona", "").strip(), group=group)
    return _redirect(request, group, "persona_saved")


@router.post("/g/{group:path}/agents/persona/remove")
async def remove_agent(request: ConsoleRequest, group: str) -> Response:
    await request.memory.remove_agent(request.sent.get("agent", ""), group=group)
    return _redirect(request, group, "persona_removed")


@router.post("/g/{group:path}/agents/keys")
async def create_key(request: ConsoleRequest, group: str) -> Response:
    """Create a key and show its secret, this once: it is in no address, and not shown again after a reload.

    The first key ends local mode. One with which nobody can administer the installation is created only if the person
    says so again.
    """
    sent = request.sent
    rights = frozenset(right for right in Right if f"scope_{right}" in sent)
    groups = _read_groups(sent.get("covers", ""), sent.get("groups", ""))
    may_operate = Right.ADMIN in rights and groups is None
    if request.is_local and rights and not may_operate and "confirmed" not in sent:
        return _ask_again(request, group)
    key, secret = await request.clearwell.keys.create(
        name=sent.get("name", "").strip() or "+".join(sorted(rights)),
        rights=rights,
        groups=groups,
        agent_id=sent.get("agent", "").strip() or None,
        by=request.caller,
    )
    request.local_mode_ended = request.is_local
    keys = await _read_keys(request, key, secret)
    if request.is_fragment:
        return request.page("agents_keys.html", group=group, **keys)
    return await _show(request, group, keys)


@router.post("/g/{group:path}/agents/keys/{key_id}/revoke")
async def revoke_key(request: ConsoleRequest, group: str, key_id: UUID) -> Response:
    await request.clearwell.keys.revoke(key_id, by=request.caller)
    return _redirect(request, group, "key_revoked")


def _redirect(request: ConsoleRequest, group: str, done: str) -> Response:
    """Lead back to the page, which says what was done."""
    return request.redirect(page_url(group, "agents"), notice=f"{NOTICE}{done}")


def _ask_again(request: ConsoleRequest, group: str) -> Response:
    """The form of a first key with which nobody can administer, once more: in a dialog, or on a page of its own."""
    fields = [(name, value) for name, value in request.sent_all if name != TOKEN_FIELD]
    template = "first_key_dialog.html" if request.is_fragment else "first_key.html"
    response = request.page(template, group=group, fields=fields)
    if request.is_fragment:
        response.headers.update({"HX-Retarget": "#dialog", "HX-Reswap": "innerHTML"})
    return response


async def _show(
    request: ConsoleRequest,
    group: str,
    keys: Mapping[str, Any],
    *,
    faults: Mapping[str, str] | None = None,
    status: int = 200,
) -> Response:
    """The page. ``faults``: what is wrong with the schedule that was sent, by field."""
    no_prompts = _find_refusal(request, Right.READ, Right.ADMIN)
    no_admin = _find_refusal(request, Right.ADMIN)
    return request.page(
        "agents.html",
        group=group,
        profile=None if no_prompts else await _read_profile(request, group),
        settings=() if keys["no_keys"] else SettingsView.from_settings(request.clearwell.settings).settings,
        no_prompts=no_prompts,
        no_admin=no_admin,
        faults=faults or {},
        typed=request.sent if faults else {},
        status=status,
        **keys,
    )


async def _read_profile(request: ConsoleRequest, group: str) -> Profile:
    found = GroupView.from_record(await request.memory.group(group))
    personas = await request.memory.agents(group=group)
    settings = request.clearwell.settings
    cron, zone = resolve_schedule(found.digest_cron, found.digest_zone, settings)
    return Profile(
        group=found,
        agents=[AgentView.from_record(agent) for agent in personas],
        cron=cron,
        zone=zone,
        default_cron=settings.digest_cron,
        default_zone=settings.digest_zone,
    )


async def _read_keys(request: ConsoleRequest, new: ApiKey | None = None, secret: str = "") -> dict[str, Any]:
    """What the part with the keys shows: valid ones first, or why there are none to see."""
    refusal = _refuse_keys(request)
    found = [] if refusal else await request.clearwell.keys.list()
    return {
        "no_keys": refusal,
        "keys": KeysView.from_records(found).keys,
        "new_key": new,
        "secret": secret,
        "rights": tuple(Right),
        "own_key": request.caller.name,
    }


def _read_groups(covers: str, named: str) -> frozenset[str] | None:
    """The groups that a form names, separated by commas or lines; None for all groups."""
    if covers == "all":
        return None
    groups = frozenset(group.strip() for line in named.splitlines() for group in line.split(",") if group.strip())
    if not groups:
        raise InvalidInput("console_key_without_group", field="groups")
    return groups


def _find_refusal(request: ConsoleRequest, *rights: Right) -> str | None:
    try:
        require_right(request.caller, *rights)
    except NotAllowed as refusal:
        return refusal.text(request.language)
    return None


def _refuse_keys(request: ConsoleRequest) -> str | None:
    try:
        require_operator(request.caller)
    except NotAllowed as refusal:
        return refusal.text(request.language)
    return None
