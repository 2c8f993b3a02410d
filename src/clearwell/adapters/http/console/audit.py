"""The audit of a group: who did what and who was refused, and whether the trail is intact."""

from datetime import date
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from pydantic import ConfigDict
from starlette.responses import Response

from clearwell.adapters.http.console.audit_lines import LineWriter
from clearwell.adapters.http.console.fields import Filters, Optional, end_of, start_of
from clearwell.adapters.http.console.request import ConsoleRequest, ConsoleRoute
from clearwell.records import AuditFilter
from clearwell.views.audit import AuditPageView, AuditReportView, name_action
from clearwell.vocabulary import AuditAction

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)

PAGE = 50


class EventFilters(Filters):
    """Which events to show. ``installation``: those of no group, such as keys and unknown callers."""

    model_config = ConfigDict(frozen=True)

    actor: Optional[str] = None
    action: Optional[str] = None
    since: Optional[date] = None
    until: Optional[date] = None
    installation: bool = False

    def to_filter(self) -> AuditFilter:
        return AuditFilter(actor=self.actor, action=self.action, since=start_of(self.since), until=end_of(self.until))


@router.get("/g/{group:path}/audit")
async def audit(request: ConsoleRequest, group: str, filters: Annotated[EventFilters, Query()]) -> Response:
    events = await request.memory.audit_events(
        group=None if filters.installation else group,
        where=filters.to_filter(),
        before=filters.before,
        limit=PAGE + 1,
    )
    names = await request.key_names()
    page = AuditPageView.from_records(events, PAGE, names)
    writer = LineWriter(group=group, language=request.language, key_names=names)
    return request.page(
        "audit.html",
        group=group,
        lines=[writer.write(event) for event in page.events],
        actions=sorted((name_action(action, request.language), action.value) for action in AuditAction),
        next=None if page.next is None else urlencode({**filters.kept, "before": str(page.next)}),
        filters=filters,
        may_read_all=request.caller.groups is None and request.may_administer,
    )


@router.post("/g/{group:path}/audit/verify")
async def verify(request: ConsoleRequest, group: str) -> Response:
    """Verify every event and seal, and show what was found."""
    installation = "installation" in request.sent
    report = await request.memory.verify_audit(group=None if installation else group)
    return request.page(
        "audit_report.html" if request.is_fragment else "audit_verified.html",
        group=group,
        report=AuditReportView.from_record(report),
        installation=installation,
    )
