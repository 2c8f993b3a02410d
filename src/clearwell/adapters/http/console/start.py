"""The start page, which leads to the group that was read last, and the list of groups to change to."""

from collections.abc import Sequence
from urllib.parse import unquote

from fastapi import APIRouter
from starlette.responses import Response

from clearwell.adapters.http.console.navigation import PAGES, page_url
from clearwell.adapters.http.console.request import ConsoleRequest, ConsoleRoute

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)

MAX_GROUPS = 50


@router.get("/")
async def start(request: ConsoleRequest) -> Response:
    groups = await list_groups(request)
    last = unquote(request.cookies_of_console.get("group") or "")
    if last in groups:
        return request.redirect(page_url(last, PAGES[0].name))
    if groups:
        return request.redirect(page_url(groups[0], PAGES[0].name))
    return request.page("welcome.html")


@router.get("/groups")
async def groups(request: ConsoleRequest, name: str = PAGES[0].name, current: str = "", q: str = "") -> Response:
    """A part of the menu, or a page of its own: the groups whose names contain ``q``."""
    found = [group for group in await list_groups(request) if q.strip().lower() in group.lower()]
    wanted = name if name in {page.name for page in PAGES} else PAGES[0].name
    return request.page(
        "groups.html" if request.is_fragment else "groups_page.html",
        groups=found[:MAX_GROUPS],
        more=len(found) - MAX_GROUPS,
        name=wanted,
        current=current,
    )


async def list_groups(request: ConsoleRequest) -> Sequence[str]:
    """The groups that the person may see: those of the key, or all that have settings, outputs or memories."""
    if request.caller.groups is not None:
        return sorted(request.caller.groups)
    return [group.group_id for group in await request.memory.groups()]
