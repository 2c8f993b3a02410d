"""What belongs to a group: its prompt and schedule, its agents, and the values that must not come back to it."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body, Path, Query
from pydantic import Field

from clearwell.adapters.http import openapi
from clearwell.adapters.http.fields import GroupedBody, GroupParameters, RequestBody, RowInput
from clearwell.adapters.http.request import ApiRequest, ApiRoute
from clearwell.records import GroupChange
from clearwell.views.groups import (
    AgentNameView,
    AgentsView,
    AgentView,
    GroupsView,
    GroupView,
    IdView,
    TombstonesView,
)

router = APIRouter(route_class=ApiRoute)

GROUPS, TOMBSTONES = "groups and agents", "tombstones"


class GroupInput(RequestBody):
    """What to change of a group. What is left out stays; null empties it."""

    system_prompt: str | None = Field(None, description="what every agent of the group is told, up to 32 KiB")
    digest_cron: str | None = Field(None, description="when its digest is due: five fields of cron; null: the setting")
    digest_zone: str | None = Field(None, description="the time zone of that, such as Asia/Shanghai; null: the setting")

    def to_change(self) -> GroupChange:
        return GroupChange(**{name: getattr(self, name) for name in self.model_fields_set})


class AgentInput(RequestBody):
    """Who an agent is to be."""

    persona: str = Field(description="what this agent is told about itself, up to 32 KiB")


class TombstoneInput(GroupedBody):
    """A value that must not come back."""

    value: str = Field(description="the text as it was said; it is not kept")
    reason: str = Field(description="the reason, shown when the text is refused again")


GROUP_EXAMPLES = openapi.examples(
    one={
        "system_prompt": "你们是支付平台的架构评审组。结论须有依据，意见不一致时写明分歧。",
        "digest_cron": "0 6 * * 1",
        "digest_zone": "Asia/Shanghai",
    }
)
AGENT_EXAMPLES = openapi.examples(one={"persona": "你是风险审计员，先找会出错的地方，再谈收益。"})
TOMBSTONE_EXAMPLES = openapi.examples(
    one={"group_id": "grp-123", "value": "服务器的管理口令是 admin123。", "reason": "不实，且涉及口令"}
)


@router.get(
    "/api/v1/groups",
    tags=[GROUPS],
    summary="List groups",
    description="The described groups that the key covers. The scope read, review or admin is needed.",
    response_description="The groups.",
    responses=openapi.problems(*openapi.READS),
)
async def groups(request: ApiRequest) -> GroupsView:
    return GroupsView.from_records(await request.memory.groups(by=request.caller))


@router.get(
    "/api/v1/groups/{group_id:path}/agents",
    tags=[GROUPS],
    summary="List a group's agents",
    description="With a key that is bound to an agent: that one only. The scope read or admin is needed.",
    response_description="The agents.",
    responses=openapi.problems(*openapi.READS),
)
async def agents(request: ApiRequest, group_id: str) -> AgentsView:
    return AgentsView.from_records(await request.memory.agents(group_id, by=request.caller))


@router.get(
    "/api/v1/groups/{group_id:path}/agents/{agent_id:path}",
    tags=[GROUPS],
    summary="Read an agent's persona",
    description="The scope read or admin is needed.",
    response_description="The agent.",
    responses=openapi.problems(*openapi.READS, 404),
)
async def agent(request: ApiRequest, group_id: str, agent_id: str) -> AgentView:
    return AgentView.from_record(await request.memory.agent(group_id, agent_id, by=request.caller))


@router.put(
    "/api/v1/groups/{group_id:path}/agents/{agent_id:path}",
    tags=[GROUPS],
    summary="Set the persona of an agent",
    description="The scope admin is needed.",
    response_description="The agent.",
    responses=openapi.problems(*openapi.WRITES),
)
async def put_agent(
    request: ApiRequest,
    group_id: str,
    agent_id: str,
    wanted: Annotated[AgentInput, Body(openapi_examples=AGENT_EXAMPLES)],
) -> AgentView:
    put = await request.memory.put_agent(
        group_id, agent_id, wanted.persona, by=request.caller, request=request.idempotency_key
    )
    return AgentView.from_record(put)


@router.delete(
    "/api/v1/groups/{group_id:path}/agents/{agent_id:path}",
    tags=[GROUPS],
    summary="Remove an agent's persona",
    description="What the agent said and learnt stays. The scope admin is needed.",
    response_description="It is gone.",
    responses=openapi.problems(*openapi.READS, 404, 409),
)
async def remove_agent(request: ApiRequest, group_id: str, agent_id: str) -> AgentNameView:
    await request.memory.remove_agent(group_id, agent_id, by=request.caller, request=request.idempotency_key)
    return AgentNameView(group_id=group_id, agent_id=agent_id)


@router.get(
    "/api/v1/groups/{group_id:path}",
    tags=[GROUPS],
    summary="Read a group's prompt and schedule",
    description="A group that nobody has described has an empty prompt. The scope read or admin is needed.",
    response_description="The group.",
    responses=openapi.problems(*openapi.READS),
)
async def group(request: ApiRequest, group_id: str) -> GroupView:
    return GroupView.from_record(await request.memory.group(group_id, by=request.caller))


@router.put(
    "/api/v1/groups/{group_id:path}",
    tags=[GROUPS],
    summary="Describe a group",
    description="A field that is left out stays as it is; null empties it. The scope admin is needed.",
    response_description="The group.",
    responses=openapi.problems(*openapi.WRITES),
)
async def change(
    request: ApiRequest, group_id: str, wanted: Annotated[GroupInput, Body(openapi_examples=GROUP_EXAMPLES)]
) -> GroupView:
    changed = await request.memory.change_group(
        group_id, wanted.to_change(), by=request.caller, request=request.idempotency_key
    )
    return GroupView.from_record(changed)


@router.get(
    "/api/v1/tombstones",
    tags=[TOMBSTONES],
    summary="List a group's tombstones",
    description="The newest first, lifted ones too. The values themselves are not kept. The scope review or admin is "
    "needed.",
    response_description="The tombstones.",
    responses=openapi.problems(*openapi.READS),
)
async def tombstones(request: ApiRequest, parameters: Annotated[GroupParameters, Query()]) -> TombstonesView:
    found = await request.memory.tombstones(request.group(parameters), by=request.caller)
    return TombstonesView.from_records(found, await request.key_names())


@router.post(
    "/api/v1/tombstones",
    tags=[TOMBSTONES],
    summary="Reject a value",
    description="It is refused at ingress from now on, however it is written; text like it is flagged. The scope "
    "review or admin is needed.",
    status_code=201,
    response_description="The tombstone was added.",
    responses=openapi.problems(*openapi.WRITES),
)
async def add_tombstone(
    request: ApiRequest, wanted: Annotated[TombstoneInput, Body(openapi_examples=TOMBSTONE_EXAMPLES)]
) -> IdView:
    tombstone_id = await request.memory.add_tombstone(
        request.group(wanted),
        wanted.value,
        reason=wanted.reason,
        by=request.caller,
        request=request.idempotency_key,
    )
    return IdView(id=tombstone_id)


@router.post(
    "/api/v1/tombstones/{id}/lift",
    tags=[TOMBSTONES],
    summary="Take a rejection back",
    description="What was forgotten stays forgotten. The scope review or admin is needed.",
    response_description="It is lifted.",
    responses=openapi.problems(*openapi.WRITES, 404),
)
async def lift_tombstone(
    request: ApiRequest,
    tombstone_id: Annotated[UUID, Path(alias="id")],
    named: Annotated[RowInput, Body(openapi_examples=openapi.examples(one={"group_id": "grp-123"}))],
) -> IdView:
    await request.memory.lift_tombstone(
        request.group(named), tombstone_id, by=request.caller, request=request.idempotency_key
    )
    return IdView(id=tombstone_id)
