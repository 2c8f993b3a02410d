"""Groups: system prompt and digest schedule, agents, and tombstones."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body, Path, Query
from pydantic import Field

from clearwell.adapters.http import openapi
from clearwell.adapters.http.fields import GroupedBody, GroupParameters, RequestBody, RowInput
from clearwell.adapters.http.request import ApiRequest, ApiRoute
from clearwell.records import GroupChange
from clearwell.views.decisions import DecisionResultView
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
    """What to change of a group. An omitted field stays as it is; null removes its value."""

    system_prompt: str | None = Field(None, description="the system prompt of every agent of the group, up to 32 KiB")
    digest_cron: str | None = Field(
        None, description="schedule of the digest, a cron expression with five fields; null for the setting"
    )
    digest_zone: str | None = Field(
        None, description="time zone of the schedule, such as Asia/Shanghai; null for the setting"
    )

    def to_change(self) -> GroupChange:
        return GroupChange(**{name: getattr(self, name) for name in self.model_fields_set})


class AgentInput(RequestBody):
    """The persona of an agent."""

    persona: str = Field(description="the prompt that says who the agent is, up to 32 KiB")


class TombstoneInput(GroupedBody):
    """A text that must not come back."""

    value: str = Field(description="the text; it is not stored")
    reason: str = Field(description="the reason, shown when the text is refused again")
    withdraw: bool = Field(False, description="also withdraw the verified memories that say it; needs the scope review")


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
    description="The groups that the key covers and that have a system prompt, a digest schedule, outputs or memories. "
    "Requires the scope read, review or admin.",
    response_description="The groups.",
    responses=openapi.problems(*openapi.READS),
)
async def groups(request: ApiRequest) -> GroupsView:
    return GroupsView.from_records(await request.memory.groups())


@router.get(
    "/api/v1/groups/{group_id:text}/agents",
    tags=[GROUPS],
    summary="List the agents of a group",
    description="With a key that is bound to an agent, only that agent. Requires the scope read or admin.",
    response_description="The agents.",
    responses=openapi.problems(*openapi.READS),
)
async def agents(request: ApiRequest, group_id: str) -> AgentsView:
    return AgentsView.from_records(await request.memory.agents(group=group_id))


@router.get(
    "/api/v1/groups/{group_id:text}/agents/{agent_id:text}",
    tags=[GROUPS],
    summary="Read the persona of an agent",
    description="Requires the scope read or admin.",
    response_description="The agent.",
    responses=openapi.problems(*openapi.READS, 404),
)
async def agent(request: ApiRequest, group_id: str, agent_id: str) -> AgentView:
    return AgentView.from_record(await request.memory.agent(agent_id, group=group_id))


@router.put(
    "/api/v1/groups/{group_id:text}/agents/{agent_id:text}",
    tags=[GROUPS],
    summary="Set the persona of an agent",
    description="Requires the scope admin.",
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
        agent_id, persona=wanted.persona, group=group_id, idempotency_key=request.idempotency_key
    )
    return AgentView.from_record(put)


@router.delete(
    "/api/v1/groups/{group_id:text}/agents/{agent_id:text}",
    tags=[GROUPS],
    summary="Remove the persona of an agent",
    description="The outputs and memories of the agent stay. Requires the scope admin.",
    response_description="It was removed.",
    responses=openapi.problems(*openapi.READS, 404, 409),
)
async def remove_agent(request: ApiRequest, group_id: str, agent_id: str) -> AgentNameView:
    await request.memory.remove_agent(agent_id, group=group_id, idempotency_key=request.idempotency_key)
    return AgentNameView(group_id=group_id, agent_id=agent_id)


@router.get(
    "/api/v1/groups/{group_id:text}",
    tags=[GROUPS],
    summary="Read the system prompt and digest schedule of a group",
    description="A group without a profile has an empty prompt. Requires the scope read or admin.",
    response_description="The group.",
    responses=openapi.problems(*openapi.READS),
)
async def group(request: ApiRequest, group_id: str) -> GroupView:
    return GroupView.from_record(await request.memory.group(group_id))


@router.put(
    "/api/v1/groups/{group_id:text}",
    tags=[GROUPS],
    summary="Change the system prompt or digest schedule of a group",
    description="An omitted field stays as it is; null removes its value. Requires the scope admin.",
    response_description="The group.",
    responses=openapi.problems(*openapi.WRITES),
)
async def change(
    request: ApiRequest, group_id: str, wanted: Annotated[GroupInput, Body(openapi_examples=GROUP_EXAMPLES)]
) -> GroupView:
    changed = await request.memory.change_group(
        wanted.to_change(), group=group_id, idempotency_key=request.idempotency_key
    )
    return GroupView.from_record(changed)


@router.get(
    "/api/v1/tombstones",
    tags=[TOMBSTONES],
    summary="List the tombstones of a group",
    description="Newest first, including lifted ones. Rejected texts are not stored. Requires the scope review or"
    " admin.",
    response_description="The tombstones.",
    responses=openapi.problems(*openapi.READS),
)
async def tombstones(request: ApiRequest, parameters: Annotated[GroupParameters, Query()]) -> TombstonesView:
    found = await request.memory.tombstones(group=request.group(parameters))
    return TombstonesView.from_records(found, await request.key_names())


@router.post(
    "/api/v1/tombstones",
    tags=[TOMBSTONES],
    summary="Reject a text",
    description="The ingress pipeline refuses it from now on, in any spelling; similar texts are flagged. "
    "Entries of working memory that say it are removed. still_said are the verified memories that say it; with "
    "withdraw they are withdrawn, which POST /api/v1/decisions/{id}/undo reverses. "
    "Requires the scope review or admin.",
    status_code=201,
    response_description="The tombstone was added.",
    responses=openapi.problems(*openapi.WRITES),
)
async def add_tombstone(
    request: ApiRequest, wanted: Annotated[TombstoneInput, Body(openapi_examples=TOMBSTONE_EXAMPLES)]
) -> DecisionResultView:
    result = await request.memory.add_tombstone(
        wanted.value,
        reason=wanted.reason,
        withdraw=wanted.withdraw,
        group=request.group(wanted),
        idempotency_key=request.idempotency_key,
    )
    return DecisionResultView.from_record(result)


@router.post(
    "/api/v1/tombstones/{id}/lift",
    tags=[TOMBSTONES],
    summary="Lift a tombstone",
    description="The tombstone of a forgotten text cannot be lifted. Requires the scope review or admin.",
    response_description="The tombstone was lifted.",
    responses=openapi.problems(*openapi.WRITES, 404),
)
async def lift_tombstone(
    request: ApiRequest,
    tombstone_id: Annotated[UUID, Path(alias="id")],
    named: Annotated[RowInput, Body(openapi_examples=openapi.examples(one={"group_id": "grp-123"}))],
) -> IdView:
    await request.memory.lift_tombstone(
        tombstone_id, group=request.group(named), idempotency_key=request.idempotency_key
    )
    return IdView(id=tombstone_id)
