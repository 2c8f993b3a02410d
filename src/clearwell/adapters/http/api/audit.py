"""The audit trail: list, verify, and read the head."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Body, Query
from pydantic import Field

from clearwell.adapters.http import openapi
from clearwell.adapters.http.fields import GroupedBody, GroupParameters, Moment, PageParameters, RequestBody
from clearwell.adapters.http.request import ApiRequest, ApiRoute
from clearwell.flow import limits
from clearwell.records import AuditFilter, AuditHead
from clearwell.views.audit import AuditHeadView, AuditPageView, AuditReportView

router = APIRouter(route_class=ApiRoute)

AUDIT = "audit"
WHICH = (
    "Without a group: the trail of the installation (keys, unknown callers), which requires the scope admin in every "
)
WHICH += "group. "
RIGHT = "Requires the scope review or admin; never with the key of an agent."


class AuditParameters(PageParameters):
    """Which events to list."""

    actor: str | None = Field(None, description="only those of this key, person or job")
    action: str | None = Field(None, description="only this action, such as promote or refused")
    since: Moment | None = Field(None, description="only those at or after this time")
    until: Moment | None = Field(None, description="only those before this time")

    def to_filter(self) -> AuditFilter:
        return AuditFilter(
            actor=limits.require_id(self.actor, "actor"),
            action=limits.require_id(self.action, "action"),
            since=limits.require_moment(self.since, "since"),
            until=limits.require_moment(self.until, "until"),
        )


class HeadInput(RequestBody):
    """A head that was exported before."""

    group_id: str
    number: int = Field(ge=0)
    root: str = Field(pattern="^([0-9a-f]{2})*$")
    sealed_at: Moment | None
    signature: str = Field(pattern="^([0-9a-f]{2})*$")
    public_key: str

    def to_record(self) -> AuditHead:
        return AuditHead(
            group_id=self.group_id,
            number=self.number,
            root=self.root,
            sealed_at=_aware(self.sealed_at),
            signature=self.signature,
            public_key=self.public_key,
        )


class VerifyInput(GroupedBody):
    """Which trail to verify."""

    head: HeadInput | None = Field(None, description="a head that was exported before")


VERIFY_EXAMPLES = openapi.examples(one={"group_id": "grp-123"})


def _aware(moment: datetime | None) -> datetime | None:
    return limits.require_moment(moment, "head.sealed_at")


@router.get(
    "/api/v1/audit",
    tags=[AUDIT],
    summary="List audit events",
    description=f"Who did what and who was refused, newest first. {WHICH}{RIGHT}",
    response_description="The events.",
    responses=openapi.problems(*openapi.READS),
)
async def audit_events(request: ApiRequest, parameters: Annotated[AuditParameters, Query()]) -> AuditPageView:
    found = await request.memory.audit_events(
        group=request.group_or_installation(parameters),
        where=parameters.to_filter(),
        before=parameters.before,
        limit=parameters.limit + 1,
    )
    return AuditPageView.from_records(found, parameters.limit, await request.key_names())


@router.post(
    "/api/v1/audit/verify",
    tags=[AUDIT],
    summary="Verify the audit trail",
    description="Finds events and seals that were changed, removed or inserted, and says where; also a trail that does "
    "not continue the head that this process keeps outside of the database. With a head that was exported before, also "
    f"one that does not continue that head. {WHICH}{RIGHT}",
    response_description="What was verified, and what is wrong.",
    responses=openapi.problems(*openapi.QUERIES),
)
async def verify_audit(
    request: ApiRequest, wanted: Annotated[VerifyInput, Body(openapi_examples=VERIFY_EXAMPLES)]
) -> AuditReportView:
    head = None if wanted.head is None else wanted.head.to_record()
    report = await request.memory.verify_audit(group=request.group_or_installation(wanted), head=head)
    return AuditReportView.from_record(report)


@router.get(
    "/api/v1/audit/head",
    tags=[AUDIT],
    summary="Read the head of the audit trail",
    description=f"The last seal, to be kept outside of the database. {WHICH}{RIGHT}",
    response_description="The head.",
    responses=openapi.problems(*openapi.READS),
)
async def audit_head(request: ApiRequest, parameters: Annotated[GroupParameters, Query()]) -> AuditHeadView:
    return AuditHeadView.from_record(await request.memory.audit_head(group=request.group_or_installation(parameters)))
